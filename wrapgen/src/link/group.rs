//! Phase 2: sorts the device code by target and decides which archive members are linked.
//!
//! The rules are those of the stock linker wrapper of each release.

use std::collections::HashMap;

use offloom_abi::{LlvmVersion, OffloadKind};

use super::device_symbols::device_symbols;
use super::scan::DeviceCode;
use super::target::Target;
use crate::LLVM;
use crate::error::{Error, Result};
use crate::inputs::EmbeddedMember;
use crate::steps::{Phase, Step};

/// Device code that is linked to one image.
#[derive(Debug)]
pub struct Group<'a> {
    /// What the image will be for.
    pub target: Target,
    /// The code, in the order of the inputs.
    pub members: Vec<EmbeddedMember<'a>>,
    symbols: SymbolTable,
}

/// The programming models whose device code can be linked, in the order in which their images are wrapped.
pub(super) const LINKED_KINDS: [OffloadKind; 3] = [OffloadKind::OpenMp, OffloadKind::Cuda, OffloadKind::Hip];

/// Sorts device code by target. `always_extract` are the processors of `--should-extract=`.
///
/// # Errors
/// A member is for a programming model that cannot be linked, or it is a malformed object.
pub fn group<'a>(code: &[DeviceCode<'a>], always_extract: &[String]) -> Result<Vec<Group<'a>>> {
    for code in code {
        check_kind(code)?;
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    for code in code.iter().filter(|code| !code.lazy) {
        let target = Target::of(&code.found);
        if !groups.iter().any(|group| group.target == target) {
            groups.push(Group::new(target.clone()));
        }
        for group in groups.iter_mut().filter(|group| group.target.takes(&target)) {
            group.symbols.add(&code.found, false)?;
            group.members.push(code.found);
        }
    }
    let lazy: Vec<_> = code
        .iter()
        .filter(|code| code.lazy)
        .map(|code| code.found)
        .collect();
    for member in &lazy {
        let target = Target::of(member);
        if always_extract.contains(&target.arch) && !groups.iter().any(|group| group.target == target) {
            groups.push(Group::new(target));
        }
    }
    for group in &mut groups {
        group.add_lazy(&lazy)?;
    }
    // Libraries that belong to no programming model make no image of their own.
    groups.retain(|group| group.kinds().next().is_some());
    // The order in which the stock wrapper presents images to the runtime.
    groups.sort_by(|a, b| (&b.target.triple, &b.target.arch).cmp(&(&a.target.triple, &a.target.arch)));
    Ok(groups)
}

fn check_kind(code: &DeviceCode<'_>) -> Result<()> {
    let found = &code.found;
    match found.member.offload_kind() {
        // A library of device code, for any programming model.
        Some(OffloadKind::None) if code.lazy => Ok(()),
        Some(kind) if LINKED_KINDS.contains(&kind) => Ok(()),
        kind => Err(Error::OffloadKind {
            input: found.origin.to_string(),
            kind: match kind {
                Some(kind) => kind.name().to_owned(),
                None => format!("number {}", found.member.offload_kind_number()),
            },
        }),
    }
}

impl<'a> Group<'a> {
    /// A step of the link that works on this group.
    pub fn step<'s>(&self, phase: Phase) -> Step<'s> {
        Step::new(phase, &self.target.triple, self.target.image_arch())
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            members: Vec::new(),
            symbols: SymbolTable::default(),
        }
    }

    /// Takes archive members as long as one is needed; each that is taken can make others needed.
    fn add_lazy(&mut self, lazy: &[EmbeddedMember<'a>]) -> Result<()> {
        let mut waiting: Vec<_> = lazy
            .iter()
            .copied()
            .filter(|found| self.target.takes(&Target::of(found)))
            .collect();
        loop {
            let before = waiting.len();
            let mut left = Vec::new();
            for found in waiting {
                if self.symbols.add(&found, true)? {
                    self.members.push(found);
                } else {
                    left.push(found);
                }
            }
            if left.is_empty() || left.len() == before {
                return Ok(());
            }
            waiting = left;
        }
    }

    /// The programming models that its image is registered with: those of its members.
    pub fn kinds(&self) -> impl Iterator<Item = OffloadKind> {
        LINKED_KINDS.into_iter().filter(|kind| {
            let mut members = self.members.iter();
            members.any(|found| found.member.offload_kind() == Some(*kind))
        })
    }
}

/// The symbols of a group's members, as far as they decide about archive members.
#[derive(Debug, Default)]
struct SymbolTable {
    symbols: HashMap<Vec<u8>, SymbolState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SymbolState {
    Defined,
    Undefined { weak: bool },
}

impl SymbolTable {
    /// Adds the symbols of a member; of a lazy one only if it is needed. Returns whether it was added.
    ///
    /// A member is needed if it defines what is undefined, or something new that is not hidden: the host may refer to that.
    /// LLVM 22 takes every member.
    fn add(&mut self, found: &EmbeddedMember<'_>, lazy: bool) -> Result<bool> {
        if LLVM == LlvmVersion::V22 {
            return Ok(true);
        }
        let for_host = found.member.offload_kind() != Some(OffloadKind::None);
        let mut needed = !lazy;
        let mut changes = Vec::new();
        for symbol in device_symbols(found)? {
            let known = self.symbols.get(&symbol.name).copied();
            match (symbol.undefined, known) {
                (true, None) => {
                    changes.push((symbol.name, SymbolState::Undefined { weak: symbol.weak }));
                }
                (true, Some(_)) | (false, Some(SymbolState::Defined)) => {}
                (false, _) => {
                    needed |=
                        known == Some(SymbolState::Undefined { weak: false }) || (for_host && !symbol.hidden);
                    changes.push((symbol.name, SymbolState::Defined));
                }
            }
        }
        if needed {
            self.symbols.extend(changes);
        }
        Ok(needed)
    }
}
