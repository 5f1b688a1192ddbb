//! Tells `perf` the names of variants, in the file where it looks for the code of JIT compilers: one line for
//! each function, with its address, its size and its name.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use object::{Object, ObjectSymbol, SymbolKind};

use offloom_jit_policy::process::guard::write_signals::without_write_signals;
use offloom_jit_policy::process::report;

/// Adds the functions of an object whose function `kernel` was linked to `address`. `label` is put behind
/// each name.
pub(crate) fn add(object: &[u8], kernel: &str, address: u64, label: &str) {
    let lines = lines(object, kernel, address, label).unwrap_or_default();
    let file = format!("/tmp/perf-{}.map", std::process::id());
    if let Err(error) = without_write_signals(|| append(Path::new(&file), &lines)) {
        report::log(format_args!("cannot write `{file}`: {error}"));
    }
}

/// Adds lines to a file, which is made if it is not there.
fn append(file: &Path, lines: &str) -> io::Result<()> {
    // Somebody else may have put a link there, or a pipe that nobody reads: the folder is everybody's.
    let mut map = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(file)?;
    if !map.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    // In one write, so that lines of several processes of one number, one after the other, are whole.
    map.write_all(lines.as_bytes())
}

/// Functions beside the kernel lie where they lie in the object: a section is linked as a whole.
fn lines(object: &[u8], kernel: &str, address: u64, label: &str) -> Option<String> {
    let object = object::File::parse(object).ok()?;
    let symbols = object.symbols();
    let functions: Vec<_> = symbols
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .collect();
    let named = |name: &str| functions.iter().find(move |symbol| symbol.name() == Ok(name));
    let kernel = named(kernel)?;
    let mut lines = String::new();
    for function in &functions {
        if function.section_index() == kernel.section_index() && function.size() != 0 {
            let start = address
                .wrapping_add(function.address())
                .wrapping_sub(kernel.address());
            let name = function.name().unwrap_or("?");
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{start:x} {:x} {name}{label}", function.size());
        }
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_has_no_lines() {
        assert_eq!(lines(b"not an object", "kernel", 0x1000, ""), None);
    }

    /// In a folder of its own: a file, and a pipe that nobody reads or somebody does.
    #[test]
    fn lines_are_added_to_files_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("offloom-perf-map-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let [map, pipe] = ["map", "pipe"].map(|name| folder.join(name));
        append(&map, "1 2 first\n").unwrap();
        append(&map, "3 4 second\n").unwrap();
        assert_eq!(std::fs::read_to_string(&map).unwrap(), "1 2 first\n3 4 second\n");
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        )
        .unwrap();
        append(&pipe, "lines\n").unwrap_err();
        let reader = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&pipe)
            .unwrap();
        append(&pipe, "lines\n").unwrap_err();
        drop(reader);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
