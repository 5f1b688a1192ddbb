"""Prints how many of the regions of memory of a dumped launch lie in its image's place."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    launch = json.load(file)
image = launch["device"]["host"]["image"]
extents = [region["extent"] for region in launch["regions"]]
overlapping = [
    extent
    for extent in extents
    if extent["start"] < image["start"] + image["length"] and image["start"] < extent["start"] + extent["length"]
]
print(f"{len(overlapping)} of {len(extents)} regions")
