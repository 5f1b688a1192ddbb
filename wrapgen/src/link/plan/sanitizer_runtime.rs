//! Clang's runtime libraries, which Clang links into programs compiled with `-fsanitize=`,
//! `-fprofile-instr-generate` and the like: which of them a device image gets.
//!
//! An image of the host's kind is a shared library that the program loads, so it gets what Clang gives shared
//! libraries. A sanitizer is there once in a process, in the program or in a shared library of its own: a
//! second copy of AddressSanitizer, for instance, finds the first one's shadow memory in its way and ends the
//! program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::super::host_command::HostCommand;

/// How the names of these libraries start, for instance `libclang_rt.asan-x86_64.a` or, with a folder for
/// each target, `libclang_rt.asan.a`.
const PREFIX: &str = "libclang_rt.";

/// The archives that Clang links into shared libraries, too: a second copy does no harm.
const IN_SHARED_LIBRARIES: [&str; 5] = ["asan_static", "builtins", "profile", "stats_client", "xray-dso"];

/// The name that a link asks for (`-u`) to get the code that writes the profile at exit.
pub(super) const PROFILE_WRITER: &str = "__llvm_profile_runtime";

/// The first runtime library on the command line that only programs are linked with.
pub(super) fn of_program(host: &HostCommand) -> Option<&Path> {
    host.inputs()
        .map(PathBuf::as_path)
        .find(|path| belongs_to_program(path))
}

/// Whether an input of the host link is a runtime library that only programs are linked with.
pub(super) fn belongs_to_program(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let Some(library) = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(".a")) else {
        return false;
    };
    !IN_SHARED_LIBRARIES.iter().any(|shared| {
        let rest = library.strip_prefix(shared);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_get_what_shared_libraries_get() {
        for (name, belongs) in [
            ("libclang_rt.asan-x86_64.a", true),
            ("libclang_rt.asan.a", true),
            ("libclang_rt.asan-preinit-x86_64.a", true),
            ("libclang_rt.asan_cxx-x86_64.a", true),
            ("libclang_rt.ubsan_standalone-x86_64.a", true),
            ("libclang_rt.xray-x86_64.a", true),
            ("libclang_rt.xray-dso-x86_64.a", false),
            ("libclang_rt.asan_static-x86_64.a", false),
            ("libclang_rt.asan-x86_64.so", false),
            ("libclang_rt.builtins.a", false),
            ("libclang_rt.profile-x86_64.a", false),
            ("libasan.a", false),
        ] {
            let path = Path::new("/usr/lib/clang").join(name);
            assert_eq!(belongs_to_program(&path), belongs, "{name}");
        }
    }
}
