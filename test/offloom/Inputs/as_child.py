"""as_child.py PARENT CHILD: makes of a process's statistics those of a forked child, whose first kernel has a strange name and was launched
as often as can be counted."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    statistics = json.load(file)
statistics["forked_from"] = statistics["process"]
statistics["process"] += 1
kernel = next(kernel for kernel in statistics["kernels"] if kernel["launches_of_variants"])
kernel["name"] += "\nforged"
kernel["launches_ahead_of_time"] = kernel["launches_of_variants"] = 2**64 - 1
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(statistics, file)
