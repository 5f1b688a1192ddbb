//! Which LLVMs a distribution has, in which suite of its archive, and which of them it has at a time.
//!
//! The programs of an LLVM need the OpenMP host runtime that Debian has for it, and Debian installs one host
//! runtime at a time ([`LlvmVersion::host_runtime`]). So 19 and 22 are installed together, and 21 without
//! them.

use std::fs;

use anyhow::{Result, ensure};
use offloom_abi::LlvmVersion;

/// A release of Debian.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Distribution {
    /// As `/etc/os-release` names it.
    codename: &'static str,
    /// As people do.
    pub(crate) name: &'static str,
    /// Oldest first.
    sources: &'static [Source],
    /// AMD's library of mathematics for devices.
    pub(crate) amd_libraries: DeviceLibraries,
}

/// A package with bitcode for devices.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DeviceLibraries {
    pub(crate) package: &'static str,
    /// Where it puts the bitcode.
    pub(crate) folder: &'static str,
}

/// An LLVM in an archive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) version: LlvmVersion,
    /// The suite that holds it.
    pub(crate) suite: &'static str,
    /// Packages that are there in two suites, of which this LLVM needs that of its own.
    pub(crate) of_suite: &'static [&'static str],
}

/// Every distribution that packages are known of.
const ALL: [Distribution; 3] = [
    Distribution {
        codename: "bookworm",
        name: "Debian 12",
        sources: &[
            Source {
                version: LlvmVersion::V19,
                suite: "bookworm",
                of_suite: &[],
            },
            Source {
                version: LlvmVersion::V22,
                suite: "bookworm-security",
                of_suite: &[],
            },
        ],
        amd_libraries: DeviceLibraries {
            package: "rocm-device-libs",
            folder: "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
        },
    },
    Distribution {
        codename: "trixie",
        name: "Debian 13",
        sources: &[
            Source {
                version: LlvmVersion::V19,
                suite: "trixie",
                of_suite: &[],
            },
            Source {
                version: LlvmVersion::V21,
                suite: "trixie-backports",
                of_suite: &["libomp5"],
            },
            Source {
                version: LlvmVersion::V22,
                suite: "trixie",
                of_suite: &[],
            },
        ],
        amd_libraries: DeviceLibraries {
            package: "rocm-device-libs-17",
            folder: "/usr/lib/llvm-17/lib/clang/17/amdgcn/bitcode",
        },
    },
    // As both testing and unstable name themselves.
    Distribution {
        codename: "forky",
        name: "Debian sid",
        sources: &[
            Source {
                version: LlvmVersion::V21,
                suite: "sid",
                of_suite: &[],
            },
            Source {
                version: LlvmVersion::V23,
                suite: "sid",
                of_suite: &[],
            },
        ],
        amd_libraries: DeviceLibraries {
            package: "rocm-device-libs-21",
            folder: "/usr/lib/llvm-21/lib/clang/21/amdgcn/bitcode",
        },
    },
];

impl Distribution {
    /// The distribution of this machine, if it is one of those.
    pub(crate) fn here() -> Option<&'static Self> {
        Self::of(&fs::read_to_string("/etc/os-release").ok()?)
    }

    /// The distribution that an `os-release` file is of.
    pub(crate) fn of(os_release: &str) -> Option<&'static Self> {
        let field = |name: &str| {
            let value = os_release
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.map(|value| value.trim_matches('"'))
        };
        let codename = field("VERSION_CODENAME").filter(|_| field("ID") == Some("debian"))?;
        ALL.iter().find(|distribution| distribution.codename == codename)
    }

    /// Where it has an LLVM.
    pub(crate) fn source(&self, major: u32) -> Option<&Source> {
        self.sources.iter().find(|source| source.version.major() == major)
    }

    /// The LLVMs that are meant where none is named: the oldest, and those that are installed beside it.
    fn usual(&self) -> Vec<u32> {
        let usual = self
            .sources
            .iter()
            .filter(|source| source.version.host_runtime == self.sources[0].version.host_runtime);
        usual.map(|source| source.version.major()).collect()
    }

    /// The distribution's LLVMs, for messages: `LLVM 19 in bookworm, LLVM 22 in bookworm-security`.
    pub(crate) fn offer(&self) -> String {
        let each = |source: &Source| format!("LLVM {} in `{}`", source.version.major(), source.suite);
        self.sources.iter().map(each).collect::<Vec<_>>().join(", ")
    }
}

/// The LLVMs to install where none is named: those of this machine's distribution, on another one all with
/// the host runtime of the oldest.
pub(crate) fn usual_majors() -> Vec<u32> {
    let all = LlvmVersion::ALL.into_iter();
    Distribution::here().map_or_else(
        || {
            all.filter(|version| version.host_runtime == LlvmVersion::ALL[0].host_runtime)
                .map(LlvmVersion::major)
                .collect()
        },
        Distribution::usual,
    )
}

/// Fails, saying why, where these LLVMs cannot be installed together.
pub(crate) fn check_together(versions: &[LlvmVersion]) -> Result<()> {
    let Some(first) = versions.first() else {
        return Ok(());
    };
    for other in versions {
        ensure!(
            first.host_runtime == other.host_runtime,
            "LLVM {} and LLVM {} cannot be installed together: each needs another OpenMP host runtime ({} and {}), and Debian has one at a \
             time. Choose one with `--llvm`; the other can have a root of its own (`packaging/try-clean-root.sh`)",
            first.major(),
            other.major(),
            first.host_runtime_dev_package(),
            other.host_runtime_dev_package(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_known_by_its_codename() {
        let trixie = "NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=trixie\nID=debian\n";
        let trixie = Distribution::of(trixie).unwrap();
        assert_eq!(trixie.name, "Debian 13");
        assert_eq!(trixie.source(21).unwrap().suite, "trixie-backports");
        let bookworm = Distribution::of("ID=debian\nVERSION_CODENAME=bookworm\n").unwrap();
        assert_eq!(bookworm.source(21), None);
        assert_eq!(Distribution::of("ID=ubuntu\nVERSION_CODENAME=trixie\n"), None);
        assert_eq!(Distribution::of(""), None);
    }

    #[test]
    fn what_is_usual_can_be_installed_together() {
        for distribution in &ALL {
            let usual = distribution.usual();
            assert!(!usual.is_empty());
            let usual = usual.iter().map(|&major| LlvmVersion::of_major(major).unwrap());
            check_together(&usual.collect::<Vec<_>>()).unwrap();
        }
        let error = check_together(&[LlvmVersion::V19, LlvmVersion::V21]).unwrap_err();
        assert!(error.to_string().contains("libomp-21-dev"), "{error}");
    }
}
