//! Takes members out of archives as mold does: all files are there at once, and each name belongs to one of
//! them, by rank.

use std::collections::{HashMap, HashSet};
use std::mem;

use super::{Content, Unit};
use crate::inputs::Origin;
use crate::link::symbol_names::{Definition, DefinitionKind, SymbolNames};

/// What decides between files that define a name: the least rank, then the first file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    InObject,
    WeakInObject,
    Outside,
    WeakOutside,
    Common,
    CommonOutside,
}

/// An object, a member or a shared library.
#[derive(Debug, Clone, Copy)]
struct File<'s, 'a> {
    names: &'s SymbolNames<'s>,
    /// Of a member.
    origin: Option<Origin<'a>>,
    is_shared: bool,
    /// Whether it is a part of the link, as far as that is known.
    is_live: bool,
}

/// Which file a name belongs to.
#[derive(Debug, Clone, Copy)]
struct Owner {
    file: usize,
    rank: Rank,
}

/// The members that are taken, see [`super::taken_members`].
pub(super) fn taken_members<'s, 'a>(
    wanted: impl Iterator<Item = &'s [u8]>,
    units: &'s [Unit<'s, 'a>],
) -> HashSet<Origin<'a>> {
    let wanted: Vec<_> = wanted.collect();
    let mut files = files(units);
    let mut local = HashSet::new();
    // What is hidden is not a shared library's, which shows only once it is known who refers to it: then all
    // begins anew, with the files that are in the link already.
    loop {
        let owners = owners(&files, &local);
        mark_live(&mut files, &owners, &wanted);
        let live = files.iter().filter(|file| file.is_live);
        let hidden = live.flat_map(|file| file.names.local()).map(|name| &**name);
        let before = local.len();
        local.extend(hidden.filter(|name| owners.get(name).is_some_and(|owner| files[owner.file].is_shared)));
        if local.len() == before {
            break;
        }
    }
    let live = files.iter().filter(|file| file.is_live);
    live.filter_map(|file| file.origin).collect()
}

fn files<'s, 'a>(units: &'s [Unit<'s, 'a>]) -> Vec<File<'s, 'a>> {
    let mut files = Vec::new();
    for unit in units {
        match &unit.content {
            Content::Objects(objects) => files.extend(objects.iter().map(|object| File {
                names: &object.names,
                origin: None,
                is_shared: false,
                is_live: true,
            })),
            Content::Archive(members) => files.extend(members.iter().map(|member| File {
                names: &member.names,
                origin: Some(member.origin),
                is_shared: false,
                is_live: false,
            })),
            Content::SharedLibrary { names, as_needed } => files.push(File {
                names,
                origin: None,
                is_shared: true,
                is_live: !as_needed,
            }),
        }
    }
    files
}

/// Whom each name belongs to, if no shared library defines the names `local`.
fn owners<'s>(files: &[File<'s, '_>], local: &HashSet<&[u8]>) -> HashMap<&'s [u8], Owner> {
    let mut owners: HashMap<&[u8], Owner> = HashMap::new();
    for (number, file) in files.iter().enumerate() {
        for definition in &file.names.definitions {
            if file.is_shared && local.contains(&*definition.name) {
                continue;
            }
            let (file, rank) = (number, file.rank(definition));
            let owner = owners.entry(&definition.name).or_insert(Owner { file, rank });
            if rank < owner.rank {
                *owner = Owner { file, rank };
            }
        }
    }
    owners
}

/// Marks the files that those in the link, and the names `wanted`, refer to.
fn mark_live(files: &mut [File<'_, '_>], owners: &HashMap<&[u8], Owner>, wanted: &[&[u8]]) {
    for owner in wanted.iter().filter_map(|name| owners.get(name)) {
        files[owner.file].is_live = true;
    }
    let mut open: Vec<_> = (0..files.len()).filter(|&number| files[number].is_live).collect();
    while let Some(number) = open.pop() {
        let File { names, is_shared, .. } = files[number];
        let references = names.references.iter().filter_map(|reference| {
            let owner = owners.get(&*reference.name)?;
            // A weak one of an object makes a shared library needed, but no member.
            let counts = !reference.is_weak || (!is_shared && files[owner.file].is_shared);
            counts.then_some(owner.file)
        });
        let common = names.definitions.iter().filter_map(|definition| {
            let owner = owners.get(&*definition.name)?;
            let counts = definition.kind == DefinitionKind::Common && owner.rank < Rank::Common;
            counts.then_some(owner.file)
        });
        let needed: Vec<_> = references.chain(common).collect();
        for number in needed {
            if !mem::replace(&mut files[number].is_live, true) {
                open.push(number);
            }
        }
    }
}

impl File<'_, '_> {
    fn rank(&self, definition: &Definition<'_>) -> Rank {
        let is_inside = self.is_live && !self.is_shared;
        match (definition.kind, definition.is_weak, is_inside) {
            (DefinitionKind::Common, _, true) => Rank::Common,
            (DefinitionKind::Common, _, false) => Rank::CommonOutside,
            (_, false, true) => Rank::InObject,
            (_, true, true) => Rank::WeakInObject,
            (_, false, false) => Rank::Outside,
            (_, true, false) => Rank::WeakOutside,
        }
    }
}
