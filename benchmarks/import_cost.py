"""What `import dragoman` costs in a fresh process, beside what Python and msgspec cost alone.

Run: `python -m benchmarks.import_cost`
"""

import argparse
import json
import os
import subprocess
import sys

PROGRAM = """
import json, resource, sys, time
before = set(sys.modules)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
{statement}
cpu = time.process_time() - start
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
print(json.dumps({{"cpu": cpu, "kib": grown, "modules": len(set(sys.modules) - before)}}))
"""

STATEMENTS = {
    "msgspec": "import msgspec",
    "dragoman": "import dragoman",
    "one wire and the tables": "import dragoman.resolve\nfrom dragoman.wire import anthropic_messages, history",
}


def measured(statement: str) -> dict[str, float]:
    # As installed: with bytecode, which the first of the rounds writes.
    environ = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", PROGRAM.format(statement=statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=15)
    rounds = arguments.parse_args().rounds
    print(f"fresh process, best of {rounds}")
    print(f"{'import':<28}{'CPU ms':>10}{'added MiB':>12}{'modules':>10}")
    for name, statement in STATEMENTS.items():
        runs = [measured(statement) for _ in range(rounds)]
        cpu, memory = min(run["cpu"] for run in runs) * 1000, min(run["kib"] for run in runs) / 1024
        print(f"{name:<28}{cpu:>10.1f}{memory:>12.1f}{runs[0]['modules']:>10.0f}")


if __name__ == "__main__":
    main()
