"""What lit's format does with a test that never ends. Argument: the folder of the package `offloom_lit`."""

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

ended = []
begin = time.monotonic()
with limited(1, lambda: ended.append(True)):
    # A shell, which waits for what it has started.
    code = subprocess.run(["sh", "-c", "sleep 1000; exit 0"], check=False).returncode
assert ended == [True] and code != 0 and time.monotonic() - begin < 500, (ended, code)
with limited(1000, lambda: ended.append(False)):
    code = subprocess.run(["true"], check=False).returncode
assert ended == [True] and code == 0, (ended, code)
