//! Tells which archive members the host linker takes, by the symbols that objects define and lack.

use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use super::archive_rules::{Content, Object, Rules, Unit, taken_members};
use super::host_command::{HostCommand, Role};
use super::host_link::{is_gold, is_lld, is_mold};
use super::scan::{HostInputs, MetFile};
use super::symbol_names::SymbolNames;
use crate::error::Result;
use crate::inputs::{InputFile, InputKind, Origin};

/// The archive members that the host linker takes, found out when somebody asks.
#[derive(Debug)]
pub struct HostSymbols<'a> {
    host: &'a HostCommand,
    inputs: &'a HostInputs,
    relocatable: bool,
    taken: OnceCell<TakenMembers<'a>>,
}

#[derive(Debug)]
enum TakenMembers<'a> {
    /// It may be any: options or linker scripts rename symbols or ask for them in ways of their own, or host
    /// code is bitcode, whose assembly may name symbols.
    Any,
    /// These.
    Known(HashSet<Origin<'a>>),
}

impl<'a> HostSymbols<'a> {
    /// Those of a host link with the files `inputs`; `relocatable` says whether it makes an object to be
    /// linked again.
    pub fn new(host: &'a HostCommand, inputs: &'a HostInputs, relocatable: bool) -> Self {
        Self {
            host,
            inputs,
            relocatable,
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
        let changes_symbols = self.host.roles().any(|role| *role == Role::ChangesSymbols);
        if changes_symbols || self.inputs.scripts_do_more {
            return Ok(TakenMembers::Any);
        }
        let mut files = Vec::new();
        for input in &self.inputs.files {
            let mut objects = Vec::new();
            for part in input.file().parts()? {
                match part.kind {
                    InputKind::Bitcode => return Ok(TakenMembers::Any),
                    InputKind::Object => objects.push(Object {
                        origin: part.origin,
                        names: SymbolNames::of_object(part.bytes),
                    }),
                    _ => {}
                }
            }
            files.push(objects);
        }
        let mut libraries = HashMap::new();
        for met in &self.inputs.met {
            if let MetFile::SharedLibrary { path, .. } = &met.file
                && let Entry::Vacant(library) = libraries.entry(path)
            {
                library.insert(InputFile::open(path)?);
            }
        }
        let names = libraries.iter().map(|(path, library)| {
            let names = SymbolNames::of_shared_library(library.bytes());
            (*path, Rc::new(names))
        });
        let names: HashMap<_, _> = names.collect();
        let units: Vec<_> = self
            .inputs
            .met
            .iter()
            .map(|met| Unit {
                content: match &met.file {
                    MetFile::File { number, lazy } => {
                        let objects = files.get(*number).map_or(&[][..], Vec::as_slice);
                        match lazy {
                            true => Content::Archive(objects),
                            false => Content::Objects(objects),
                        }
                    }
                    MetFile::SharedLibrary { path, as_needed } => Content::SharedLibrary {
                        names: names.get(path).cloned().unwrap_or_default(),
                        as_needed: *as_needed,
                    },
                },
                group: met.group,
            })
            .collect();
        let wanted = self.host.roles().filter_map(|role| match role {
            Role::Undefined(name) => Some(name.as_encoded_bytes()),
            _ => None,
        });
        let wanted = wanted.chain(self.entry());
        Ok(TakenMembers::Known(taken_members(self.rules(), wanted, &units)))
    }

    /// Where what is linked starts, if the linker looks for that.
    fn entry(&self) -> Option<&[u8]> {
        let given = self.host.roles().rev().find_map(|role| match role {
            Role::Entry(name) => Some(name.as_encoded_bytes()),
            _ => None,
        });
        let looks_for_start = match self.rules() {
            Rules::GnuLd => !self.relocatable && !self.makes_shared_library(),
            Rules::Gold | Rules::AnyOrder { .. } => !self.relocatable,
            Rules::ByRank => true,
        };
        given.or(looks_for_start.then_some(b"_start"))
    }

    fn makes_shared_library(&self) -> bool {
        let mut words = self.host.arguments.iter().flat_map(|argument| &argument.words);
        words.any(|word| word == "-shared" || word == "--shared" || word == "-Bshareable")
    }

    /// Those of the host linker: GNU ld's, if it is another one than we know.
    fn rules(&self) -> Rules {
        let is = |known: fn(&Path) -> bool| self.host.linker.as_deref().is_some_and(known);
        if is(is_mold) {
            Rules::ByRank
        } else if is(is_lld) {
            Rules::AnyOrder {
                common_is_lacking: self.fortran_common(),
            }
        } else if is(is_gold) {
            Rules::Gold
        } else {
            Rules::GnuLd
        }
    }

    /// Whether lld is told to look in archives for variables that are common.
    fn fortran_common(&self) -> bool {
        let words = self.host.arguments.iter().flat_map(|argument| &argument.words);
        words.rev().find_map(|word| match word.to_str() {
            Some("--fortran-common" | "-fortran-common") => Some(true),
            Some("--no-fortran-common" | "-no-fortran-common") => Some(false),
            _ => None,
        }) == Some(true)
    }
}
