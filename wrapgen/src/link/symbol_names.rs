//! The names of a file's symbols that concern other files of the host link.

use std::borrow::Cow;

use object::elf::{STV_DEFAULT, VERSYM_HIDDEN};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

/// A symbol's name.
pub(super) type Name<'a> = Cow<'a, [u8]>;

/// What an object or a shared library defines for others, and what it lacks.
#[derive(Debug, Default)]
pub(super) struct SymbolNames<'a> {
    pub(super) definitions: Vec<Definition<'a>>,
    pub(super) references: Vec<Reference<'a>>,
}

/// A name that is defined.
#[derive(Debug)]
pub(super) struct Definition<'a> {
    pub(super) name: Name<'a>,
    pub(super) kind: DefinitionKind,
    /// Another definition counts in its place.
    pub(super) is_weak: bool,
}

/// A name that is to be defined elsewhere.
#[derive(Debug)]
pub(super) struct Reference<'a> {
    pub(super) name: Name<'a>,
    /// It may stay undefined, and takes no member out of an archive.
    pub(super) is_weak: bool,
    /// It has another visibility than the default, so a shared library cannot define it.
    pub(super) is_local: bool,
}

/// What linkers make a difference between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionKind {
    /// Memory that all files share, unless one defines the name with contents.
    Common,
    /// A variable that others cannot replace.
    StrongVariable,
    /// A function, or what others can replace.
    Other,
}

impl<'a> SymbolNames<'a> {
    /// Those of an object; none of a malformed one, which the host linker reports.
    pub(super) fn of_object(bytes: &'a [u8]) -> Self {
        let mut names = Self::default();
        let Ok(file) = object::File::parse(bytes) else {
            return names;
        };
        for symbol in file.symbols().filter(|symbol| !symbol.is_local()) {
            let Ok(name) = symbol.name_bytes() else { continue };
            if !symbol.is_undefined() {
                let kind = match symbol.kind() {
                    _ if symbol.is_common() => DefinitionKind::Common,
                    SymbolKind::Text => DefinitionKind::Other,
                    _ if symbol.is_weak() => DefinitionKind::Other,
                    _ => DefinitionKind::StrongVariable,
                };
                names.define(name, kind, symbol.is_weak());
            } else {
                let visibility = symbol.flags().elf_visibility();
                names.references.push(Reference {
                    name: Cow::Borrowed(name),
                    is_weak: symbol.is_weak(),
                    is_local: visibility.is_some_and(|visibility| visibility != STV_DEFAULT),
                });
            }
        }
        names
    }

    /// Those of a shared library; none of what is malformed, or for a host of 32 bits.
    pub(super) fn of_shared_library(bytes: &'a [u8]) -> Self {
        let mut names = Self::default();
        let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else {
            return names;
        };
        let endian = file.endian();
        let versions = file.elf_section_table().gnu_versym(endian, bytes);
        let versions = versions.ok().flatten().map_or(&[][..], |(versions, _)| versions);
        for symbol in file.dynamic_symbols().filter(|symbol| !symbol.is_local()) {
            let Ok(name) = symbol.name_bytes() else { continue };
            if !symbol.is_undefined() {
                // A version that only programs linked long ago ask for.
                let version = versions.get(symbol.index().0);
                if !version.is_some_and(|version| version.0.get(endian).contains(VERSYM_HIDDEN)) {
                    names.define(name, DefinitionKind::Other, symbol.is_weak());
                }
            } else {
                names.references.push(Reference {
                    name: Cow::Borrowed(name),
                    is_weak: symbol.is_weak(),
                    is_local: false,
                });
            }
        }
        names
    }

    /// The names that must be defined elsewhere.
    pub(super) fn lacking(&self) -> impl Iterator<Item = &Name<'a>> {
        let lacking = self.references.iter().filter(|reference| !reference.is_weak);
        lacking.map(|reference| &reference.name)
    }

    /// The names that no shared library can define.
    pub(super) fn local(&self) -> impl Iterator<Item = &Name<'a>> {
        let local = self.references.iter().filter(|reference| reference.is_local);
        local.map(|reference| &reference.name)
    }

    /// `f@@V`, the version that counts where none is named, is `f` and `f@V`, too.
    fn define(&mut self, name: &'a [u8], kind: DefinitionKind, is_weak: bool) {
        let mut push = |name| self.definitions.push(Definition { name, kind, is_weak });
        if let Some(at) = name.windows(2).position(|pair| pair == b"@@") {
            let (plain, version) = name.split_at(at);
            push(Cow::Borrowed(plain));
            push(Cow::Owned([plain, version.get(1..).unwrap_or_default()].concat()));
        }
        push(Cow::Borrowed(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_version_satisfies_plain_references() {
        let mut names = SymbolNames::default();
        names.define(b"f@@V1", DefinitionKind::Other, false);
        names.define(b"g@V1", DefinitionKind::Other, false);
        let names: Vec<_> = names.definitions.iter().map(|found| &*found.name).collect();
        assert_eq!(names, [&b"f"[..], b"f@V1", b"f@@V1", b"g@V1"]);
    }
}
