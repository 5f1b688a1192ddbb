//! Lists the symbols of LLVM bitcode as a linker sees them: the globals that a module defines for others, and
//! those it lacks.
//!
//! Only the module's own records are read, so symbols that inline assembly defines are not among them. No
//! LLVM is needed.

use super::bitcode::{LARGEST_GROWTH, MODULE_BLOCK, without_wrapper};
use super::bitstream::{Cursor, Item, Malformed};
use super::kind::BITCODE_MAGIC;

/// Block with the names of all globals, one after the other.
const STRING_TABLE_BLOCK: u64 = 23;

/// Records of a module, with the fields before their linkage: offset and size of the name, then three of the
/// kind's own. Behind the linkage, each kind has its visibility in another place.
const VARIABLE: u64 = 7;
const FUNCTION: u64 = 8;
const ALIAS: u64 = 14;
const INDIRECT_FUNCTION: u64 = 15;
const OWN_FIELD: usize = 4;
const LINKAGE_FIELD: usize = 5;

const FUNCTION_VISIBILITY: usize = 9;
const VARIABLE_VISIBILITY: usize = 8;
const ALIAS_VISIBILITY: usize = 6;

/// The kinds of globals, each with its visibility's place.
const KINDS: [(u64, usize); 4] = [
    (FUNCTION, FUNCTION_VISIBILITY),
    (VARIABLE, VARIABLE_VISIBILITY),
    (ALIAS, ALIAS_VISIBILITY),
    (INDIRECT_FUNCTION, ALIAS_VISIBILITY),
];

/// The number of hidden visibility.
const HIDDEN: u64 = 1;

/// How many bytes the record of a global takes, at least.
const SMALLEST_RECORD: usize = 4;

/// Linkages of globals that others cannot see: internal, private (three numbers).
const LOCAL: [u64; 4] = [3, 9, 13, 14];
/// Linkage of a global that may be missing.
const EXTERNAL_WEAK: u64 = 7;
/// Linkage of a copy of what is defined elsewhere.
const AVAILABLE_EXTERNALLY: u64 = 12;

/// A symbol of an object or of bitcode that other files can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkerSymbol {
    /// Its name.
    pub name: Vec<u8>,
    /// It is to be found elsewhere.
    pub undefined: bool,
    /// Undefined, and may be missing.
    pub weak: bool,
    /// Not visible outside of what it is linked into.
    pub hidden: bool,
}

/// The symbols of the modules in `bytes`: functions, then variables, then aliases.
pub(super) fn symbols(bytes: &[u8]) -> Result<Vec<LinkerSymbol>, Malformed> {
    let bytes = without_wrapper(bytes)?;
    let mut records: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut names = Vec::new();
    let largest = LARGEST_GROWTH.saturating_mul(bytes.len());
    let (mut cursor, mut top_level) = Cursor::new(bytes, BITCODE_MAGIC.len());
    while let Some(item) = cursor.next(&mut top_level)? {
        let Item::Block { id, width, end } = item else {
            if let Item::Record(abbreviation) = item {
                cursor.record(&top_level, abbreviation, |_, _| {})?;
            }
            continue;
        };
        if id != MODULE_BLOCK && id != STRING_TABLE_BLOCK {
            cursor.skip_to(end);
            continue;
        }
        let mut block = cursor.enter(id, width, end);
        while let Some(item) = cursor.next(&mut block)? {
            match item {
                Item::Block { end, .. } => cursor.skip_to(end),
                Item::Record(abbreviation) if id == STRING_TABLE_BLOCK => {
                    cursor.record(&block, abbreviation, |_, value| names.push(value as u8))?;
                    if names.len() > largest {
                        return Err(cursor.malformed("its names are too long for it"));
                    }
                }
                Item::Record(abbreviation) => {
                    let (mut record, mut kind) = (Vec::new(), 0);
                    cursor.record(&block, abbreviation, |code, value| {
                        kind = code;
                        if record.len() <= FUNCTION_VISIBILITY {
                            record.push(value);
                        }
                    })?;
                    if KINDS.iter().any(|&(known, _)| known == kind) {
                        records.push((kind, record));
                    }
                    if records.len() > bytes.len() / SMALLEST_RECORD {
                        return Err(cursor.malformed("it has too many globals for its size"));
                    }
                }
            }
        }
    }

    let mut symbols = Vec::new();
    let mut space = largest;
    for (wanted, visibility) in KINDS {
        for (_, record) in records.iter().filter(|(kind, _)| *kind == wanted) {
            let (Some(&own), Some(&linkage)) = (record.get(OWN_FIELD), record.get(LINKAGE_FIELD)) else {
                continue;
            };
            // Of a function whether it is only declared; of a variable the number of its initial value, or 0
            // without one.
            let declared = match wanted {
                FUNCTION => own != 0,
                VARIABLE => own == 0,
                _ => false,
            };
            let name = usize::try_from(record[0])
                .ok()
                .zip(usize::try_from(record[1]).ok());
            let name = name.and_then(|(start, size)| names.get(start..start.checked_add(size)?));
            let name = name.unwrap_or_default();
            // LLVM's own globals are no symbols.
            if LOCAL.contains(&linkage) || name.is_empty() || name.starts_with(b"llvm.") {
                continue;
            }
            // Globals of several modules share names, but not without end.
            let left = space.checked_sub(name.len());
            space = left.ok_or_else(|| cursor.malformed("its names are too long for it"))?;
            symbols.push(LinkerSymbol {
                name: name.to_vec(),
                undefined: declared || matches!(linkage, EXTERNAL_WEAK | AVAILABLE_EXTERNALLY),
                weak: linkage == EXTERNAL_WEAK,
                hidden: record.get(visibility) == Some(&HIDDEN),
            });
        }
    }
    Ok(symbols)
}
