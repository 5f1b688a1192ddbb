"""Finds out which devices there are: whether a target region really runs on the host's, and which GPU the machine has."""

import os
import subprocess

PROGRAM = """\
extern "C" int printf(const char *, ...);
int main() {
  int where = 1;
#pragma omp target map(tofrom : where)
  where = 2;
  printf("%d\\n", where);
  return where - 2;
}
"""


class NoGpu(Exception):
    """The machine has no NVIDIA GPU, or does not say which."""


def real_gpu():
    """The processor of the first NVIDIA GPU, as in `sm_90`."""
    command = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoGpu(f"`nvidia-smi` does not answer: {error}") from error
    version = done.stdout.partition("\n")[0].strip()
    if done.returncode != 0 or not version.replace(".", "", 1).isdecimal():
        raise NoGpu(f"`nvidia-smi` finds none: {done.stdout}{done.stderr}")
    return f"sm_{version.replace('.', '')}"


def probe(build, folder):
    """None when the region ran on the x86_64 device, else what went wrong."""
    source, program = os.path.join(folder, "probe.cpp"), os.path.join(folder, "probe")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    compiler = os.path.join(build["llvm_bin"], "clang++")
    compile_command = [compiler, *build["omp_compile"], source, "-o", program, *build["omp_link"]]
    return _problem(compile_command, {}) or _problem([program], {"OMP_TARGET_OFFLOAD": "mandatory"})


def _problem(command, environment):
    """None when the command succeeds."""
    try:
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
