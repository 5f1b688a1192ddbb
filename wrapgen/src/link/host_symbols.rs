//! Tells which archive members the host linker takes, by the symbols that objects define and lack.
//!
//! Where it cannot be told exactly, the answer has a member too many rather than one too few: definitions in
//! shared libraries do not count, and what shared libraries lack may be anywhere.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet, VecDeque};

use object::{Object, ObjectSymbol};

use super::host_command::{HostCommand, Role};
use super::host_link::is_lld;
use super::scan::HostInputs;
use crate::error::Result;
use crate::inputs::{InputFile, InputKind, InputPart, Origin};

/// The archive members that the host linker takes, found out when somebody asks.
#[derive(Debug)]
pub struct HostSymbols<'a> {
    host: &'a HostCommand,
    inputs: &'a HostInputs,
    taken: OnceCell<TakenMembers<'a>>,
}

#[derive(Debug)]
enum TakenMembers<'a> {
    /// It may be any: options rename symbols or ask for them by pattern, or host code is bitcode, whose
    /// assembly may name symbols.
    Any,
    /// These.
    Known(HashSet<Origin<'a>>),
}

impl<'a> HostSymbols<'a> {
    /// Those of a host link with the files `inputs`.
    pub fn new(host: &'a HostCommand, inputs: &'a HostInputs) -> Self {
        Self {
            host,
            inputs,
            taken: OnceCell::new(),
        }
    }

    /// Whether the host linker takes the archive member `origin`.
    ///
    /// # Errors
    /// An archive is malformed, or a shared library cannot be read.
    pub fn takes(&self, origin: &Origin<'_>) -> Result<bool> {
        Ok(match self.taken()? {
            TakenMembers::Any => true,
            TakenMembers::Known(members) => members.contains(origin),
        })
    }

    /// The same, but not of a member of which that cannot be told.
    ///
    /// # Errors
    /// As [`Self::takes`].
    pub fn is_known_to_take(&self, origin: &Origin<'_>) -> Result<bool> {
        Ok(match self.taken()? {
            TakenMembers::Any => false,
            TakenMembers::Known(members) => members.contains(origin),
        })
    }

    fn taken(&self) -> Result<&TakenMembers<'a>> {
        Ok(match self.taken.get() {
            Some(taken) => taken,
            None => {
                let found = self.find()?;
                self.taken.get_or_init(|| found)
            }
        })
    }

    fn find(&self) -> Result<TakenMembers<'a>> {
        if self.host.roles().any(|role| *role == Role::ChangesSymbols) {
            return Ok(TakenMembers::Any);
        }
        let mut resolution = Resolution::default();
        for role in self.host.roles() {
            if let Role::Undefined(name) = role {
                resolution.want(Cow::Borrowed(name.as_encoded_bytes()), 0);
            }
        }
        for library in &self.inputs.shared_libraries {
            let library = InputFile::open(library)?;
            let Ok(file) = object::File::parse(library.bytes()) else {
                continue;
            };
            let symbols = file.dynamic_symbols();
            for symbol in symbols.filter(|symbol| symbol.is_undefined() && !symbol.is_weak()) {
                if let Ok(name) = symbol.name_bytes() {
                    resolution.want(Cow::Owned(name.to_vec()), 0);
                }
            }
        }
        for (position, input) in self.inputs.files.iter().enumerate() {
            for part in input.file().parts()? {
                match part.kind {
                    InputKind::Bitcode => return Ok(TakenMembers::Any),
                    InputKind::Object if input.is_lazy() => resolution.add_lazy(&part, position),
                    InputKind::Object => resolution.add(&SymbolNames::read(&part), position),
                    _ => {}
                }
            }
        }
        let any_order = self.host.linker.as_deref().is_some_and(is_lld);
        Ok(TakenMembers::Known(resolution.take_members(any_order)))
    }
}

/// The names of an object's symbols that concern others.
#[derive(Debug, Default)]
struct SymbolNames<'a> {
    defined: Vec<&'a [u8]>,
    undefined: Vec<&'a [u8]>,
}

impl<'a> SymbolNames<'a> {
    /// Those of an object; none of a malformed one, which the host linker reports.
    fn read(part: &InputPart<'a>) -> Self {
        let mut names = Self::default();
        let Ok(file) = object::File::parse(part.bytes) else {
            return names;
        };
        for symbol in file.symbols().filter(|symbol| !symbol.is_local()) {
            let Ok(name) = symbol.name_bytes() else { continue };
            match symbol.is_undefined() {
                false => names.defined.push(name),
                // A weak reference takes no member out of an archive.
                true if !symbol.is_weak() => names.undefined.push(name),
                true => {}
            }
        }
        names
    }
}

/// A member of an archive, or an object that is linked like one.
#[derive(Debug)]
struct LazyMember<'a> {
    origin: Origin<'a>,
    position: usize,
    names: SymbolNames<'a>,
}

/// The state of a link. Positions are those of files on the command line.
#[derive(Debug, Default)]
struct Resolution<'a> {
    /// Names that a linked file lacks, or lacked, with where that file stands.
    wanted: VecDeque<(Cow<'a, [u8]>, usize)>,
    defined: HashSet<&'a [u8]>,
    lazy: Vec<LazyMember<'a>>,
    /// The members of `lazy` that define a name, in order.
    definers: HashMap<&'a [u8], Vec<usize>>,
}

impl<'a> Resolution<'a> {
    fn want(&mut self, name: Cow<'a, [u8]>, position: usize) {
        self.wanted.push_back((name, position));
    }

    fn add(&mut self, names: &SymbolNames<'a>, position: usize) {
        self.defined.extend(&names.defined);
        for &name in &names.undefined {
            self.want(Cow::Borrowed(name), position);
        }
    }

    fn add_lazy(&mut self, part: &InputPart<'a>, position: usize) {
        let names = SymbolNames::read(part);
        for &name in &names.defined {
            self.definers.entry(name).or_default().push(self.lazy.len());
        }
        self.lazy.push(LazyMember {
            origin: part.origin,
            position,
            names,
        });
    }

    /// Takes members as long as one is wanted. Of several that define a name the linker takes the first;
    /// other linkers than lld the first behind the file that lacks it, as far as there is one.
    fn take_members(mut self, any_order: bool) -> HashSet<Origin<'a>> {
        let mut taken = HashSet::new();
        while let Some((name, position)) = self.wanted.pop_front() {
            if self.defined.contains(&*name) {
                continue;
            }
            let Some(definers) = self.definers.get(&*name) else {
                continue;
            };
            let behind = |&&number: &&usize| any_order || self.lazy[number].position >= position;
            let found = definers.iter().find(behind).or(definers.first());
            let Some(member) = found.and_then(|&number| self.lazy.get_mut(number)) else {
                continue;
            };
            taken.insert(member.origin);
            let (names, position) = (std::mem::take(&mut member.names), member.position);
            self.add(&names, position);
        }
        taken
    }
}
