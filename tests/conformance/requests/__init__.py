"""Recorded requests, read by the server's side and written again, must mean what they meant.

    python -m tests.conformance ../shared/corpus --requests

`judge` reads and writes one request and compares; `gaps` says where two bodies differ; `rules` is
what a table of harmless differences is made of, and `anthropic`, `responses` and `chat` are those
tables; `noted` says which of our notes owns up to which difference. `tally` prints the result.
"""
