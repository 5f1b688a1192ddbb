"""Checks what `offloom --json explain` derives from timed launches."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    (kernel,) = [kernel for kernel in json.load(file)["kernels"] if "main" in kernel["name"]]
assert kernel["launches_ahead_of_time"] + kernel["launches_of_variants"] == 200, kernel
general = kernel["variants"][-1]["copies"][0]
assert general["verdict"] in ("kept", "retired"), general
copies = [copy for variant in kernel["variants"] for copy in variant["copies"]]
saved = sum((copy["ahead_of_time_ns"] - copy["variant_ns"]) * copy["launches"] for copy in copies
            if copy["ahead_of_time_ns"] is not None and copy["variant_ns"] is not None)
assert kernel["saved_ns"] == saved, (kernel["saved_ns"], saved)
assert kernel["compile_us"] == sum(sum(variant["phases"].values()) for variant in kernel["variants"]) > 0
