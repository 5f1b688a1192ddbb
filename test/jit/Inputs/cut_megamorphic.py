"""Cuts short the files that say what launches change too often, of those that `offloom --json cache list` prints."""

import json
import os
import sys

notes = [stored["path"] for stored in json.load(sys.stdin) if stored["megamorphic"]]
assert notes
for path in notes:
    os.truncate(path, os.path.getsize(path) - 1)
