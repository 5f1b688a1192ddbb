# Recipe of Offloom for Spack. Never built: docs/dev/packaging.md says what was checked.
# It belongs into `packages/offloom/package.py` of a repository of packages.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Offloom(Package):
    """OpenMP target offloading with Clang, without a patched compiler: passes for any front end
    of LLVM, a linker for device images, and a JIT that specialises kernels while programs run."""

    license("Apache-2.0 WITH LLVM-exception")

    # There is nothing to download: `git archive` makes the file, in the folder that Spack runs in.
    manual_download = True
    url = f"file://{os.getcwd()}/offloom-0.1.0.tar.gz"

    version("0.1.0")

    variant(
        "llvm",
        default="19",
        values=("19", "21", "22"),
        multi=False,
        description="The LLVM whose Clang builds programs",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("rust@1.95:", type="build")
    # Programs of Offloom hold these and parts of LLVM as static libraries; `zlib` makes one.
    depends_on("zlib-api")
    requires("^[virtuals=zlib-api] zlib")
    depends_on("zstd libs=shared,static")
    for _major in ("19", "21", "22"):
        depends_on(
            f"llvm@{_major} +clang+lld+llvm_dylib+link_llvm_dylib+offload+libomptarget"
            " targets=aarch64,amdgpu,nvptx,x86",
            when=f"llvm={_major}",
            type=("build", "link", "run"),
        )
    del _major

    requires("platform=linux")

    sanity_check_is_file = (
        "bin/offloom",
        "bin/wrapgen",
        "lib/liboffloom_jit.so",
        "lib/liboffloom_passes.so",
        "libexec/offloom/offloom-jit-worker",
        "share/offloom/offloom.cfg",
    )

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        major = self.spec.variants["llvm"].value
        env.set(f"LLVM_SYS_{major}1_PREFIX", self.spec["llvm"].prefix)

    def install(self, spec: Spec, prefix: Prefix) -> None:
        major = spec.variants["llvm"].value
        cargo = which("cargo", required=True)
        cargo.add_default_env("CARGO_BUILD_JOBS", str(make_jobs))
        cargo("xtask", "build", "--llvm", major, "--dist", "staged")
        for folder in ("bin", "include", "lib", "libexec", "share"):
            # `lib/openmp` stands in for an OpenMP runtime that Debian's Clang 22 does not find.
            install_tree(
                join_path("staged", f"llvm-{major}", folder),
                join_path(prefix, folder),
                symlinks=True,
                ignore=lambda path: path == "openmp",
            )
