"""What lit's format does with a test that never ends. Argument: the folder of the package `offloom_lit`."""

import os
import subprocess
import sys
import time
import types

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
# The part under test needs nothing of lit.
for name in ("lit", "lit.formats", "lit.Test"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["lit"].formats = sys.modules["lit.formats"]
sys.modules["lit"].Test = sys.modules["lit.Test"]
sys.modules["lit.formats"].ShTest = object
from offloom_lit.format import limited

MARK = {"MARK": sys.argv[1]}
ended = []
begin = time.monotonic()
with limited(1, f"MARK={MARK['MARK']}", lambda: ended.append(True)):
    # It ends at once, and leaves something behind that may still print.
    code = subprocess.run(["sh", "-c", "sleep 1000 & exit 3"], env=os.environ | MARK, stdout=subprocess.PIPE, check=False).returncode
assert ended and code in (3, -9) and time.monotonic() - begin < 500, (ended, code)
ended.clear()
with limited(1000, f"MARK={MARK['MARK']}", lambda: ended.append(True)):
    code = subprocess.run(["true"], env=os.environ | MARK, check=False).returncode
assert not ended and code == 0, (ended, code)
