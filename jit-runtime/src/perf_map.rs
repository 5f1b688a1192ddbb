//! Tells `perf` the names of variants, in the file where it looks for the code of JIT compilers: one line for each function, with
//! its address, its size and its name.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::report;

/// Adds the functions of an object whose function `kernel` was linked to `address`. `label` is put behind each name.
pub(crate) fn add(object: &[u8], kernel: &str, address: u64, label: &str) {
    let lines = lines(object, kernel, address, label).unwrap_or_default();
    let file = format!("/tmp/perf-{}.map", std::process::id());
    // Somebody else may have put a link there: the folder is everybody's.
    let opened = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&file);
    // In one write, so that lines of several processes of one number, one after the other, are whole.
    if let Err(error) = opened.and_then(|mut map| map.write_all(lines.as_bytes())) {
        report::log(format_args!("cannot write `{file}`: {error}"));
    }
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
    #[test]
    fn what_is_no_object_has_no_lines() {
        assert_eq!(super::lines(b"not an object", "kernel", 0x1000, ""), None);
    }
}
