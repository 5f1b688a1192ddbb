//! Target triples, as far as formats and tools go by them. Their text stays as it is: compilers spell one
//! target in several ways.

use crate::HostProcessor;

/// A target triple, such as `x86_64-pc-linux-gnu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triple<'a>(pub &'a str);

impl<'a> Triple<'a> {
    /// Its first part.
    pub fn architecture(self) -> &'a str {
        self.0.split('-').next().unwrap_or_default()
    }

    /// Whether it is that of NVIDIA's GPUs.
    pub fn is_nvidia_gpu(self) -> bool {
        self.architecture() == "nvptx64"
    }

    /// Whether it is that of AMD's GPUs.
    pub fn is_amd_gpu(self) -> bool {
        self.architecture() == "amdgcn"
    }

    /// Whether it is that of GPUs for which the JIT makes code.
    pub fn is_gpu(self) -> bool {
        self.is_nvidia_gpu() || self.is_amd_gpu()
    }

    /// The processor of a host with Linux that it is for, if it is one that is known.
    pub fn host_processor(self) -> Option<&'static HostProcessor> {
        let (name, rest) = self.0.split_once('-')?;
        rest.contains("linux").then_some(())?;
        HostProcessor::ALL
            .into_iter()
            .find(|processor| processor.name == name)
    }

    /// Whether both are the same Linux, however they are spelled: `x86_64-linux-gnu`, `x86_64-pc-linux-gnu`,
    /// `x86_64-unknown-linux`.
    pub fn is_same_linux(self, other: Triple<'_>) -> bool {
        let parts = self.linux_parts();
        parts.is_some() && parts == other.linux_parts()
    }

    /// Architecture and environment of a Linux.
    fn linux_parts(self) -> Option<(&'a str, &'a str)> {
        let (_, environment) = self.0.split_once("-linux")?;
        Some((
            self.architecture(),
            environment.strip_prefix('-').unwrap_or("gnu"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_has_several_names() {
        let host = Triple("x86_64-pc-linux-gnu");
        for (text, same) in [
            ("x86_64-pc-linux-gnu", true),
            ("x86_64-unknown-linux-gnu", true),
            ("x86_64-linux-gnu", true),
            ("x86_64-linux", true),
            ("x86_64-unknown-linux-musl", false),
            ("x86_64", false),
            ("aarch64-unknown-linux-gnu", false),
            ("", false),
        ] {
            assert_eq!(Triple(text).is_same_linux(host), same, "{text}");
        }
        assert!(!Triple("x86_64").is_same_linux(Triple("x86_64")));
    }

    #[test]
    fn devices_are_told_by_the_architecture() {
        for (text, nvidia, amd, host) in [
            ("nvptx64-nvidia-cuda", true, false, None),
            ("nvptx-nvidia-cuda", false, false, None),
            ("amdgcn-amd-amdhsa", false, true, None),
            ("x86_64-pc-linux-gnu", false, false, Some("x86_64")),
            ("aarch64-unknown-linux-gnu", false, false, Some("aarch64")),
            ("x86_64-pc-windows-msvc", false, false, None),
            ("aarch64-apple-darwin", false, false, None),
            ("x86_64", false, false, None),
            ("", false, false, None),
        ] {
            let triple = Triple(text);
            let processor = triple.host_processor().map(|processor| processor.name);
            let found = (triple.is_nvidia_gpu(), triple.is_amd_gpu(), processor);
            assert_eq!(found, (nvidia, amd, host), "{text}");
        }
    }
}
