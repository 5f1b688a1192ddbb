//! Phase 5: checks that each device image has what the host objects' offload entries ask for.
//!
//! A program whose images lack a symbol of its entries links, and stops when it reaches the region: the
//! device compile saw another source, or other macros, than the host compile. An object's entries must be in
//! each image that its own device code went into; those of an object without device code, in some image. What
//! an archive member asks for counts only if the host linker takes the member.

use std::collections::{HashMap, HashSet};

use object::{Object, ObjectSymbol, SymbolKind};
use offloom_abi::OffloadKind;
use offloom_abi::device_image::REGISTER_LIB;
use offloom_abi::entry::EntryKind;
use offloom_abi::kernel_name::KernelName;
use offloom_text_table::counted;

use super::embedded_files::ImageFile;
use super::group::Group;
use super::host_symbols::HostSymbols;
use super::scan::ScannedInput;
use super::work_folder::WorkFolder;
use super::wrap_images::LinkedImage;
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, HostEntry, InputKind, InputPart, Origin};

/// Checks the entries of `inputs` against the images, one for each group.
///
/// # Errors
/// An image lacks a symbol, or has it with another type or size; or a host object or an image is malformed.
pub fn check_entries(
    inputs: &[ScannedInput],
    host: &HostSymbols<'_>,
    groups: &[Group<'_>],
    images: &[LinkedImage],
    folder: &WorkFolder,
) -> Result<()> {
    check_release(inputs, host)?;
    let mut checks = Vec::new();
    let files: Vec<_> = images
        .iter()
        .map(|image| ImageFile::open(&image.path, folder))
        .collect::<Result<_>>()?;
    for (group, file) in groups.iter().zip(&files) {
        // An image that is no ELF file, such as PTX, is compiled when it is loaded: its symbols are not known
        // yet.
        if let Ok(symbols) = ImageSymbols::read(file.bytes()) {
            checks.push(ImageCheck {
                group,
                symbols,
                contributors: group.members.iter().map(|member| member.origin).collect(),
            });
        }
    }
    if checks.is_empty() {
        return Ok(());
    }
    let all_known = checks.len() == groups.len();
    let program = HostProgram { inputs, host };
    let mut from_archives = Vec::new();
    for input in inputs {
        for part in input.file().parts()? {
            for entry in part.offload_entries()? {
                match mismatch(&entry, &part, &program, &checks, all_known) {
                    Some(found) if input.is_lazy() => from_archives.push(found),
                    Some(found) => return Err(found.into_error()),
                    None => {}
                }
            }
        }
    }
    for found in from_archives {
        if host.is_known_to_take(&found.entry.origin)? {
            return Err(found.into_error());
        }
    }
    Ok(())
}

/// Checks that no object was compiled by another LLVM: one whose entries stand in another section and have
/// another layout, or a later one, whose kernels may be called in another way.
fn check_release(inputs: &[ScannedInput], host: &HostSymbols<'_>) -> Result<()> {
    for input in inputs {
        for part in input.file().parts()? {
            let has_other_entries = part.has_entries_of_other_llvm();
            if !has_other_entries && !has_later_code(&part)? {
                continue;
            }
            if !input.is_lazy() || host.is_known_to_take(&part.origin)? {
                let input = part.origin.to_string();
                return Err(if has_other_entries {
                    Error::OtherLlvmEntries { input }
                } else {
                    Error::LaterDeviceCode { input }
                });
            }
        }
    }
    Ok(())
}

/// Whether a part has device code in a container that this LLVM's tools do not know.
fn has_later_code(part: &InputPart<'_>) -> Result<bool> {
    let code = part.embedded()?;
    Ok(code.iter().any(EmbeddedMember::is_of_later_llvm))
}

/// A warning if an object has entries of OpenMP, and nothing registers them: there is no device code at all,
/// and no object that was made by `wrapgen wrap` or `-r`.
pub fn warning_of_no_device_code(inputs: &[ScannedInput]) -> Option<String> {
    // What is malformed is for the host linker to say: nothing of its inputs is used here.
    let parts = || {
        inputs
            .iter()
            .filter(|input| !input.is_lazy())
            .flat_map(|input| input.file().parts().unwrap_or_default())
    };
    let entry = parts().find_map(|part| {
        let entries = part.offload_entries().ok()?;
        entries.into_iter().find(|entry| {
            let kind = entry.record.entry_kind();
            entry.record.kind == OffloadKind::OpenMp
                && matches!(kind, EntryKind::Kernel | EntryKind::Variable)
        })
    })?;
    if parts().any(|part| refers_to(part.bytes, REGISTER_LIB)) {
        return None;
    }
    Some(format!(
        "wrapgen: warning: '{}' has an offload entry for '{}', but no input has device code: nothing is registered with libomptarget, and \
         the program can only run with OMP_TARGET_OFFLOAD=disabled: pack the device code with `wrapgen pack` and embed it",
        entry.origin, entry.name
    ))
}

/// Whether the object `bytes` uses a symbol of other files.
fn refers_to(bytes: &[u8], name: &str) -> bool {
    let uses = |symbol: object::Symbol<'_, '_>| symbol.is_undefined() && symbol.name() == Ok(name);
    object::File::parse(bytes).is_ok_and(|file| file.symbols().any(uses))
}

/// An image and what went into it.
struct ImageCheck<'a> {
    group: &'a Group<'a>,
    symbols: ImageSymbols<'a>,
    contributors: HashSet<Origin<'a>>,
}

/// An entry that an image does not satisfy.
struct Mismatch<'a> {
    entry: HostEntry<'a>,
    group: &'a Group<'a>,
    problem: MismatchKind,
}

#[derive(Debug, Clone, Copy)]
enum MismatchKind {
    Missing,
    NotAFunction,
    NotAVariable,
    Size(u64),
}

/// The first image that must satisfy an entry of the host object `object`, a part of `program`, and does not.
fn mismatch<'a>(
    entry: &HostEntry<'a>,
    object: &InputPart<'_>,
    program: &HostProgram<'_, '_>,
    checks: &'a [ImageCheck<'a>],
    all_known: bool,
) -> Option<Mismatch<'a>> {
    let found = |check: &ImageCheck<'a>| {
        let problem = check.symbols.problem(entry)?;
        if matches!(problem, MismatchKind::Size(_)) && program.may_replace(object, entry.name) {
            return None;
        }
        Some(Mismatch {
            entry: *entry,
            group: check.group,
            problem,
        })
    };
    let mut own = checks
        .iter()
        .filter(|check| check.contributors.contains(&entry.origin))
        .peekable();
    if own.peek().is_some() {
        return own.find_map(found);
    }
    // Without device code of its own: the code may come from another file, for any target.
    let problems: Option<Vec<_>> = checks.iter().map(found).collect();
    problems
        .filter(|_| all_known)
        .and_then(|problems| problems.into_iter().next())
}

/// What the host linker makes a program of.
struct HostProgram<'p, 'h> {
    inputs: &'p [ScannedInput],
    host: &'p HostSymbols<'h>,
}

impl HostProgram<'_, '_> {
    /// Whether the host linker may take another object's symbol of this name, with the size of that, for the
    /// one of `object`: that is only referred to there, or is weak or common, and another object defines it.
    fn may_replace(&self, object: &InputPart<'_>, name: &str) -> bool {
        match global(object.bytes, name) {
            Some(Global::Undefined) => true,
            Some(Global::Replaceable) => self.is_defined_outside(&object.origin, name),
            Some(Global::Strong) | None => false,
        }
    }

    /// Whether an object besides `origin` may define a name. What is wrong with an input is for the host
    /// linker to say.
    fn is_defined_outside(&self, origin: &Origin<'_>, name: &str) -> bool {
        self.inputs.iter().any(|input| {
            let is_linked =
                |part: &InputPart<'_>| !input.is_lazy() || self.host.takes(&part.origin).unwrap_or(true);
            let parts = input.file().parts().unwrap_or_default();
            parts.iter().filter(|part| part.origin != *origin).any(|part| {
                let defines = match part.kind {
                    InputKind::Bitcode => true,
                    _ => matches!(
                        global(part.bytes, name),
                        Some(Global::Replaceable | Global::Strong)
                    ),
                };
                defines && is_linked(part)
            })
        })
    }
}

/// What a symbol is to other objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Global {
    Undefined,
    /// Weak or common.
    Replaceable,
    Strong,
}

/// What a name is in an object; `None` if other objects do not see it there.
fn global(object: &[u8], name: &str) -> Option<Global> {
    let file = object::File::parse(object).ok()?;
    let mut symbols = file.symbols().filter(|symbol| !symbol.is_local());
    let symbol = symbols.find(|symbol| symbol.name() == Ok(name))?;
    Some(match () {
        () if symbol.is_undefined() => Global::Undefined,
        () if symbol.is_weak() || symbol.is_common() => Global::Replaceable,
        () => Global::Strong,
    })
}

/// What an image offers to libomptarget.
struct ImageSymbols<'a> {
    defined: HashMap<&'a str, (SymbolKind, u64)>,
    /// Sanitizers enlarge variables of the device code that they instrument.
    sanitized: bool,
}

impl<'a> ImageSymbols<'a> {
    fn read(image: &'a [u8]) -> Result<Self, object::Error> {
        let file = object::File::parse(image)?;
        let mut symbols = Self {
            defined: HashMap::new(),
            sanitized: false,
        };
        // Shared objects are searched by their dynamic symbols; a cubin has none.
        let dynamic = file.dynamic_symbols();
        let all = file.symbols().filter(|_| file.dynamic_symbol_table().is_none());
        for symbol in dynamic.chain(all) {
            let name = symbol.name()?;
            // The runtime of a sanitizer may be in the image, too.
            symbols.sanitized |= name.starts_with("__asan_") || name.starts_with("__hwasan_");
            if !symbol.is_undefined() && symbol.is_global() {
                symbols.defined.insert(name, (symbol.kind(), symbol.size()));
            }
        }
        Ok(symbols)
    }

    fn problem(&self, entry: &HostEntry<'_>) -> Option<MismatchKind> {
        if entry.record.kind != OffloadKind::OpenMp {
            return None;
        }
        let kind = entry.record.entry_kind();
        let (is_function, size) = match self.defined.get(entry.name) {
            Some(&(kind, size)) => (kind == SymbolKind::Text, size),
            None if matches!(kind, EntryKind::Kernel | EntryKind::Variable) => {
                return Some(MismatchKind::Missing);
            }
            None => return None,
        };
        let is_kernel = entry.has_region_id || KernelName::parse(entry.name).is_some();
        let other_size = match size < entry.record.size {
            true => size != 0,
            false => size > entry.record.size && !self.sanitized,
        };
        match kind {
            EntryKind::Kernel if is_kernel && !is_function => Some(MismatchKind::NotAFunction),
            EntryKind::Variable if is_function => Some(MismatchKind::NotAVariable),
            EntryKind::Variable if other_size => Some(MismatchKind::Size(size)),
            _ => None,
        }
    }
}

impl Mismatch<'_> {
    fn into_error(self) -> Error {
        let HostEntry {
            name, record, origin, ..
        } = self.entry;
        let defining = self.group.members.iter().find(|member| defines(member, name));
        let device = match defining {
            Some(member) => format!("the device code in '{}'", member.origin),
            None => format!("the device code of {}", self.names()),
        };
        let what = match record.entry_kind() {
            EntryKind::Variable => "variable",
            _ => "target region",
        };
        let problem = match (self.problem, defining) {
            (MismatchKind::Missing, None) => format!("is missing in {device}"),
            (MismatchKind::Missing, Some(_)) => {
                format!("{device} has, but does not export from the device image")
            }
            (MismatchKind::NotAFunction, _) => format!("is a variable in {device}"),
            (MismatchKind::NotAVariable, _) => format!("is a function in {device}"),
            (MismatchKind::Size(size), _) => {
                let bytes = |size| counted(size, "byte", "bytes");
                format!(
                    "has {} there, but {} in {device}",
                    bytes(record.size),
                    bytes(size)
                )
            }
        };
        Error::OffloadEntry {
            input: origin.to_string(),
            what,
            name: name.to_owned(),
            problem,
            triple: self.group.target.triple.clone(),
        }
    }

    /// The files that the image was linked from.
    fn names(&self) -> String {
        const SHOWN: usize = 3;
        let members = &self.group.members;
        let names: Vec<_> = members
            .iter()
            .take(SHOWN)
            .map(|member| format!("'{}'", member.origin))
            .collect();
        match members.len().checked_sub(SHOWN) {
            None | Some(0) => names.join(", "),
            Some(more) => format!("{} and {more} more", names.join(", ")),
        }
    }
}

/// Whether a member of the device link defines `name`; unknown, so no, of bitcode.
fn defines(member: &EmbeddedMember<'_>, name: &str) -> bool {
    object::File::parse(member.member.image()).is_ok_and(|file| {
        file.symbols()
            .any(|symbol| !symbol.is_undefined() && symbol.name() == Ok(name))
    })
}
