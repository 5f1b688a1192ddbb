//! Tells which archive members the host linker takes, by the symbols that objects define and lack.

use std::collections::HashSet;

use object::{Object, ObjectSymbol};

use super::scan::ScannedInput;
use crate::error::Result;
use crate::inputs::{InputKind, InputPart, Origin};

/// The members of the archives among `inputs` that define something another linked object lacks.
///
/// # Errors
/// An archive is malformed.
pub(super) fn linked_archive_members(inputs: &[ScannedInput]) -> Result<HashSet<Origin<'_>>> {
    let mut symbols = HostSymbols::default();
    let mut waiting = Vec::new();
    for input in inputs {
        for part in input.file().parts()? {
            match input.is_lazy() {
                true => waiting.push(part),
                false => symbols.add(&part),
            }
        }
    }
    let mut linked = HashSet::new();
    loop {
        let before = waiting.len();
        waiting.retain(|part| {
            let needed = symbols.needs(part);
            if needed {
                symbols.add(part);
                linked.insert(part.origin);
            }
            !needed
        });
        if waiting.len() == before {
            return Ok(linked);
        }
    }
}

/// The symbols of the objects that are linked.
#[derive(Debug, Default)]
struct HostSymbols<'a> {
    defined: HashSet<&'a [u8]>,
    undefined: HashSet<&'a [u8]>,
}

impl<'a> HostSymbols<'a> {
    fn add(&mut self, part: &InputPart<'a>) {
        let Some(file) = object_file(part) else { return };
        for symbol in file.symbols().filter(|symbol| !symbol.is_local()) {
            let Ok(name) = symbol.name_bytes() else { continue };
            match symbol.is_undefined() {
                false => _ = self.defined.insert(name),
                // A weak reference takes no member out of an archive.
                true if !symbol.is_weak() => _ = self.undefined.insert(name),
                true => {}
            }
        }
    }

    fn needs(&self, part: &InputPart<'_>) -> bool {
        object_file(part).is_some_and(|file| {
            file.symbols().any(|symbol| {
                let wanted = |name| self.undefined.contains(name) && !self.defined.contains(name);
                symbol.is_global() && !symbol.is_undefined() && symbol.name_bytes().is_ok_and(wanted)
            })
        })
    }
}

fn object_file<'a>(part: &InputPart<'a>) -> Option<object::File<'a>> {
    match part.kind {
        InputKind::Object => object::File::parse(part.bytes).ok(),
        _ => None,
    }
}
