"""Files by their bytes: what kind they are, by how they begin; and those that are written into a URL."""

from binascii import a2b_base64

from .errors import Misuse

__all__ = ["data_url", "media_type_of"]

_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
# RIFF holds several kinds; the name stands after the length.
_RIFF_KINDS = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def media_type_of(data: bytes) -> str | None:
    """The media type of a file we know by sight, or None."""
    for beginning, media_type in _BEGINNINGS:
        if data.startswith(beginning):
            return media_type
    if data[:4] == b"RIFF":
        return _RIFF_KINDS.get(data[8:12])
    if data[4:8] == b"ftyp":
        return "video/mp4"
    return None


def data_url(url: str, kind: str) -> tuple[str, bytes]:
    """The media type and the bytes in a `data:` URL; Misuse, naming what it was to be, where it holds none."""
    from urllib.parse import unquote_to_bytes  # slow to import, seldom needed

    header, comma, data = url.removeprefix("data:").partition(",")
    media_type, _, coding = header.partition(";")
    try:
        found = a2b_base64(data, strict_mode=True) if coding.endswith("base64") else unquote_to_bytes(data)
    except ValueError:
        found = b""
    if not comma or not found:
        raise Misuse(f"{kind} has a data: URL without readable data: write data:<type>;base64,<data>")
    return media_type, found
