//! Names of the module: each is one symbol, however often it is declared or mentioned, and before or after.

use std::collections::HashMap;
use std::sync::Arc;

use super::Result;
use crate::Error;
use crate::lexer::{Token, shortened};
use crate::tree::{Function, Linkage, Symbol, SymbolIndex, SymbolKind, Variable};

/// The symbols so far.
pub(super) struct Names<'a> {
    /// The file's name.
    file: Arc<str>,
    indices: HashMap<&'a str, SymbolIndex>,
    /// How many variables of bodies have a name. Such names hold `::`, which no name in PTX does.
    of_bodies: HashMap<String, u32>,
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    /// Where it was first seen.
    first: Token<'a>,
    /// What was said of it. A name that is only mentioned has nothing.
    symbol: Option<Symbol>,
}

impl<'a> Names<'a> {
    pub(super) fn new(file: &str) -> Self {
        Self {
            file: file.into(),
            indices: HashMap::new(),
            of_bodies: HashMap::new(),
            entries: Vec::new(),
        }
    }

    fn next_index(&self) -> SymbolIndex {
        SymbolIndex(u32::try_from(self.entries.len()).unwrap_or(u32::MAX))
    }

    /// The symbol of a name, which may be declared later.
    pub(super) fn mention(&mut self, name: &Token<'a>) -> SymbolIndex {
        let next = self.next_index();
        *self.indices.entry(name.text).or_insert_with(|| {
            self.entries.push(Entry {
                first: *name,
                symbol: None,
            });
            next
        })
    }

    /// A variable of the module, declared or defined.
    pub(super) fn variable(&mut self, name: &Token<'a>, linkage: Linkage, variable: Variable) -> Result<()> {
        self.declare(name, linkage, SymbolKind::Variable(variable))
    }

    /// A function, declared or defined.
    pub(super) fn function(&mut self, name: &Token<'a>, linkage: Linkage, function: Function) -> Result<()> {
        self.declare(name, linkage, SymbolKind::Function(Box::new(function)))
    }

    /// Another name of a function.
    pub(super) fn alias(&mut self, name: &Token<'a>, aliasee: SymbolIndex) -> Result<()> {
        let index = self.mention(name);
        // `.visible .func f;` stands before the alias `f` and says who sees it.
        let declared = self
            .entries
            .get(index.0 as usize)
            .and_then(|entry| entry.symbol.as_ref());
        let linkage = declared.map_or(Linkage::Visible, |symbol| symbol.linkage);
        self.declare(name, linkage, SymbolKind::Alias(aliasee))
    }

    /// A `.shared` variable of a function's body: it lives as long as one of the module.
    pub(super) fn variable_of_body(
        &mut self,
        function: &str,
        name: &Token<'a>,
        variable: Variable,
    ) -> SymbolIndex {
        let mut unique = format!("{function}::{}", name.text);
        let count = self.of_bodies.entry(unique.clone()).or_default();
        *count += 1;
        if *count > 1 {
            unique = format!("{unique}::{count}");
        }
        let index = self.next_index();
        self.entries.push(Entry {
            first: *name,
            symbol: Some(Symbol {
                name: unique,
                linkage: Linkage::Internal,
                file: Arc::clone(&self.file),
                line: name.line,
                kind: SymbolKind::Variable(variable),
            }),
        });
        index
    }

    fn declare(&mut self, name: &Token<'a>, linkage: Linkage, kind: SymbolKind) -> Result<()> {
        let index = self.mention(name);
        let Some(entry) = self.entries.get_mut(index.0 as usize) else {
            return Ok(());
        };
        let declared = Symbol {
            name: name.text.to_owned(),
            linkage,
            file: Arc::clone(&self.file),
            line: name.line,
            kind,
        };
        entry.symbol = Some(match entry.symbol.take() {
            None => declared,
            Some(before) => merged(&self.file, name, before, declared)?,
        });
        Ok(())
    }

    /// All symbols. A name that was mentioned and never declared is an error.
    pub(super) fn finish(self) -> Result<Vec<Symbol>> {
        let symbol = |entry: Entry<'a>| {
            entry.symbol.ok_or_else(|| Error {
                file: self.file.to_string(),
                line: entry.first.line,
                column: entry.first.column,
                problem: format!("the name {} is not declared in this file", entry.first.shown()),
                advice: "declare it, with `.extern` if another file defines it",
            })
        };
        self.entries.into_iter().map(symbol).collect()
    }
}

/// One symbol of two declarations.
fn merged(file: &str, name: &Token<'_>, before: Symbol, now: Symbol) -> Result<Symbol> {
    let shown = shortened(name.text);
    let line = before.line;
    let error = |problem: String, advice| {
        Err(Error {
            file: file.to_owned(),
            line: name.line,
            column: name.column,
            problem,
            advice,
        })
    };
    let is_same = match (&before.kind, &now.kind) {
        (SymbolKind::Function(first), SymbolKind::Function(second)) => same_parameters(first, second),
        (SymbolKind::Variable(first), SymbolKind::Variable(second)) => first.space == second.space,
        (SymbolKind::Function(function), SymbolKind::Alias(_)) => function.body.is_none(),
        _ => false,
    };
    if !is_same {
        return error(
            format!("`{shown}` was declared as something else in line {line}"),
            "make the declarations equal, or give one of them another name",
        );
    }
    match (before.is_definition(), now.is_definition()) {
        (true, true) => error(
            format!("`{shown}` is defined for the second time, first in line {line}"),
            "give one of them another name",
        ),
        (true, false) => Ok(before),
        (false, _) => Ok(now),
    }
}

fn same_parameters(first: &Function, second: &Function) -> bool {
    let forms = |function: &Function| {
        let both = function.returns.iter().chain(&function.parameters);
        both.map(|parameter| (parameter.size, parameter.alignment))
            .collect::<Vec<_>>()
    };
    first.is_entry == second.is_entry
        && first.returns.len() == second.returns.len()
        && forms(first) == forms(second)
}
