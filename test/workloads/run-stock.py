#!/usr/bin/env python3
"""Builds every workload with the stock Clang, runs it on the x86_64 device and prints a table.

For each LLVM and mode (plain, and lto: -foffload-lto): one build for x86_64-pc-linux-gnu at -O3, one run with
OMP_TARGET_OFFLOAD=mandatory. Fails if a build warns, a run is wrong, or two builds of a workload print
anything different but their times. A cell is the time in the kernels over that of the whole run, in seconds.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

FOLDER = pathlib.Path(__file__).resolve().parent
FLAGS = ["-O3", "-Wall", "-Wextra", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", f"-I{FOLDER / 'common'}"]
SECONDS_PER_CALL = 300


def llvm_root(version):
    return pathlib.Path(f"/usr/lib/llvm-{version}")


def call(command, environment=None):
    """Runs a command; returns (exit status, output, seconds)."""
    started = os.times().elapsed
    try:
        done = subprocess.run(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
            timeout=SECONDS_PER_CALL, check=False, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return 124, f"still running after {SECONDS_PER_CALL} s", SECONDS_PER_CALL
    return done.returncode, done.stdout, os.times().elapsed - started


def build(folder, version, mode, scratch):
    """Builds the program of one folder, one file after the other; returns (executable, what went wrong)."""
    own, stand_in = llvm_root(version) / "lib", scratch / "libomp"
    executable = scratch / f"{folder.name}-{version}-{mode}"
    if executable.exists():
        return executable, ""
    stand_in.mkdir(exist_ok=True)
    if not (stand_in / "libomp.so").exists():  # LLVM 22's packages have no libomp: 19's, without its other libraries
        (stand_in / "libomp.so").symlink_to(llvm_root("19") / "lib/libomp.so.5")
    flags = FLAGS + (["-foffload-lto"] if mode == "lto" else [])
    if version != "19":
        flags += ["-idirafter", llvm_root("19") / "lib/clang/19/include"]
    objects, sources = [], sorted(folder.glob("*.c")) + sorted(folder.glob("*.cpp"))
    compilers = {".c": "clang", ".cpp": "clang++"}
    for source in sources:
        objects.append(scratch / f"{folder.name}-{source.stem}-{version}-{mode}.o")
        compiler = llvm_root(version) / "bin" / compilers[source.suffix]
        status, text, _ = call([compiler, *flags, "-c", source, "-o", objects[-1]])
        if status or text:
            return executable, f"compiling {source.name}: {text}"
    compiler = llvm_root(version) / "bin" / compilers[sources[-1].suffix]
    status, text, _ = call(
        [compiler, *flags, *objects, "-o", executable, f"-L{own}", f"-L{stand_in}", f"-Wl,-rpath,{own}", "-lm"])
    return executable, f"linking: {text}" if status or text else ""


def run(executable, arguments):
    """Runs a workload; returns (what it prints without times, seconds in kernels, seconds in all, what went wrong)."""
    environment = {**os.environ, "OMP_TARGET_OFFLOAD": "mandatory"}
    status, text, seconds = call([executable, *arguments], environment)
    lines = text.splitlines()
    times = [line for line in lines if line.startswith("time ")]
    facts = [line for line in lines if not line.startswith("time ")]
    kernel = sum(float(word.removeprefix("total_s=")) for line in times for word in line.split() if "total_s=" in word)
    if status or not facts or facts[-1] != "result ok" or not times:
        return facts, kernel, seconds, f"exit status {status}:\n{text}"
    return facts, kernel, seconds, ""


def main():
    parser = argparse.ArgumentParser(description="Build and run the workloads with the stock compiler.")
    parser.add_argument("--llvm", nargs="+", default=["19", "22"], choices=["19", "22"])
    parser.add_argument("--mode", nargs="+", default=["plain", "lto"], choices=["plain", "lto"])
    parser.add_argument("--size", default="small", help="small (default), large or a number")
    parser.add_argument("--print", action="store_true", help="show what each workload prints, without times")
    parser.add_argument("workloads", nargs="*", help="names of workloads.toml; all if none")
    arguments = parser.parse_args()

    rows = tomllib.loads((FOLDER / "workloads.toml").read_text())["workload"]
    unknown = set(arguments.workloads) - {row["name"] for row in rows}
    if unknown:
        sys.exit(f"no such workload: {', '.join(sorted(unknown))}")
    columns = [(version, mode) for version in arguments.llvm for mode in arguments.mode]
    print("workload".ljust(18), "group".ljust(9), *(f"{v}-{m}".ljust(15) for v, m in columns))
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            if row.get("language") == "rust":  # no stock compiler builds them
                continue
            if arguments.workloads and row["name"] not in arguments.workloads:
                continue
            cells, expected = [], None
            for version, mode in columns:
                executable, problem = build(FOLDER / row.get("folder", row["name"]), version, mode, pathlib.Path(folder))
                if not problem:
                    facts, kernel, seconds, problem = run(
                        executable, ["--size", arguments.size, *row.get("arguments", [])])
                    expected = expected or facts
                    if not problem and facts != expected:
                        differ = [f"{a} | {b}" for a, b in zip(expected, facts) if a != b]
                        problem = "prints another result than the first build: " + "; ".join(differ)
                if problem:
                    problems.append(f"== {row['name']} {version}-{mode}: {problem}")
                cells.append(("FAIL" if problem else f"{kernel:.2f} / {seconds:.2f}").ljust(15))
            print(row["name"].ljust(18), row["group"].ljust(9), *cells, flush=True)
            if arguments.print and expected:
                print(*expected, sep="\n")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(problems)} failures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
