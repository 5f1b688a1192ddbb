"""Finds a stable Rust compiler whose bitcode the LLVM under test reads."""

import os
import re
import shutil
import subprocess


def find(llvm):
    """The path of a `rustc` that is built on this LLVM release, or None. Not rustup's proxy, which needs more of the environment."""
    rustc = shutil.which(os.environ.get("RUSTC", "rustc"))
    if rustc is None:
        return None
    version = re.search(r"^LLVM version: (\d+)\.", _output(rustc, "-vV"), re.MULTILINE)
    if version is None or int(version.group(1)) != llvm:
        return None
    compiler = os.path.join(_output(rustc, "--print=sysroot").strip(), "bin", "rustc")
    return compiler if os.path.exists(compiler) else None


def _output(*command):
    """What the command prints, empty if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""
