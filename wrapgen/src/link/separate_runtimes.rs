//! Warns of code for NVIDIA GPUs that cannot work: functions of one file, called from another, that use a
//! device runtime of their own.
//!
//! Without link-time optimisation, Clang links the device runtime into each file and hides it there, so each
//! file has its own state of a team, in shared memory. A kernel initialises that of its own file. A function
//! of another file that needs the state (for a local array, for a parallel region) reads what nobody has
//! written; where its file has no kernel at all, the optimiser sees that, and makes of the whole function an
//! instruction that ends the thread.

use std::collections::HashMap;

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolKind};

use offloom_abi::names::is_team_state;

use super::group::Group;
use crate::inputs::{EmbeddedMember, is_bitcode};

/// How the names of sections begin that lie in the memory of a team.
const SHARED_SECTIONS: [&[u8]; 2] = [b".nv.shared", b".nv_debug.shared"];

/// What every function's code is in: this and its name.
const CODE_SECTION: &[u8] = b".text.";

/// The instruction that ends the thread, unconditionally, in the lowest bytes of the 16 that each has since
/// sm_70.
const EXIT: [u8; 2] = [0x4d, 0x79];

/// A warning for the first function of each file that another file calls and that uses a runtime of its own.
/// What is no ELF file has none.
pub(super) fn warnings(groups: &[Group<'_>]) -> Vec<String> {
    let gpu = groups
        .iter()
        .filter(|group| group.target.triple().is_nvidia_gpu());
    gpu.flat_map(|group| warnings_of(&group.members)).collect()
}

fn warnings_of(members: &[EmbeddedMember<'_>]) -> Vec<String> {
    let files: Vec<_> = members
        .iter()
        .filter(|found| !is_bitcode(found.member.image()))
        .filter_map(|found| Some((found, object::File::parse(found.member.image()).ok()?)))
        .collect();
    let mut callers = HashMap::new();
    for (found, file) in &files {
        for symbol in file.symbols().filter(ObjectSymbol::is_undefined) {
            callers
                .entry(symbol.name_bytes().unwrap_or_default())
                .or_insert(*found);
        }
    }
    files
        .iter()
        .filter_map(|(found, file)| {
            let (function, caller) = file.symbols().find_map(|symbol| {
                let name = symbol.name_bytes().ok()?;
                let caller = callers.get(name)?;
                let is_function = symbol.is_global() && symbol.kind() == SymbolKind::Text;
                (is_function && !symbol.is_undefined() && uses_own_runtime(file, name)).then_some((name, caller))
            })?;
            Some(format!(
                "wrapgen: warning: '{}' calls '{}' of '{}', which uses an OpenMP runtime of its own file, and no kernel initialises that: results \
                 will be wrong, or the program will crash: compile all files with -foffload-lto",
                caller.origin,
                String::from_utf8_lossy(function),
                found.origin
            ))
        })
        .collect()
}

/// Whether the function's code ends the thread at once, or refers to the runtime's state in its own file.
fn uses_own_runtime(file: &object::File<'_>, function: &[u8]) -> bool {
    let name = [CODE_SECTION, function].concat();
    let Some(code) = file.section_by_name_bytes(&name) else {
        return false;
    };
    if code.data().is_ok_and(|code| code.starts_with(&EXIT)) {
        return true;
    }
    code.relocations().any(|(_, relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return false;
        };
        let Ok(symbol) = file.symbol_by_index(index) else {
            return false;
        };
        let variable = symbol.name_bytes().unwrap_or_default();
        is_team_state(variable)
            && symbol.is_local()
            && symbol.section_index().is_some_and(|index| is_shared(file, index))
    })
}

fn is_shared(file: &object::File<'_>, index: SectionIndex) -> bool {
    let section = file.section_by_index(index);
    let name = section
        .as_ref()
        .map(|section| section.name_bytes().unwrap_or_default());
    name.is_ok_and(|name| SHARED_SECTIONS.iter().any(|start| name.starts_with(start)))
}
