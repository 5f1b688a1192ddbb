//! Other numbers for the symbols and source files that a symbol names.

use std::collections::HashMap;

use crate::tree::{Base, CallTarget, Operand, Reference, Symbol, SymbolIndex, SymbolKind};

/// Gives a symbol's references the indices of the linked module, and its source lines the numbers of the
/// files there.
pub(super) fn symbol(symbol: &mut Symbol, indices: &[SymbolIndex], files: &HashMap<u32, u32>) {
    references(symbol, indices);
    if let SymbolKind::Function(function) = &mut symbol.kind
        && let Some(body) = &mut function.body
    {
        for location in &mut body.locations {
            // A number without a file stands for none in the linked module either.
            location.file = files.get(&location.file).copied().unwrap_or(u32::MAX);
        }
    }
}

/// Gives a symbol's references other indices.
pub(super) fn references(symbol: &mut Symbol, indices: &[SymbolIndex]) {
    match &mut symbol.kind {
        SymbolKind::Alias(aliasee) => replace(aliasee, indices),
        SymbolKind::Variable(variable) => {
            for relocation in &mut variable.initializer.relocations {
                replace(&mut relocation.symbol, indices);
            }
        }
        SymbolKind::Function(function) => {
            let body = function.body.iter_mut();
            for instruction in body.flat_map(|body| &mut body.instructions) {
                for each in &mut instruction.operands {
                    operand(each, indices);
                }
            }
        }
    }
}

fn operand(of: &mut Operand, indices: &[SymbolIndex]) {
    match of {
        Operand::Symbol(Reference::Symbol(symbol), _) => replace(symbol, indices),
        Operand::Address(address) => {
            if let Base::Reference(Reference::Symbol(symbol)) = &mut address.base {
                replace(symbol, indices);
            }
        }
        // The parser puts neither into the other: this goes two deep at most.
        Operand::Vector(elements) => {
            for element in elements {
                operand(element, indices);
            }
        }
        Operand::Pair(pair) => {
            operand(&mut pair.0, indices);
            operand(&mut pair.1, indices);
        }
        Operand::Call(call) => {
            if let CallTarget::Direct(symbol) = &mut call.target {
                replace(symbol, indices);
            }
            for each in call.returns.iter_mut().chain(&mut call.arguments) {
                operand(each, indices);
            }
        }
        _ => {}
    }
}

fn replace(symbol: &mut SymbolIndex, indices: &[SymbolIndex]) {
    if let Some(index) = indices.get(symbol.0 as usize) {
        *symbol = *index;
    }
}
