//! Phase 7 of a `-r` link: the merged object gets an entry table of its own, so that it can be linked like
//! any other.
//!
//! The object registers its own images with its own entries. Without a unique section name the final link
//! would merge its entries with those of other objects, and every object would register all of them; with
//! shared region ids, two objects that have a kernel of the same name would both run the one that was
//! registered first. So both get names that belong to this object alone. Device code goes: the images hold it
//! now, and a second offload link must not link it again.

mod edited_object;

use std::path::Path;

use offloom_abi::kernel_name::kernel_of_region_id;
use offloom_abi::{entry, names};

use self::edited_object::{EditedObject, Edits};
use super::link_step::LinkStep;
use crate::LLVM;
use crate::error::Result;
use crate::inputs::InputFile;
use crate::output::OutputFile;
use crate::process::Runner;

/// Makes the object `output` of what the host linker merged.
///
/// # Errors
/// The merged object cannot be read, or the output cannot be written; there is no output then.
pub fn finish(merged: &Path, output: &Path, runner: Runner) -> Result<()> {
    if runner.shows_commands() {
        runner.print(&LinkStep::command("make-independent", [merged, output])?);
    }
    match runner.dry_run {
        true => Ok(()),
        false => make_independent(merged, output),
    }
}

/// As [`finish`], without a word.
///
/// # Errors
/// As [`finish`].
pub fn make_independent(merged: &Path, output: &Path) -> Result<()> {
    let input = InputFile::open(merged)?;
    // The same object gets the same names in every run and on every machine.
    let hash = blake3::hash(input.bytes()).to_hex();
    let suffix = &hash[..16];
    let tables = entry::sections(LLVM);
    let renamed = |name: &str| Some(format!("{name}_{suffix}"));
    let edits = Edits {
        remove_section: &|name| name == names::OFFLOADING_SECTION,
        rename_section: &|name| {
            let table = name.strip_prefix(".rela").unwrap_or(name);
            let is_table = tables.contains(&table);
            is_table.then(|| renamed(name)).flatten()
        },
        rename_symbol: &|name, is_defined| {
            let bound_of = name
                .strip_prefix("__start_")
                .or_else(|| name.strip_prefix("__stop_"));
            let is_bound = bound_of.is_some_and(|table| tables.contains(&table));
            // The id of a region that another object has stays: that object is linked later.
            let is_own = is_bound || (is_defined && kernel_of_region_id(name).is_some());
            is_own.then(|| renamed(name)).flatten()
        },
    };
    let object = EditedObject::new(input.bytes(), &edits)
        .map_err(|malformed| malformed.in_input(&merged.display()))?;
    let mut file = OutputFile::create(output)?;
    object.write(&mut file)?;
    file.commit()
}
