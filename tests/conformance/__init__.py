"""The conformance run: every recorded exchange is read by us and by readers we did not write.

    python -m tests.conformance ../shared/corpus

`corpus` loads the exchanges and says which wire each belongs to; `ours` reads one with dragoman's
codecs; `oracles` reads the same bytes with the makers' own SDKs, `jsonfacts` with nothing but the
json module. All of them answer with `facts`, which are compared. What differs for a good reason
stands in `explained.toml`, with the reason.
"""
