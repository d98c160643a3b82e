"""Run every recorded exchange past the judges: `python -m tests.conformance ../shared/corpus [file …]`."""

import sys
import time
from pathlib import Path

from .corpus import load
from .report import Report
from .verdict import judge


def main(arguments: list[str]) -> int:
    """Judge the corpus in the folder (or only the named files of it), print the table, say whether all is well."""
    if not arguments:
        print(__doc__)
        return 2
    folder, *names = arguments
    paths = sorted(path for path in Path(folder).glob("*.jsonl") if not names or path.stem in names)
    if not paths:
        print(f"no recordings in {folder}")
        return 2
    report = Report()
    begun = time.process_time()
    for path in paths:
        for exchange in load(path):
            report.add(judge(exchange))
    print(report.text())
    print(f"{report.exchanges} exchanges in {time.process_time() - begun:.0f} s of CPU")
    return 0 if report.clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
