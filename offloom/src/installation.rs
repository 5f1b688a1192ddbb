//! Where the rest of Offloom lies: beside this program, as it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use offloom_abi::LlvmVersion;
use offloom_abi::jit_compile::ASSEMBLER_NAME;
use offloom_abi::jit_remote::REMOTE_NAME;

use crate::error::{Error, Result};

/// The LLVM release that this build of Offloom is for.
pub(crate) const LLVM: LlvmVersion = LlvmVersion::of_build(env!("OFFLOOM_LLVM_MAJOR"));

/// Major version of the LLVM that this build of Offloom is for.
pub(crate) const LLVM_MAJOR: u32 = LLVM.major();

/// What `--version` prints behind the name.
pub(crate) const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (LLVM ",
    env!("OFFLOOM_LLVM_MAJOR"),
    ")"
);

/// The name by which Clang runs the packager.
const PACKAGER: &str = LLVM.packager;

/// The folder that `bin/offloom` is in.
#[derive(Debug)]
pub(crate) struct Installation(PathBuf);

impl Installation {
    /// The installation that this program belongs to.
    pub(crate) fn find() -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::NoInstallation)?;
        let root = program.parent().and_then(Path::parent);
        Ok(Self(root.unwrap_or_else(|| Path::new("/")).to_owned()))
    }

    /// Clang's configuration file for ahead-of-time code.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.0.join("share/offloom/offloom.cfg")
    }

    /// Clang's configuration file for programs whose kernels specialise themselves.
    pub(crate) fn jit_configuration(&self) -> PathBuf {
        self.0.join("share/offloom/offloom-jit.cfg")
    }

    /// Where CMake finds `find_package(Offloom)`.
    pub(crate) fn cmake_folder(&self) -> PathBuf {
        self.0.join("lib/cmake/Offloom")
    }

    /// What specialises kernels.
    pub(crate) fn jit_library(&self) -> PathBuf {
        self.0.join("lib/liboffloom_jit.so")
    }

    /// What has the JIT library do something in a process of its own.
    pub(crate) fn caller(&self) -> PathBuf {
        self.0.join("libexec/offloom/offloom-jit-call")
    }

    /// The command by which that has the library do this with a file or folder.
    pub(crate) fn call(&self, function: &str, path: &Path) -> Command {
        let mut command = Command::new(self.caller());
        command.arg(self.jit_library()).arg(function).arg(path);
        command
    }

    /// What talks to remote stores.
    pub(crate) fn remote(&self) -> PathBuf {
        self.0.join("libexec/offloom").join(REMOTE_NAME)
    }

    /// What programs are run with, and what it is for.
    pub(crate) fn running_parts(&self) -> [(&'static str, PathBuf); 6] {
        [
            ("device linker", self.0.join("libexec/offloom/wrapgen-lld")),
            ("JIT library", self.jit_library()),
            (
                "JIT compile worker",
                self.0.join("libexec/offloom/offloom-jit-worker"),
            ),
            ("JIT replay and precompilation", self.caller()),
            (
                "JIT assembler on nvJitLink",
                self.0.join("libexec/offloom").join(ASSEMBLER_NAME),
            ),
            ("JIT remote store", self.remote()),
        ]
    }

    /// What programs are built with besides, and what it is for.
    pub(crate) fn building_parts(&self) -> [(&'static str, PathBuf); 5] {
        [
            ("linker", self.0.join("libexec/offloom/clang-linker-wrapper")),
            ("packager", self.0.join("libexec/offloom").join(PACKAGER)),
            (
                "linker's bitcode tool",
                self.0.join("libexec/offloom/wrapgen-bitcode"),
            ),
            ("configuration file", self.configuration()),
            ("JIT configuration file", self.jit_configuration()),
        ]
    }

    /// Whether this is what a machine has that only runs programs: nothing is there that builds them.
    pub(crate) fn only_runs(&self) -> bool {
        // A link that leads nowhere is a part that is broken.
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        !self.building_parts().iter().any(|(_, path)| is_there(path))
    }
}
