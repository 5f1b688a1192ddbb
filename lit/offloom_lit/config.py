"""Sets up lit for one build of Offloom: substitutions, features, tools.

`cargo xtask lit` describes the build in a JSON file, `<target folder>/lit/llvm-N/config.json`. `docs/dev/testing.md` lists what
a test may use.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys

from offloom_lit import device, rust
from offloom_lit.format import CleanShTest

# Test helpers of LLVM that tests call by their plain names. They are linked into a folder of their own, so that a test cannot
# reach any other program of that LLVM by accident.
HELPERS = ("FileCheck", "count", "not", "split-file")


def load(config, lit_config):
    """Fills in `config`, the configuration of the whole test suite."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    build = _read_build(lit_config, root)
    llvm_bin = build["llvm_bin"]

    config.name = f"Offloom, LLVM {build['llvm']}"
    config.test_format = CleanShTest()
    config.suffixes = [".ll", ".c", ".cpp", ".test", ".sh"]
    # Programs that tests compile, not tests.
    config.excludes = ["Inputs", "corpus", "workloads"]
    config.test_source_root = os.path.join(root, "test")
    config.test_exec_root = build["exec_root"]

    helpers = os.path.join(config.test_exec_root, "helpers")
    _link_helpers(lit_config, helpers, llvm_bin)
    # A failed check shows the lines around the error, not the whole input.
    config.environment["FILECHECK_OPTS"] = "--dump-input-filter=error"
    # The user's own cache is not the tests' to use; those that are about the cache have one of their own.
    config.environment["OFFLOOM_JIT_CACHE_MODE"] = "off"
    # What makes a test longer, or repeats a run of it.
    config.environment.update((name, value) for name, value in os.environ.items() if name.startswith("OFFLOOM_TEST_"))
    config.environment["PATH"] = os.pathsep.join([helpers, config.environment["PATH"]])

    config.substitutions += _substitutions(build)
    # For the tests of this configuration itself.
    config.substitutions.append((r"%lit\b", shlex.join([sys.executable, os.path.abspath(sys.argv[0])])))
    config.substitutions.append((r"%build_file\b", _build_file(lit_config, root)))
    config.available_features.add(f"llvm-{build['llvm']}")
    if build["other_llvm_bin"]:
        config.available_features.add("both-llvms")
    if build["other_dist"]:
        config.available_features.add("both-builds")
    _add_device_libraries(config, build)
    _add_gpu(config, lit_config, build)
    _add_clang_runtimes(config, llvm_bin)
    mount = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", config.test_source_root]
    if shutil.which("unshare") and subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        config.available_features.add("mounts")
    # From this version on, functions for `float` are rounded correctly.
    if tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))) >= (2, 41):
        config.available_features.add("rounded-mathematics")
    # Debian has it as a package; elsewhere it may be a snap, which sees no files of ours.
    if shutil.which("chromium"):
        config.available_features.add("browser")
    if shutil.which("redis-server") and shutil.which("redis-cli"):
        config.available_features.add("redis")
    if build["s3_server"]:
        config.available_features.add("s3")
        config.substitutions.append((r"%s3_server\b", build["s3_server"]))
    if shutil.which("mpicxx") and shutil.which("mpirun"):
        config.available_features.add("mpi")
    if os.path.exists("/usr/include/pybind11/pybind11.h"):
        config.available_features.add("pybind11")
    flang = os.path.join(llvm_bin, "flang-new")
    if os.path.exists(flang):
        config.available_features.add("flang")
        config.substitutions.append((r"%flang\b", flang))
    rustc = rust.find(build["llvm"])
    if rustc:
        config.available_features.add("rustc")
        config.substitutions.append((r"%rustc\b", rustc))
    problem = device.probe(build, config.test_exec_root)
    if problem is None:
        config.available_features.add("x86_64-device")
    else:
        lit_config.error(f"no target region runs on this machine with LLVM {build['llvm']}: {problem}")


def _read_build(lit_config, root):
    """The description of the build under test."""
    path = _build_file(lit_config, root)
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        lit_config.fatal(f"{error}: run `cargo xtask lit` once, it writes this file")


def _build_file(lit_config, root):
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(root, "target"))
    by_default = os.path.join(target, "lit", f"llvm-{lit_config.params.get('llvm', '19')}", "config.json")
    return lit_config.params.get("config", by_default)


def _link_helpers(lit_config, folder, llvm_bin):
    os.makedirs(folder, exist_ok=True)
    for name in HELPERS:
        program = os.path.join(llvm_bin, name)
        if not os.path.exists(program):
            lit_config.fatal(f"no `{program}`: `cargo xtask setup` installs the package it is in")
        link = os.path.join(folder, name)
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(program, link)


def _add_device_libraries(config, build):
    """What this machine has for GPUs: CUDA's tools, and the OpenMP device runtime as bitcode, this LLVM's own or another's."""
    if build["cuda"]:
        config.available_features.add("cuda")
        config.substitutions.append((r"%cuda\b", build["cuda"]))
        libdevice = os.path.join(build["cuda"], "nvvm", "libdevice")
        if os.path.exists(os.path.join(libdevice, "libdevice.10.bc")):
            config.available_features.add("libdevice")
            config.substitutions.append((r"%libdevice_folder\b", libdevice))
    if build["device_runtime"]:
        config.available_features.add("device-runtime")
        if build["has_own_device_runtime"]:
            config.available_features.add("own-device-runtime")
        config.substitutions.append((r"%device_runtime_folder\b", os.path.dirname(build["device_runtime"])))


def _add_gpu(config, lit_config, build):
    """The GPU that tests run programs on: the virtual one, or with `OFFLOOM_TEST_GPU=1` the machine's."""
    run, processor = "env OMP_TARGET_OFFLOAD=MANDATORY", "sm_80"
    if os.environ.get("OFFLOOM_TEST_GPU") == "1":
        try:
            processor = device.real_gpu()
        except device.NoGpu as problem:
            lit_config.fatal(f"`OFFLOOM_TEST_GPU=1` asks for a GPU: {problem}")
        config.name += f", GPU {processor}"
    else:
        config.available_features.add("virtual-gpu")
        run += f" LD_LIBRARY_PATH={build['virtual_gpu']}"
    if build["device_runtime"]:
        # Where there is a file for each processor, that of sm_80 is named.
        config.substitutions.append((r"%device_runtime\b", build["device_runtime"].replace("sm_80", processor)))
        config.substitutions.append((r"%gpu_options\b", " ".join(build["gpu_options"]).replace("sm_80", processor)))
    # What stands in for AMD's runtime executes nothing, on any machine.
    config.substitutions.append((r"%virtual_hsa\b", build["virtual_hsa"]))
    config.substitutions.append((r"%run_hsa\b", f"env OMP_TARGET_OFFLOAD=MANDATORY LD_LIBRARY_PATH={build['virtual_hsa']}"))
    config.available_features.add("gpu")
    config.substitutions.append((r"%virtual_gpu\b", build["virtual_gpu"]))
    config.substitutions.append((r"%gpu_processor\b", processor))
    config.substitutions.append((r"%run_gpu\b", run))


def _add_clang_runtimes(config, llvm_bin):
    """Clang's runtime libraries for sanitizers and profiles."""
    command = [os.path.join(llvm_bin, "clang"), "-print-file-name=libclang_rt.asan-x86_64.so"]
    library = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if os.path.isabs(library):
        config.available_features.add("sanitizers")
        config.substitutions.append((r"%clang_runtimes\b", os.path.dirname(library)))


def _substitutions(build):
    """The `%name`s of RUN lines, as pairs of regular expression and replacement."""
    dist, llvm_bin = build["dist"], build["llvm_bin"]
    other_bin = build["other_llvm_bin"] or ""
    values = {
        "opt": os.path.join(llvm_bin, "opt"),
        "clang": os.path.join(llvm_bin, "clang"),
        "clangxx": os.path.join(llvm_bin, "clang++"),
        "llvm_bin": llvm_bin,
        "llvm": str(build["llvm"]),
        "other_opt": os.path.join(other_bin, "opt"),
        "passes": os.path.join(dist, "lib", "liboffloom_passes.so"),
        "test_plugin": build["test_plugin"],
        "jit_cuda_test": build["jit_cuda_test"],
        "offloom": os.path.join(dist, "bin", "offloom"),
        "wrapgen": os.path.join(dist, "bin", "wrapgen"),
        "wrapgen_bitcode": os.path.join(dist, "libexec", "offloom", "wrapgen-bitcode"),
        "dropin": os.path.join(dist, "libexec", "offloom"),
        "dist": dist,
        "other_dist": build["other_dist"] or "",
        "omp_compile": shlex.join(build["omp_compile"]),
        "omp_link": shlex.join(build["omp_link"]),
        "run_offload": "env OMP_TARGET_OFFLOAD=mandatory",
    }
    # The word boundary keeps `%clang` out of `%clangxx`.
    return [(rf"%{name}\b", value) for name, value in values.items()]
