//! Phase 7 of a `-r` link: the merged object gets an entry table of its own, so that it can be linked like any other.
//!
//! The object registers its own images with its own entries. Without a unique section name the final link would merge its
//! entries with those of other objects, and every object would register all of them; with shared region ids, two objects that
//! have a kernel of the same name would both run the one that was registered first. So both get names that belong to this
//! object alone. Device code goes: the images hold it now, and a second offload link must not link it again.

mod edited_object;

use std::path::{Path, PathBuf};

use offloom_abi::kernel_name::kernel_of_region_id;
use offloom_abi::{entry, names};

use self::edited_object::{EditedObject, Edits};
use super::command_line::CommandLine;
use super::host_link;
use super::work_folder::WorkFolder;
use crate::LLVM;
use crate::error::Result;
use crate::inputs::InputFile;
use crate::output::OutputFile;
use crate::process::Runner;

/// Runs the host linker with `added` and writes the object.
///
/// # Errors
/// The host linker fails, or the object cannot be written; there is no output then.
pub fn link(line: &CommandLine, added: &[PathBuf], folder: &WorkFolder, runner: Runner) -> Result<()> {
    let merged = folder.merged_object();
    runner.run(&mut host_link::command_writing(line, added, &merged)?)?;
    match runner.dry_run {
        true => Ok(()),
        false => make_independent(&merged, &line.output()),
    }
}

fn make_independent(merged: &Path, output: &Path) -> Result<()> {
    let input = InputFile::open(merged)?;
    // The same object gets the same names in every run and on every machine.
    let hash = blake3::hash(input.bytes()).to_hex();
    let suffix = &hash[..16];
    let section = entry::section(LLVM);
    let relocations = format!(".rela{section}");
    let bounds = [entry::start_symbol(LLVM), entry::stop_symbol(LLVM)];
    let renamed = |name: &str| Some(format!("{name}_{suffix}"));
    let edits = Edits {
        remove_section: &|name| name == names::OFFLOADING_SECTION,
        rename_section: &|name| {
            let is_table = name == section || name == relocations;
            is_table.then(|| renamed(name)).flatten()
        },
        rename_symbol: &|name| {
            let is_own = bounds.contains(&name) || kernel_of_region_id(name).is_some();
            is_own.then(|| renamed(name)).flatten()
        },
    };
    let object = EditedObject::new(input.bytes(), &edits)
        .map_err(|malformed| malformed.in_input(&merged.display()))?;
    let mut file = OutputFile::create(output)?;
    object.write(&mut file)?;
    file.commit()
}
