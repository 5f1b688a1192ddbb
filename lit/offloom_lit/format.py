"""The test format: lit's RUN lines, and nothing may be left in the folder for temporary files.

A tool that fails or is killed half way must not leave its scratch files behind. So each test gets a temporary folder of its own,
and a test that passes but leaves something there has failed.
"""

import os
import re
import shutil

import lit.formats
import lit.Test


# libomptarget keeps a copy of each image for processors: under /tmp until LLVM 22, in this folder since 23.
OF_LIBOMPTARGET = re.compile(r"tmpfile-[0-9a-f]{6}\.tmp")


class CleanShTest(lit.formats.ShTest):
    """A test of RUN lines, with a check that its temporary folder is empty afterwards."""

    def execute(self, test, lit_config):
        folder = test.getExecPath() + ".tmpdir"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in ("TMPDIR", "TEMP", "TMP", "TEMPDIR"):
            test.config.environment[name] = folder
        result = super().execute(test, lit_config)
        left = sorted(name for name in os.listdir(folder) if not OF_LIBOMPTARGET.fullmatch(name))
        shutil.rmtree(folder)
        code = result[0] if isinstance(result, tuple) else result.code
        if left and code == lit.Test.PASS:
            return lit.Test.FAIL, f"left in TMPDIR: {', '.join(left)}\n"
        return result
