"""Prints a file of OFFLOOM_JIT_STATS as lines that do not depend on times, and checks what depends on them."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    stats = json.load(file)
assert stats["version"] == 1 and stats["process"] > 0
for kernel in stats["kernels"]:
    name = kernel["name"].rsplit("_", 1)[-1]
    print(f"{name}: {kernel['launches_ahead_of_time']} ahead of time, {kernel['launches_of_variants']} of variants,"
          f" {kernel['specializations']} specializations, {len(kernel['variants'])} made")
    for subject in kernel["subjects"]:
        state = "specialized" if subject["specialized"] else "megamorphic"
        print(f"{name}: {subject['what']} of {subject['argument']}: {subject['specializations']}, {state},"
              f" for {', '.join(subject['uses'])}")
    launches = 0
    for variant in kernel["variants"]:
        origin = variant["origin"]
        print(f"{name}: made {variant['descriptor'].split(';', 2)[-1]}:",
              origin if isinstance(origin, str) else f"failed: {origin['failed']}", end="")
        if origin == "compiled":
            assert sum(variant["phases"].values()) > 0
        else:
            assert variant["phases"] is None
        for copy in variant["copies"]:
            print(f"; copy {copy['image_copy']}: {copy['verdict']}, {copy['launches']} launches", end="")
            launches += copy["launches"]
            # What the cache says was slower is not linked.
            is_linked = not (origin == "cache" and copy["verdict"] == "retired" and copy["launches"] == 0)
            assert (copy["link_us"] > 0) == is_linked
            timed = copy["variant_ns"] is not None and copy["ahead_of_time_ns"] is not None
            if copy["verdict"] == "retired":
                assert timed
        print()
    assert launches == kernel["launches_of_variants"], (launches, kernel)
    fields = "at_us", "launches_ahead_of_time", "launches_of_variants"
    progress = [[time[field] for field in fields] for time in kernel["progress"]]
    # Whenever something was made or linked, unless that was often, and at the end.
    assert min(len(kernel["variants"]), 128) < len(progress) <= 257, kernel
    for before, after in zip(progress, progress[1:]):
        assert all(one <= other for one, other in zip(before, after)), progress
    assert progress[-1][1:] == [kernel[field] for field in fields[1:]], kernel
