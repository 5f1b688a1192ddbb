"""Checks that of processes that forked one from the other, each names the one before in its statistics: the first file, and a file with their numbers."""

import json
import sys

with open(sys.argv[2], encoding="utf-8") as file:
    processes = [int(line) for line in file]
parent = None
for process in processes:
    name = sys.argv[1] if parent is None else f"{sys.argv[1]}.{process}"
    with open(name, encoding="utf-8") as file:
        statistics = json.load(file)
    found = (statistics["process"], statistics["forked_from"])
    if found != (process, parent):
        sys.exit(f"{name}: {found} instead of {(process, parent)}")
    parent = process
