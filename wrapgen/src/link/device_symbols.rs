//! The symbols of device code, native or bitcode, as they decide about archive members and about what bitcode
//! may hide.

use std::collections::{BTreeSet, HashSet};

use object::{Object, ObjectSymbol};

use super::scan::ScannedInput;
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputKind, LinkerSymbol, bitcode_symbols, is_bitcode};

/// The symbols of a member that other files can see; none of text, or of an image in a format that only its
/// device knows.
///
/// # Errors
/// The member is malformed.
pub fn device_symbols(found: &EmbeddedMember<'_>) -> Result<Vec<LinkerSymbol>> {
    let image = found.member.image();
    if is_bitcode(image) {
        return bitcode_symbols(&found.origin, image);
    }
    if !InputKind::of(image).is_elf() {
        return Ok(Vec::new());
    }
    let file = object::File::parse(image).map_err(|error| Error::DeviceObject {
        input: found.origin.to_string(),
        problem: error.to_string(),
    })?;
    let symbols = file
        .symbols()
        .filter(|symbol| symbol.is_global() || symbol.is_undefined());
    Ok(symbols
        .filter_map(|symbol| {
            Some(LinkerSymbol {
                name: symbol.name_bytes().ok()?.to_vec(),
                undefined: symbol.is_undefined(),
                weak: symbol.is_weak(),
                hidden: is_hidden(&symbol),
            })
        })
        .filter(|symbol| !symbol.name.is_empty())
        .collect())
}

fn is_hidden<'a>(symbol: &impl ObjectSymbol<'a>) -> bool {
    match symbol.flags() {
        object::SymbolFlags::Elf { st_other, .. } => st_other.visibility() == object::elf::STV_HIDDEN,
        _ => false,
    }
}

/// Names that `members`' bitcode defines and that somebody else defines or asks for: native members, or an
/// object in one of the `libraries` that the image may be linked with.
///
/// # Errors
/// A member or a library is malformed.
pub fn names_shared_with_native_code(
    members: &[EmbeddedMember<'_>],
    libraries: &[ScannedInput],
) -> Result<BTreeSet<Vec<u8>>> {
    let mut defined = HashSet::new();
    let mut native = Vec::new();
    for found in members {
        let symbols = device_symbols(found)?;
        if is_bitcode(found.member.image()) {
            let symbols = symbols.into_iter().filter(|symbol| !symbol.undefined);
            defined.extend(symbols.map(|symbol| symbol.name));
        } else {
            native.extend(symbols.into_iter().map(|symbol| symbol.name));
        }
    }
    let mut shared: BTreeSet<_> = native.into_iter().filter(|name| defined.contains(name)).collect();
    for library in libraries {
        for part in library.file().parts()? {
            // The device link gets archives as ordinary libraries, `--whole-archive` or not, and no object of
            // the host's.
            if part.origin.member.is_none() && !library.is_lazy() {
                continue;
            }
            // What is no ELF object has no say in a link of ELF objects.
            let Ok(file) = object::File::parse(part.bytes) else {
                continue;
            };
            let lacking = file.symbols().filter(ObjectSymbol::is_undefined);
            let names = lacking.filter_map(|symbol| symbol.name_bytes().ok());
            shared.extend(names.filter(|name| defined.contains(*name)).map(<[u8]>::to_vec));
        }
    }
    Ok(shared)
}
