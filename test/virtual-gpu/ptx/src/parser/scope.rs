//! Names in a function: what is declared in its header, in its body and in the scopes of that.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::lexer::Token;
use crate::tree::{Prototype, Reference, RegisterIndex};

/// Scopes in each other at most: what compilers write has three.
const DEPTH: u32 = 64;

/// Digits of the largest number of a register.
const DIGITS: usize = 7;

/// What a name of a function stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    Register(RegisterIndex),
    Reference(Reference),
}

/// A scope. The function's header has the first.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct ScopeIndex(u32);

/// The scopes of one function, also those that have ended: labels are looked up when all are known.
pub(super) struct Scopes<'a> {
    /// The scope around each, but for the first.
    parents: Vec<ScopeIndex>,
    current: ScopeIndex,
    depth: u32,
    names: Names<'a, Meaning>,
    /// `%r<5>`: the number of the first and how many.
    ranges: Names<'a, (u32, u32)>,
    labels: Names<'a, u32>,
    prototypes: Names<'a, Arc<Prototype>>,
    targets: Names<'a, Vec<Token<'a>>>,
}

type Names<'a, T> = HashMap<(ScopeIndex, &'a str), T>;

impl<'a> Scopes<'a> {
    /// One scope, that of the header.
    pub(super) fn new() -> Self {
        Self {
            parents: Vec::new(),
            current: ScopeIndex::default(),
            depth: 0,
            names: HashMap::new(),
            ranges: HashMap::new(),
            labels: HashMap::new(),
            prototypes: HashMap::new(),
            targets: HashMap::new(),
        }
    }

    pub(super) fn current(&self) -> ScopeIndex {
        self.current
    }

    /// Begins a scope in the current one. `false`: there are too many in each other.
    pub(super) fn open(&mut self) -> bool {
        self.parents.push(self.current);
        self.current = ScopeIndex(u32::try_from(self.parents.len()).unwrap_or(u32::MAX));
        self.depth += 1;
        self.depth <= DEPTH
    }

    /// Ends the current scope. `false`: it is the function's own, which ends with the function.
    pub(super) fn close(&mut self) -> bool {
        let Some(parent) = self.parent(self.current) else {
            return false;
        };
        self.current = parent;
        self.depth -= 1;
        true
    }

    fn parent(&self, scope: ScopeIndex) -> Option<ScopeIndex> {
        let index = scope.0.checked_sub(1)?;
        self.parents.get(index as usize).copied()
    }

    /// Declares a name. `false`: this scope has it already; so with the others.
    pub(super) fn declare(&mut self, name: &'a str, meaning: Meaning) -> bool {
        insert(&mut self.names, self.current, name, meaning)
    }

    /// Declares `name<count>`.
    pub(super) fn declare_range(&mut self, name: &'a str, first: u32, count: u32) -> bool {
        insert(&mut self.ranges, self.current, name, (first, count))
    }

    pub(super) fn declare_label(&mut self, name: &'a str, instruction: u32) -> bool {
        insert(&mut self.labels, self.current, name, instruction)
    }

    pub(super) fn declare_prototype(&mut self, name: &'a str, prototype: Prototype) -> bool {
        insert(&mut self.prototypes, self.current, name, Arc::new(prototype))
    }

    pub(super) fn declare_targets(&mut self, name: &'a str, targets: Vec<Token<'a>>) -> bool {
        insert(&mut self.targets, self.current, name, targets)
    }

    /// The scopes from one outwards.
    fn outwards(&self, from: ScopeIndex) -> impl Iterator<Item = ScopeIndex> {
        std::iter::successors(Some(from), |inner| self.parent(*inner))
    }

    /// What a name stands for in the current scope.
    pub(super) fn meaning(&self, name: &str) -> Option<Meaning> {
        self.outwards(self.current).find_map(|scope| {
            let named = self.names.get(&(scope, name)).copied();
            named.or_else(|| self.numbered(scope, name).map(Meaning::Register))
        })
    }

    /// The register of a range: `%r3` of `%r<5>`. A range's name may itself end with digits.
    fn numbered(&self, scope: ScopeIndex, name: &str) -> Option<RegisterIndex> {
        let digits = name
            .bytes()
            .rev()
            .take_while(u8::is_ascii_digit)
            .take(DIGITS)
            .count();
        (1..=digits).rev().find_map(|digits| {
            let (prefix, number) = name.split_at_checked(name.len() - digits)?;
            if digits > 1 && number.starts_with('0') {
                return None;
            }
            let &(first, count) = self.ranges.get(&(scope, prefix))?;
            let number = number.parse().ok().filter(|&number: &u32| number < count)?;
            Some(RegisterIndex(first + number))
        })
    }

    pub(super) fn label(&self, name: &str, scope: ScopeIndex) -> Option<u32> {
        self.outwards(scope)
            .find_map(|scope| self.labels.get(&(scope, name)).copied())
    }

    pub(super) fn prototype(&self, name: &str) -> Option<Arc<Prototype>> {
        self.outwards(self.current)
            .find_map(|scope| self.prototypes.get(&(scope, name)).cloned())
    }

    pub(super) fn targets(&self, name: &'a str, scope: ScopeIndex) -> Option<&[Token<'a>]> {
        self.outwards(scope)
            .find_map(|scope| self.targets.get(&(scope, name)))
            .map(Vec::as_slice)
    }
}

fn insert<'a, T>(names: &mut Names<'a, T>, scope: ScopeIndex, name: &'a str, meaning: T) -> bool {
    match names.entry((scope, name)) {
        Entry::Vacant(entry) => {
            entry.insert(meaning);
            true
        }
        Entry::Occupied(_) => false,
    }
}
