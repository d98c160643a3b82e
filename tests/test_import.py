"""Importing the package brings in little and does nothing."""

import subprocess
import sys

PROGRAM = """
import sys
seen = []
sys.addaudithook(lambda event, arguments: seen.append((event, arguments)) if event in WATCHED else None)
import msgspec
threads = __import__("threading").active_count()
import dragoman
outside = {name.partition(".")[0] for name in sys.modules} - {*sys.stdlib_module_names, "__main__", "sitecustomize"}
# An editable install is found through a finder of its own.
outside = {name for name in outside if not name.startswith("_") and "editable" not in name and "distutils" not in name}
print(sorted(outside))
print(sorted({name for name, _ in seen}))
print(__import__("threading").active_count() - threads)
"""


def test_importing_brings_only_msgspec_and_opens_nothing():
    watched = "WATCHED = {'socket.connect', 'socket.__new__', 'subprocess.Popen', 'os.system'}\n"
    done = subprocess.run([sys.executable, "-c", watched + PROGRAM], capture_output=True, text=True, check=True)
    modules, events, threads = done.stdout.splitlines()

    # msgspec takes typing_extensions along where it is installed.
    assert modules.replace(", 'typing_extensions'", "") == "['dragoman', 'msgspec']"
    assert events == "[]"
    assert threads == "0"


def test_no_wire_is_imported_before_it_is_spoken():
    program = "import sys, dragoman; print([name for name in sys.modules if name.startswith('dragoman.wire')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
