"""Compares which options of host linkers take the next word as their value with what the linker wrapper makes of that word.

    values.py WRAPPER OBJECT OTHER_OBJECT LINKER...

The options are those that the help texts of the linkers list with a value. Each is tried with one dash and with two, as both linkers
know them, before an object with device code and another object. Linkers print which of the two are inputs to them; where the first is
none, the wrapper must not take out its device code, and where it is one, it must. Prints how many spellings could be compared; ends
with 1 if a linker and the wrapper differ.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

wrapper, code, other, *linkers = sys.argv[1:]

# Only the values of symbols come from this file; it is not linked.
SYMBOLS_ONLY = {"-R", "-just-symbols", "--just-symbols"}


def listed(linker):
    """The options that need a value: `--soname=<value>`, `-z <option>`, `-A ARCH, --architecture ARCH`."""
    text = subprocess.run([linker, "--help"], check=True, capture_output=True, text=True).stdout
    for name in re.findall(r"(?<![\w=\[-])--?([A-Za-z][\w-]*)(?:=| )(?:<|[A-Z]{2,}\b)", text):
        # With one dash GNU ld reads `-l` and the name of a library, which is missing here.
        single = ["-" + name] if not name.startswith("l") else []
        yield from single if len(name) == 1 else [*single, "--" + name]


def run(program, *arguments):
    """Runs a program on copies of the objects: some options name files to write."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for path in (code, other):
            shutil.copy(path, folder)
        return subprocess.run(
            [program, *arguments], check=False, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=300, cwd=folder,
        )


def what_linkers_make_of_it(option):
    """`True` if the next word is an input, `False` if it is a value, `None` if that cannot be told or linkers differ."""
    opinions = set()
    for linker in linkers:
        trace = run(linker, "-r", "--trace", "-o", os.devnull, option, code, other).stdout.splitlines()
        # A linker that knows no such option, or cannot do with this value, does not get as far as the other object.
        if other in trace:
            opinions.add(code in trace and option not in SYMBOLS_ONLY)
    return opinions.pop() if len(opinions) == 1 else None


def compare(option):
    expected = what_linkers_make_of_it(option)
    found = " extract " in run(wrapper, "--dry-run", "--linker-path=/none", "-o", "out", option, code).stderr
    return expected, found


options = sorted({option for linker in linkers for option in listed(linker)})
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = dict(zip(options, pool.map(compare, options)))
differences = {option: expected for option, (expected, found) in results.items() if expected not in (None, found)}
for option, expected in differences.items():
    print(f"{option}: the next word is {'an input' if expected else 'a value'} to linkers, but not to the wrapper")
print(sum(expected is not None for expected, _ in results.values()), "spellings compared")
sys.exit(bool(differences))
