//! Phase 2: sorts the device code by target and decides which archive members are linked.
//!
//! Targets are sorted by the rules of LLVM's linker wrapper. Of archives, the device code of each member is
//! linked that the host linker takes, since the host code will ask for its kernels and variables, and of each
//! that other device code needs. LLVM's wrappers take more: 19 every member that defines a symbol for others,
//! 22 every member. They take none for targets that only archives have code for, and the program ends at its
//! first region.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use offloom_abi::OffloadKind;
use offloom_abi::offload_binary::ImageKind;

use super::device_symbols::device_symbols;
use super::host_symbols::HostSymbols;
use super::plan::device_options::DeviceOptions;
use super::scan::DeviceCode;
use super::target::{DeviceLinker, Target};
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputKind, LinkerSymbol, is_bitcode};
use crate::steps::{Phase, Step};

/// Device code that is linked to one image.
#[derive(Debug)]
pub struct Group<'a> {
    /// What the image will be for.
    pub target: Target,
    /// The code, in the order of the inputs.
    pub members: Vec<EmbeddedMember<'a>>,
}

/// The programming models whose device code can be linked, in the order in which their images are wrapped.
pub(super) const LINKED_KINDS: [OffloadKind; 3] = [OffloadKind::OpenMp, OffloadKind::Cuda, OffloadKind::Hip];

/// Sorts device code by target. `host` tells which archive members the host linker takes, `always_extract`
/// are the processors of `--should-extract=`.
///
/// # Errors
/// A member is for a programming model that cannot be linked, or it is a malformed object.
pub fn group<'a>(
    code: &[DeviceCode<'a>],
    host: &HostSymbols<'_>,
    always_extract: &[String],
) -> Result<Vec<Group<'a>>> {
    let mut linked = Vec::new();
    for code in code {
        match check_kind(code) {
            Ok(()) => linked.push(code),
            Err(error) if !code.lazy || host.is_known_to_take(&code.found.origin)? => return Err(error),
            // What the host linker leaves alone may be anything.
            Err(_) => {}
        }
    }
    let (lazy, eager): (Vec<&DeviceCode<'a>>, Vec<_>) = linked.into_iter().partition(|code| code.lazy);
    let lazy: Vec<_> = lazy.into_iter().map(|code| code.found).collect();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for code in eager {
        let target = Target::of(&code.found);
        if !groups.iter().any(|group| group.target == target) {
            groups.push(Group::new(target.clone()));
        }
        for group in groups.iter_mut().filter(|group| group.target.takes(&target)) {
            group.members.push(code.found);
        }
    }
    for member in &lazy {
        let target = Target::of(member);
        if always_extract.contains(&target.arch) && !groups.iter().any(|group| group.target == target) {
            groups.push(Group::new(target));
        }
    }
    for target in targets_without_image(&lazy, &groups, host)? {
        if !groups.iter().any(|group| group.target.takes(&target)) {
            groups.push(Group::new(target));
        }
    }
    for group in &mut groups {
        group.add_lazy(&lazy, host)?;
    }
    // Libraries that belong to no programming model make no image of their own.
    groups.retain(|group| group.kinds().next().is_some());
    // The order in which the stock wrapper presents images to the runtime.
    groups.sort_by(|a, b| (&b.target.triple, &b.target.arch).cmp(&(&a.target.triple, &a.target.arch)));
    Ok(groups)
}

/// The targets of archive members that the host linker takes, and of whose device code nothing goes into the
/// image of any group. Of a library that is for the targets of the program and for others, those others are
/// none.
///
/// Nor are those of members of which nothing is known: LLVM's own library of device code for GPUs is on the
/// command line of every program.
///
/// The most particular targets come first: code that fits several goes into their images and needs none of
/// its own.
fn targets_without_image(
    lazy: &[EmbeddedMember<'_>],
    groups: &[Group<'_>],
    host: &HostSymbols<'_>,
) -> Result<Vec<Target>> {
    let (fitting, others): (Vec<&EmbeddedMember<'_>>, Vec<_>) = lazy.iter().partition(|found| {
        let target = Target::of(found);
        groups.iter().any(|group| group.target.takes(&target))
    });
    let mut targets = Vec::new();
    // What the host linker takes is asked for only where it matters: to find that out takes a look at every
    // symbol.
    if others.is_empty() {
        return Ok(targets);
    }
    let with_image: HashSet<_> = fitting.iter().map(|found| found.origin).collect();
    for found in others {
        let target = Target::of(found);
        if found.member.offload_kind() != Some(OffloadKind::None)
            && !with_image.contains(&found.origin)
            && !targets.contains(&target)
            && host.is_known_to_take(&found.origin)?
        {
            targets.push(target);
        }
    }
    targets.sort_by_key(|target| (target.is_for_any_processor(), Reverse(target.features().count())));
    Ok(targets)
}

/// A warning if several images fit the host's own processor: libomptarget loads one of them for it (seen with
/// 19 and 22), and ends the program at the first region that only another one has.
pub fn warning_of_rivals(groups: &[Group<'_>], host_triple: &str) -> Option<String> {
    let mut rivals = Vec::new();
    for group in groups.iter().filter(|group| group.target.is_host(host_triple)) {
        let is_openmp =
            |found: &&EmbeddedMember<'_>| found.member.offload_kind() == Some(OffloadKind::OpenMp);
        if let Some(found) = group.members.iter().find(is_openmp) {
            let Target { triple, arch } = &group.target;
            rivals.push(format!(
                "{triple} with '{arch}' as processor ('{}')",
                found.origin
            ));
        }
    }
    (rivals.len() > 1).then(|| {
        format!(
            "wrapgen: warning: more than one image is for the host's processor: {}; libomptarget loads one of them and fails at regions that \
             only another one has: compile all files with the same -fopenmp-targets= and -march=",
            rivals.join(", ")
        )
    })
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

/// Whether a member is assembly text: Clang packs what `-S` makes, by the name of the file.
pub fn is_assembly(found: &EmbeddedMember<'_>) -> bool {
    found.member.image_kind() == ImageKind::PTX && InputKind::of(found.member.image()) == InputKind::Unknown
}

impl<'a> Group<'a> {
    /// A step of the link that works on this group.
    pub fn step<'s>(&self, phase: Phase) -> Step<'s> {
        Step::new(phase, &self.target.triple, self.target.image_arch())
    }

    /// What links this group in a program for `host_triple`: the linker of its target, or one that knows the
    /// options for it.
    pub fn linker(&self, host_triple: &str, options: &DeviceOptions) -> DeviceLinker {
        match self.target.linker(host_triple) {
            DeviceLinker::HostLike if options.needs_clang() || self.has_assembly() => {
                DeviceLinker::HostLikeByClang
            }
            DeviceLinker::HostLike if options.linker_compiles() && self.has_bitcode() => {
                DeviceLinker::HostLikeWithBitcode
            }
            DeviceLinker::Amdgcn if options.needs_clang() => DeviceLinker::AmdgcnByClang,
            linker => linker,
        }
    }

    /// What to say when its link has failed, if it takes code for the same processor with other features: the
    /// same file's code may then be there several times.
    pub fn note_of_features(&self) -> Option<String> {
        let mut others: Vec<String> = Vec::new();
        for found in &self.members {
            let target = Target::of(found);
            let is_variant = target.arch != self.target.arch && target.processor() == self.target.processor();
            if is_variant && !others.contains(&target.arch) {
                others.push(target.arch);
            }
        }
        (!others.is_empty()).then(|| {
            format!(
                "wrapgen: note: the image for {own} takes the code for {others}, too, since features that only one of them names do not \
                 keep code apart: compile each file either for {own} or for processors with features",
                own = self.target.arch,
                others = others.join(" and ")
            )
        })
    }

    /// Whether some of its code is bitcode.
    pub fn has_bitcode(&self) -> bool {
        self.members.iter().any(|found| is_bitcode(found.member.image()))
    }

    /// The first of its code that is no bitcode.
    pub fn native_member(&self) -> Option<&EmbeddedMember<'a>> {
        self.members
            .iter()
            .find(|found| !is_bitcode(found.member.image()))
    }

    /// Whether some of its code is assembly text.
    fn has_assembly(&self) -> bool {
        self.members.iter().any(is_assembly)
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            members: Vec::new(),
        }
    }

    /// Takes the archive members that the host linker takes, and then further ones as long as one is needed;
    /// each that is taken can make others needed.
    fn add_lazy(&mut self, lazy: &[EmbeddedMember<'a>], host: &HostSymbols<'_>) -> Result<()> {
        let fitting: Vec<_> = lazy
            .iter()
            .filter(|found| self.target.takes(&Target::of(found)))
            .collect();
        let mut waiting = Vec::new();
        for &found in fitting {
            // Code that belongs to no programming model has no host code that could ask for it.
            if found.member.offload_kind() != Some(OffloadKind::None) && host.takes(&found.origin)? {
                self.members.push(found);
            } else {
                waiting.push((found, device_symbols(&found)?));
            }
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let mut symbols = SymbolTable::default();
        for found in &self.members {
            symbols.add(device_symbols(found)?);
        }
        loop {
            let before = waiting.len();
            let mut left = Vec::new();
            for (found, own) in waiting {
                if symbols.needs(&own) {
                    symbols.add(own);
                    self.members.push(found);
                } else {
                    left.push((found, own));
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
    Undefined,
}

impl SymbolTable {
    /// Adds the symbols of a member. A weak reference asks for nothing.
    fn add(&mut self, symbols: Vec<LinkerSymbol>) {
        for symbol in symbols {
            match symbol.undefined {
                true if symbol.weak => {}
                true => _ = self.symbols.entry(symbol.name).or_insert(SymbolState::Undefined),
                false => _ = self.symbols.insert(symbol.name, SymbolState::Defined),
            }
        }
    }

    /// Whether a member with these symbols defines one that is lacking.
    fn needs(&self, symbols: &[LinkerSymbol]) -> bool {
        let mut defined = symbols.iter().filter(|symbol| !symbol.undefined);
        defined.any(|symbol| self.symbols.get(&symbol.name) == Some(&SymbolState::Undefined))
    }
}
