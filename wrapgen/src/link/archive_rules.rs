//! Takes members out of archives as the host linker does: a link of names alone.
//!
//! GNU ld and gold go through their inputs once. At an archive they take members as long as one defines what
//! is lacking at that moment, and in a group they come back to its archives; what is found lacking later
//! takes none. lld remembers what each member defines, and takes it once a file refers to that, wherever it
//! stands. mold looks at all files at once.

mod by_rank;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::symbol_names::{Definition, DefinitionKind, Name, Reference, SymbolNames};
use crate::inputs::Origin;

/// Which rules a linker has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// Those of GNU ld.
    GnuLd,
    /// Those of gold, which looks for no contents of common variables, and for which `--as-needed` says
    /// nothing about symbols.
    Gold,
    /// Those of lld.
    AnyOrder {
        /// Whether a member is taken for a variable that is only common so far.
        common_is_lacking: bool,
    },
    /// Those of mold.
    ByRank,
}

/// An object, or a member of an archive.
#[derive(Debug)]
pub(super) struct Object<'a> {
    pub(super) origin: Origin<'a>,
    pub(super) names: SymbolNames<'a>,
}

/// What the linker meets.
#[derive(Debug)]
pub(super) struct Unit<'s, 'a> {
    pub(super) content: Content<'s, 'a>,
    /// What has the same number here is one group.
    pub(super) group: Option<usize>,
}

/// What the linker finds where it looks.
#[derive(Debug)]
pub(super) enum Content<'s, 'a> {
    /// Objects that are linked.
    Objects(&'s [Object<'a>]),
    /// Members of an archive, or objects that are linked like those.
    Archive(&'s [Object<'a>]),
    /// The names of a shared library.
    SharedLibrary {
        names: Rc<SymbolNames<'s>>,
        /// Whether it counts only if something needs it.
        as_needed: bool,
    },
}

/// The members that are taken of archives, if the link starts with the lack of the names `wanted`.
pub(super) fn taken_members<'s, 'a>(
    rules: Rules,
    wanted: impl Iterator<Item = &'s [u8]>,
    units: &'s [Unit<'s, 'a>],
) -> HashSet<Origin<'a>> {
    if rules == Rules::ByRank {
        return by_rank::taken_members(wanted, units);
    }
    let wanted: HashSet<_> = wanted.collect();
    let references = References {
        strong: wanted.clone(),
        ..References::default()
    };
    if let Rules::AnyOrder { common_is_lacking } = rules {
        let mut link = AnyOrder {
            common_is_lacking,
            states: wanted.into_iter().map(|name| (name, State::Lacking)).collect(),
            local: HashSet::new(),
            references,
            taken: HashSet::new(),
        };
        for unit in units {
            link.meet(&unit.content);
        }
        return link.taken;
    }
    let mut link = InOrder {
        is_gnu_ld: rules == Rules::GnuLd,
        lacking: wanted,
        references,
        ..InOrder::default()
    };
    for units in units.chunk_by(|one, next| one.group.is_some() && one.group == next.group) {
        link.meet_group(units);
    }
    link.taken
}

/// The state of a link that goes through its inputs once.
#[derive(Debug, Default)]
struct InOrder<'s, 'a> {
    is_gnu_ld: bool,
    lacking: HashSet<&'s [u8]>,
    /// With whether another definition counts in the place of what is there.
    defined: HashMap<&'s [u8], bool>,
    /// Those that shared libraries define.
    shared: HashSet<&'s [u8]>,
    /// Those that are common so far.
    common: HashSet<&'s [u8]>,
    /// Those that shared libraries cannot define.
    local: HashSet<&'s [u8]>,
    references: References<'s>,
    taken: HashSet<Origin<'a>>,
    /// Which members of the archives that are searched define a name: the archive's number in its group, and
    /// the place there.
    places: HashMap<&'s [u8], Vec<(usize, usize)>>,
    /// Those that may be needed: what they define got lacking or common since they were looked at.
    candidates: BTreeSet<(usize, usize)>,
}

impl<'s, 'a> InOrder<'s, 'a> {
    /// One unit, or the units of a group, whose archives are searched again and again, as are shared
    /// libraries that nothing has needed so far.
    fn meet_group(&mut self, units: &'s [Unit<'s, 'a>]) {
        self.open(units);
        for (number, unit) in units.iter().enumerate() {
            match &unit.content {
                Content::Objects(objects) => objects.iter().for_each(|object| self.link(&object.names)),
                Content::Archive(members) => self.search(number, members),
                Content::SharedLibrary { names, as_needed } => self.meet_shared(names, *as_needed),
            }
        }
        let mut before = None;
        while units.len() > 1 && before != Some((self.taken.len(), self.shared.len())) {
            before = Some((self.taken.len(), self.shared.len()));
            for (number, unit) in units.iter().enumerate() {
                match &unit.content {
                    Content::Archive(members) => self.search(number, members),
                    Content::SharedLibrary {
                        names,
                        as_needed: true,
                    } if self.is_gnu_ld => {
                        self.meet_shared(names, true);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Notes which members of these archives define what, and which define what is lacking now.
    fn open(&mut self, units: &'s [Unit<'s, 'a>]) {
        self.places.clear();
        for (number, unit) in units.iter().enumerate() {
            let Content::Archive(members) = unit.content else {
                continue;
            };
            for (place, member) in members.iter().enumerate() {
                for Definition { name, .. } in &member.names.definitions {
                    self.places.entry(name).or_default().push((number, place));
                    if self.lacking.contains(&**name) || self.common.contains(&**name) {
                        self.candidates.insert((number, place));
                    }
                }
            }
        }
    }

    /// Takes members as long as one is needed, from the first to the last and then again.
    fn search(&mut self, number: usize, members: &'s [Object<'a>]) {
        let mut place = 0;
        loop {
            let later = self.candidates.range((number, place)..(number + 1, 0)).next();
            let Some(&next) = later.or_else(|| self.candidates.range((number, 0)..(number, place)).next())
            else {
                return;
            };
            self.candidates.remove(&next);
            place = next.1;
            let Some(member) = members.get(place) else {
                continue;
            };
            if !self.taken.contains(&member.origin) && self.needs(&member.names) {
                self.taken.insert(member.origin);
                self.link(&member.names);
            }
        }
    }

    /// Has the members looked at that define a name: it is lacking from now on, or common.
    fn look_for(&mut self, name: &[u8]) {
        if let Some(places) = self.places.get(name) {
            self.candidates.extend(places);
        }
    }

    fn lack(&mut self, name: &'s [u8]) {
        if self.lacking.insert(name) {
            self.look_for(name);
        }
    }

    fn needs(&self, names: &SymbolNames<'_>) -> bool {
        names.definitions.iter().any(|Definition { name, kind, .. }| {
            let has_contents = *kind == DefinitionKind::StrongVariable && self.is_gnu_ld;
            self.lacking.contains(&**name) || (has_contents && self.common.contains(&**name))
        })
    }

    fn link(&mut self, names: &'s SymbolNames<'_>) {
        for Definition { name, kind, is_weak } in &names.definitions {
            self.lacking.remove(&**name);
            let before = self.defined.get(&**name);
            match (kind, is_weak) {
                (DefinitionKind::Common, _) if before == Some(&false) => {}
                (DefinitionKind::Common, _) => {
                    if self.common.insert(name) {
                        self.look_for(name);
                    }
                }
                (_, true) if before.is_some() || self.common.contains(&**name) => {}
                _ => {
                    self.common.remove(&**name);
                    self.defined.insert(name, *is_weak);
                }
            }
        }
        for name in names.local() {
            self.local.insert(name);
            // What a shared library seemed to define.
            if self.shared.remove(&**name) && !self.is_known(name) {
                self.lack(name);
            }
        }
        self.references.note(names);
        if !self.is_gnu_ld {
            for name in self.references.only_weak_of(names) {
                self.lacking.remove(name);
            }
        }
        for name in names.lacking() {
            if !self.is_known(name) {
                self.lack(name);
            }
        }
    }

    /// Whether a definition of the name is in the link.
    fn is_known(&self, name: &[u8]) -> bool {
        self.defined.contains_key(name) || self.shared.contains(name) || self.common.contains(name)
    }

    fn meet_shared(&mut self, names: &'s SymbolNames<'s>, as_needed: bool) {
        let definitions = names.definitions.iter().map(|found| &*found.name);
        let definitions = definitions.filter(|name| !self.local.contains(name));
        let is_needed = || definitions.clone().any(|name| self.lacking.contains(name));
        if as_needed && self.is_gnu_ld && !is_needed() {
            return;
        }
        for name in definitions {
            self.lacking.remove(name);
            self.shared.insert(name);
        }
        for name in names.lacking() {
            let may_stay = !self.is_gnu_ld && self.references.are_weak(name);
            if !may_stay && !self.is_known(name) {
                self.lack(name);
            }
        }
    }
}

/// How objects refer to names. For gold and lld, a name that objects refer to only weakly may stay undefined,
/// also where a shared library lacks it.
#[derive(Debug, Default)]
struct References<'s> {
    strong: HashSet<&'s [u8]>,
    weak: HashSet<&'s [u8]>,
}

impl<'s> References<'s> {
    /// Notes those of an object.
    fn note(&mut self, names: &'s SymbolNames<'_>) {
        for Reference { name, is_weak, .. } in &names.references {
            let references = if *is_weak {
                &mut self.weak
            } else {
                &mut self.strong
            };
            references.insert(name);
        }
    }

    /// Whether each object that refers to a name does so weakly.
    fn are_weak(&self, name: &[u8]) -> bool {
        self.weak.contains(name) && !self.strong.contains(name)
    }

    /// The names that an object refers to weakly, as all before it do.
    fn only_weak_of(&self, names: &'s SymbolNames<'_>) -> impl Iterator<Item = &'s [u8]> {
        let weak = names.references.iter().filter(|reference| reference.is_weak);
        let weak = weak.map(|reference| &*reference.name);
        weak.filter(|name| !self.strong.contains(name))
    }
}

/// The state of a link in which members are taken in any order.
#[derive(Debug)]
struct AnyOrder<'s, 'a> {
    common_is_lacking: bool,
    states: HashMap<&'s [u8], State<'s, 'a>>,
    /// The names that shared libraries cannot define.
    local: HashSet<&'s [u8]>,
    references: References<'s>,
    taken: HashSet<Origin<'a>>,
}

/// What is known of a name.
#[derive(Debug, Clone, Copy)]
enum State<'s, 'a> {
    Lacking,
    Common,
    /// In a shared library.
    Shared,
    Defined,
    /// In a member that is not taken yet.
    Waiting {
        member: &'s Object<'a>,
        is_common: bool,
    },
}

/// What a file asks for.
#[derive(Debug, Clone, Copy)]
enum Request<'s> {
    Name(&'s [u8]),
    /// The name, for a shared library.
    ForLibrary(&'s [u8]),
    /// Contents for what it has as common.
    Contents(&'s [u8]),
}

impl<'s, 'a> AnyOrder<'s, 'a> {
    fn meet(&mut self, content: &'s Content<'s, 'a>) {
        match content {
            Content::Objects(objects) => objects.iter().for_each(|object| self.link(&object.names)),
            Content::Archive(members) => members.iter().for_each(|member| self.remember(member)),
            Content::SharedLibrary { names, .. } => {
                // What a library lacks stands in front of what it defines.
                self.answer(names.lacking().map(|name| Request::ForLibrary(name)));
                let definitions = names.definitions.iter().map(|found| &*found.name);
                for name in definitions.filter(|name| !self.local.contains(name)) {
                    let state = self.states.entry(name).or_insert(State::Shared);
                    if !matches!(state, State::Common | State::Defined) {
                        *state = State::Shared;
                    }
                }
            }
        }
    }

    fn link(&mut self, names: &'s SymbolNames<'a>) {
        self.define(names);
        self.answer(requests(names));
    }

    /// Notes what a member defines, and takes it if that is lacking.
    fn remember(&mut self, member: &'s Object<'a>) {
        for Definition { name, kind, .. } in &member.names.definitions {
            let is_common = *kind == DefinitionKind::Common;
            let takes = match self.states.get(&**name) {
                None => {
                    self.states.insert(name, State::Waiting { member, is_common });
                    false
                }
                Some(State::Lacking) => true,
                Some(State::Common) => self.common_is_lacking && !is_common,
                Some(State::Shared | State::Defined | State::Waiting { .. }) => false,
            };
            if takes {
                if self.taken.insert(member.origin) {
                    self.link(&member.names);
                }
                return;
            }
        }
    }

    /// Notes what a file that is linked defines, and how it refers to names.
    fn define(&mut self, names: &'s SymbolNames<'_>) {
        for name in names.local() {
            self.local.insert(name);
            if matches!(self.states.get(&**name), Some(State::Shared)) {
                self.states.remove(&**name);
            }
        }
        self.references.note(names);
        for name in self.references.only_weak_of(names) {
            if matches!(self.states.get(name), Some(State::Lacking)) {
                self.states.remove(name);
            }
        }
        for Definition { name, kind, .. } in &names.definitions {
            let state = self.states.entry(name).or_insert(State::Lacking);
            match (kind, &state) {
                (DefinitionKind::Common, State::Defined) => {}
                // The file asks for the member's contents in its turn.
                (DefinitionKind::Common, State::Waiting { is_common: false, .. })
                    if self.common_is_lacking => {}
                (DefinitionKind::Common, _) => *state = State::Common,
                _ => *state = State::Defined,
            }
        }
    }

    /// Takes what members are asked for, each with all that it asks for itself before the next: a later one
    /// may be needed no more then.
    fn answer(&mut self, requests_of_file: impl Iterator<Item = Request<'s>> + 's) {
        let mut open: Vec<Box<dyn Iterator<Item = Request<'s>> + 's>> = vec![Box::new(requests_of_file)];
        while let Some(requests_of_last) = open.last_mut() {
            let Some(request) = requests_of_last.next() else {
                open.pop();
                continue;
            };
            if let Some(member) = self.asked_for(request)
                && self.taken.insert(member.origin)
            {
                self.define(&member.names);
                open.push(Box::new(requests(&member.names)));
            }
        }
    }

    fn asked_for(&mut self, request: Request<'s>) -> Option<&'s Object<'a>> {
        let state = match request {
            Request::Name(name) => *self.states.entry(name).or_insert(State::Lacking),
            Request::ForLibrary(name) if self.references.are_weak(name) => *self.states.get(name)?,
            Request::ForLibrary(name) => *self.states.entry(name).or_insert(State::Lacking),
            Request::Contents(name) => *self.states.get(name).filter(|_| self.common_is_lacking)?,
        };
        match (state, request) {
            (State::Waiting { member, .. }, Request::Name(_) | Request::ForLibrary(_))
            | (
                State::Waiting {
                    member,
                    is_common: false,
                },
                Request::Contents(_),
            ) => Some(member),
            _ => None,
        }
    }
}

/// What a file that is linked asks for.
fn requests<'s>(names: &'s SymbolNames<'_>) -> impl Iterator<Item = Request<'s>> + 's {
    let lacking = names.lacking().map(|name: &Name<'_>| Request::Name(name));
    let common = names.definitions.iter();
    let common = common.filter(|found| found.kind == DefinitionKind::Common);
    lacking.chain(common.map(|found| Request::Contents(&found.name)))
}

#[cfg(test)]
mod tests;
