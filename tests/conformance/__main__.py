"""Run every recorded exchange past the judges: `python -m tests.conformance ../shared/corpus [--requests] [file …]`.

With `--requests` the requests are judged, not the answers.
"""

import sys
import time
from pathlib import Path

from .corpus import load
from .report import Report
from .requests.judge import judge_request
from .requests.tally import Tally
from .verdict import judge


def main(arguments: list[str]) -> int:
    """Judge the corpus in the folder (or only the named files of it), print the table, say whether all is well."""
    asked = [argument for argument in arguments if argument != "--requests"]
    if not asked:
        print(__doc__)
        return 2
    folder, *names = asked
    paths = sorted(path for path in Path(folder).glob("*.jsonl") if not names or path.stem in names)
    if not paths:
        print(f"no recordings in {folder}")
        return 2
    begun = time.process_time()
    report = _requests(paths) if len(asked) < len(arguments) else _answers(paths)
    print(report.text())
    print(f"{time.process_time() - begun:.0f} s of CPU")
    return 0 if report.clean else 1


def _answers(paths: list[Path]) -> Report:
    report = Report()
    for path in paths:
        for exchange in load(path):
            report.add(judge(exchange))
    return report


def _requests(paths: list[Path]) -> Tally:
    tally = Tally()
    for path in paths:
        for result in filter(None, map(judge_request, load(path))):
            tally.add(result)
    return tally


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
