"""A transport that answers every request with the recording it holds."""

from typing import Any

from ..corpus import Exchange

__all__ = ["Silent", "Tape"]


class Silent(Exception):
    """The SDK cannot read this exchange, so it has nothing to say about it."""


class Tape:
    """Plays one exchange at a time. `http` is the library (`httpx`, `httpx2`) the SDK is built on."""

    def __init__(self, http: Any) -> None:
        self._http = http
        self._exchange: Exchange | None = None
        self.transport = http.MockTransport(self._answer)
        self.client = http.Client(transport=self.transport)

    def insert(self, exchange: Exchange) -> None:
        """Play this exchange next."""
        self._exchange = exchange

    def _answer(self, _request: Any) -> Any:
        assert self._exchange is not None
        kind = "text/event-stream" if self._exchange.streamed else "application/json"
        return self._http.Response(self._exchange.status, headers={"content-type": kind}, content=self._exchange.body)
