//! Links several modules into one, as a device link does with the objects that were assembled from them.
//!
//! A name without a linkage is its file's own: two files may have two. Of the others there is one each: a
//! `.visible` definition counts more than a `.weak` one, that more than a `.common` one; of several weak ones
//! the first counts, of several common ones the largest. What no file defines stays `.extern`: functions of
//! the driver, and shared memory whose size the launch says.

mod check;
mod renumber;

use std::collections::HashMap;

use thiserror::Error;

use crate::tree::{Linkage, Module, SourceFile, Symbol, SymbolIndex, SymbolKind};

/// Why modules do not link. Places are files and lines.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum LinkError {
    /// No module was given.
    #[error("there is no PTX to link")]
    Nothing,
    /// Two definitions that count alike.
    #[error("`{name}` is defined in {first} and in {second}; make one of them weak, or give it another name")]
    DefinedTwice {
        /// The symbol.
        name: String,
        /// A place.
        first: String,
        /// The other place.
        second: String,
    },
    /// A name that is declared in two ways.
    #[error("`{name}` is {first}, and {second}; make the declarations equal")]
    Differs {
        /// The symbol.
        name: String,
        /// What it is in one place, and the place.
        first: String,
        /// What it is in the other.
        second: String,
    },
    /// An alias that leads to itself.
    #[error("the alias `{name}` in {place} leads to itself")]
    EndlessAlias {
        /// The alias.
        name: String,
        /// Its place.
        place: String,
    },
    /// Modules for 32 and for 64 bits.
    #[error(
        "{first} has addresses of {first_size} bits and {second} of {second_size}; compile both for one device"
    )]
    AddressSize {
        /// A file.
        first: String,
        /// Its address size.
        first_size: u32,
        /// Another file.
        second: String,
        /// Its address size.
        second_size: u32,
    },
}

/// One module of all. Names of the result are unique, internal ones apart.
///
/// # Errors
///
/// Two definitions, or declarations, that cannot be one; an alias of itself.
pub fn link(modules: Vec<Module>) -> Result<Module, LinkError> {
    let mut linked = heading(&modules)?;
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut by_name: HashMap<String, SymbolIndex> = HashMap::new();
    for module in modules {
        let files = add_files(&mut linked.files, module.files);
        // First all indices, for symbols name each other in any order.
        let first = symbols.len();
        let mut added = 0;
        let mut indices = Vec::with_capacity(module.symbols.len());
        for symbol in &module.symbols {
            let known = by_name
                .get(&symbol.name)
                .filter(|_| symbol.linkage != Linkage::Internal);
            indices.push(known.copied().unwrap_or_else(|| {
                let index = SymbolIndex(u32::try_from(first + added).unwrap_or(u32::MAX));
                added += 1;
                if symbol.linkage != Linkage::Internal {
                    by_name.insert(symbol.name.clone(), index);
                }
                index
            }));
        }
        for (mut symbol, &index) in module.symbols.into_iter().zip(&indices) {
            renumber::symbol(&mut symbol, &indices, &files);
            match symbols.get_mut(index.0 as usize) {
                None => symbols.push(symbol),
                Some(present) => combine(present, symbol)?,
            }
        }
    }
    resolve_aliases(&mut symbols)?;
    linked.symbols = symbols;
    Ok(linked)
}

/// What the result says before its symbols.
fn heading(modules: &[Module]) -> Result<Module, LinkError> {
    let first = modules.first().ok_or(LinkError::Nothing)?;
    if let Some(other) = modules
        .iter()
        .find(|other| other.address_size != first.address_size)
    {
        return Err(LinkError::AddressSize {
            first: first.name.clone(),
            first_size: first.address_size,
            second: other.name.clone(),
            second_size: other.address_size,
        });
    }
    // Code for an older processor runs on a newer one.
    let newest = modules
        .iter()
        .max_by_key(|module| processor_number(&module.target));
    Ok(Module {
        name: first.name.clone(),
        version: modules
            .iter()
            .map(|module| module.version)
            .max()
            .unwrap_or_default(),
        target: newest.map(|module| module.target.clone()).unwrap_or_default(),
        address_size: first.address_size,
        symbols: Vec::new(),
        files: Vec::new(),
    })
}

/// 80 for `sm_80`.
fn processor_number(target: &str) -> u32 {
    let digits = target.strip_prefix("sm_").unwrap_or_default();
    let digits = digits.trim_end_matches(|last: char| !last.is_ascii_digit());
    digits.parse().unwrap_or_default()
}

/// Adds source files. Answers with what the numbers of the module have become.
fn add_files(files: &mut Vec<SourceFile>, more: Vec<SourceFile>) -> HashMap<u32, u32> {
    let mut numbers = HashMap::new();
    for file in more {
        let number = u32::try_from(files.len()).unwrap_or(u32::MAX);
        numbers.insert(file.number, number);
        files.push(SourceFile { number, ..file });
    }
    numbers
}

/// How much a declaration counts.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Rank {
    Declaration,
    Common,
    Weak,
    Strong,
}

fn rank(symbol: &Symbol) -> Rank {
    match symbol.linkage {
        _ if !symbol.is_definition() => Rank::Declaration,
        Linkage::Common => Rank::Common,
        Linkage::Weak => Rank::Weak,
        _ => Rank::Strong,
    }
}

/// Makes one of two symbols with the same name.
fn combine(present: &mut Symbol, other: Symbol) -> Result<(), LinkError> {
    check::same(present, &other)?;
    match (rank(present), rank(&other)) {
        (Rank::Strong, Rank::Strong) => Err(LinkError::DefinedTwice {
            name: present.name.clone(),
            first: place(present),
            second: place(&other),
        }),
        (Rank::Common, Rank::Common) => {
            if let (SymbolKind::Variable(present), SymbolKind::Variable(other)) =
                (&mut present.kind, &other.kind)
            {
                present.size = present.size.max(other.size);
                present.alignment = present.alignment.max(other.alignment);
            }
            Ok(())
        }
        (before, now) => {
            if now > before {
                *present = other;
            }
            Ok(())
        }
    }
}

/// Where a symbol is declared, for messages.
fn place(symbol: &Symbol) -> String {
    format!("{}:{}", symbol.file, symbol.line)
}

/// Makes each alias, and whatever names one, name the function itself.
fn resolve_aliases(symbols: &mut [Symbol]) -> Result<(), LinkError> {
    let aliasee = |index: SymbolIndex| match symbols.get(index.0 as usize).map(|symbol| &symbol.kind) {
        Some(SymbolKind::Alias(aliasee)) => Some(*aliasee),
        _ => None,
    };
    let mut finals = Vec::with_capacity(symbols.len());
    for (position, symbol) in symbols.iter().enumerate() {
        let mut index = SymbolIndex(u32::try_from(position).unwrap_or(u32::MAX));
        let mut steps = 0;
        while let Some(next) = aliasee(index) {
            index = next;
            steps += 1;
            // More than any compiler makes, and a bound for those that lead to themselves.
            if steps > 64 {
                return Err(LinkError::EndlessAlias {
                    name: symbol.name.clone(),
                    place: place(symbol),
                });
            }
        }
        finals.push(index);
    }
    let is_changed = |(position, index): (usize, &SymbolIndex)| index.0 as usize != position;
    if finals.iter().enumerate().any(is_changed) {
        for symbol in symbols {
            renumber::references(symbol, &finals);
        }
    }
    Ok(())
}
