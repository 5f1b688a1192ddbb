#!/usr/bin/env python3
"""Builds every corpus program with the stock Clang of one or both LLVMs and checks what it prints.

For each program, LLVM and optimisation level: build for the x86_64 offload device, run with
OMP_TARGET_OFFLOAD=mandatory and =disabled; both must exit with 0 and print the same, and every
LLVM and level must print the same. With --gpu the device modules for nvptx64 and amdgcn are
compiled as well (they are not run).

A program is a file of sources/ or a folder of it (all its *.c and *.cpp). The first lines of each
file may hold directives:
    // FLAGS: -fopenmp-version=52      further compile flags
    // ONLY: 22 (reason)               LLVM versions the program is limited to
    // TARGETS: x86_64 (reason)        device targets the program is limited to
    // DIFFERS: reason                 device and disabled output may differ; the device one counts
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parent / "sources"
GPU_TARGETS = {"nvptx64": "nvptx64-nvidia-cuda", "amdgcn": "amdgcn-amd-amdhsa"}
# LLVM 22 without a CUDA installation needs to be told of a PTX version that knows the architecture.
GPU_FLAGS = {
    "nvptx64": ["-march=sm_70", "--cuda-feature=+ptx63"],
    "amdgcn": ["-march=gfx90a"],
}
SECONDS_PER_RUN = 120
MOST_CHARACTERS = 600


class Program:
    """One program: its name, its source files and what its directives say."""

    def __init__(self, path):
        self.name = path.stem if path.is_file() else path.name + "/"
        files = [path] if path.is_file() else sorted(path.iterdir())
        self.files = [f for f in files if f.suffix in (".c", ".cpp")]
        self.flags, self.only, self.targets, self.differs = [], set(), set(), False
        for file in self.files:
            self.read_directives(file)

    def read_directives(self, file):
        for line in file.read_text().splitlines()[:8]:
            key, _, value = line.removeprefix("// ").partition(":")
            words = value.split("(")[0].split()
            if key == "FLAGS":
                self.flags += [w for w in value.split() if w not in self.flags]
            elif key == "ONLY":
                self.only |= set(words)
            elif key == "TARGETS":
                self.targets |= set(words)
            elif key == "DIFFERS":
                self.differs = True


def llvm_root(version):
    return pathlib.Path(f"/usr/lib/llvm-{version}")


def common_flags(program, version, level):
    """Flags of every compile; LLVM 22's packages have no omp.h, so the one of 19 comes last."""
    flags = ["-fopenmp", f"-O{level}", "-Wall", "-Wno-openmp-mapping", "-Wno-pass-failed", *program.flags]
    if version == "22":
        flags += ["-idirafter", str(llvm_root("19") / "lib/clang/19/include")]
    return flags


def link_flags(version, scratch):
    """Libraries of this LLVM; libomp comes from 19 alone, through a folder that holds nothing else."""
    only_libomp = scratch / "libomp"
    only_libomp.mkdir(exist_ok=True)
    link = only_libomp / "libomp.so"
    if not link.exists():
        link.symlink_to(llvm_root("19") / "lib/libomp.so.5")
    own = llvm_root(version) / "lib"
    return [f"-L{own}", f"-L{only_libomp}", f"-Wl,-rpath,{own}", "-lstdc++", "-lm"]


def call(command, **kwargs):
    """Runs a command; returns (exit status, output, diagnostics)."""
    try:
        done = subprocess.run(
            [str(c) for c in command], capture_output=True, timeout=SECONDS_PER_RUN, check=False,
            **kwargs)
    except subprocess.TimeoutExpired:
        return 124, "", f"still running after {SECONDS_PER_RUN} s"
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def check_device(program, version, level, scratch):
    """Builds and runs one program; returns (what went wrong or "", the device's output)."""
    executable = scratch / "program"
    clang = llvm_root(version) / "bin/clang"
    status, _, text = call(
        [clang, *common_flags(program, version, level),
         "-fopenmp-targets=x86_64-pc-linux-gnu", *program.files, "-o", executable,
         *link_flags(version, scratch)])
    if status != 0:
        return "build: " + text, ""
    if text:
        return "build warns: " + text, ""
    outputs = {}
    for mode in ("mandatory", "disabled"):
        environment = {**os.environ, "OMP_TARGET_OFFLOAD": mode}
        status, outputs[mode], text = call([executable], env=environment)
        if status != 0:
            return f"{mode}: exit {status}: {outputs[mode]}{text}", ""
    if outputs["mandatory"] != outputs["disabled"] and not program.differs:
        return f"outputs differ:\n{outputs['mandatory']}---\n{outputs['disabled']}", ""
    if not outputs["mandatory"].strip():
        return "prints nothing", ""
    return "", outputs["mandatory"]


def check_gpu(program, version, level, target, scratch):
    """Compiles the device modules of one program for a GPU; returns what went wrong or ""."""
    clang = llvm_root(version) / "bin/clang"
    device_flags = [f for flag in GPU_FLAGS[target]
                    for f in (f"-Xopenmp-target={GPU_TARGETS[target]}", flag)]
    for file in program.files:
        status, _, text = call(
            [clang, *common_flags(program, version, level),
             f"-fopenmp-targets={GPU_TARGETS[target]}", *device_flags, "-nogpulib",
             "--offload-device-only", "-S", "-emit-llvm", file, "-o", scratch / "device.ll"])
        if status != 0:
            return text
    return ""


def select(names):
    programs = [Program(p) for p in sorted(SOURCES.iterdir())]
    programs = [p for p in programs if p.files]
    table = (SOURCES.parent / "README.md").read_text()
    for path in sorted(SOURCES.iterdir()):
        if f"`{path.name}{'/' if path.is_dir() else ''}`" not in table:
            sys.exit(f"{path.name} is missing in the table of README.md")
    if not names:
        return programs
    wanted = {n.rstrip("/") for n in names}
    unknown = wanted - {p.name.rstrip("/") for p in programs}
    if unknown:
        sys.exit(f"no such program in {SOURCES}: {', '.join(sorted(unknown))}")
    return [p for p in programs if p.name.rstrip("/") in wanted]


def main():
    parser = argparse.ArgumentParser(description="Check the corpus with the stock toolchain.")
    parser.add_argument("--llvm", nargs="+", default=["19", "22"], choices=["19", "22"])
    parser.add_argument("--level", nargs="+", default=["0", "2"], help="optimisation levels")
    parser.add_argument("--gpu", action="store_true", help="compile nvptx64 and amdgcn too")
    parser.add_argument("--print", action="store_true", help="show each program's output")
    parser.add_argument("programs", nargs="*", help="names as in the table; all if none")
    arguments = parser.parse_args()

    columns = [(v, l, "x86_64") for v in arguments.llvm for l in arguments.level]
    if arguments.gpu:
        columns += [(v, l, t) for v in arguments.llvm for l in arguments.level for t in GPU_TARGETS]
    print("program".ljust(34), *(f"{v}-O{l}-{t}" for v, l, t in columns))
    failures, problems = 0, []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for program in select(arguments.programs):
            cells, expected = [], None
            for version, level, target in columns:
                where = f"{program.name} {version}-O{level}-{target}"
                problem, output = "", ""
                if program.only and version not in program.only:
                    cell = "-"
                elif program.targets and target not in program.targets:
                    cell = "-"
                else:
                    if target == "x86_64":
                        problem, output = check_device(program, version, level, scratch)
                        expected = output if expected is None else expected
                        if not problem and output != expected:
                            problem = f"another output than before:\n{output}---\n{expected}"
                    else:
                        problem = check_gpu(program, version, level, target, scratch)
                    cell = "FAIL" if problem else "ok"
                if problem:
                    failures += 1
                    problems.append(f"== {where}: {problem[:MOST_CHARACTERS]}")
                cells.append(cell.ljust(len(f"{version}-O{level}-{target}")))
            print(program.name.ljust(34), *cells, flush=True)
            if arguments.print and expected:
                print(expected)
    print(*problems, sep="\n")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
