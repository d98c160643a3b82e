"""Nothing in this folder is a test by itself: `tests/test_conformance.py` runs it."""

collect_ignore_glob = ["*.py", "*/*.py"]
