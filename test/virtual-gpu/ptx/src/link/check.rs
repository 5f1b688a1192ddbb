//! Whether two files mean the same by one name.

use super::{LinkError, place};
use crate::tree::{Function, Linkage, StateSpace, Symbol, SymbolKind, Variable};

/// Nothing, or the error that says how two declarations of one name differ.
pub(super) fn same(first: &Symbol, second: &Symbol) -> Result<(), LinkError> {
    let is_same = match (&first.kind, &second.kind) {
        (SymbolKind::Function(one), SymbolKind::Function(other)) => shape(one) == shape(other),
        (SymbolKind::Variable(one), SymbolKind::Variable(other)) => {
            let is_common = first.linkage == Linkage::Common || second.linkage == Linkage::Common;
            // `.extern` arrays need not say their size.
            let is_unsized = |symbol: &Symbol, variable: &Variable| {
                symbol.linkage == Linkage::Extern && variable.size == 0
            };
            let is_sized = !is_unsized(first, one) && !is_unsized(second, other);
            one.space == other.space && (one.size == other.size || is_common || !is_sized)
        }
        (SymbolKind::Function(_) | SymbolKind::Alias(_), SymbolKind::Alias(_))
        | (SymbolKind::Alias(_), SymbolKind::Function(_)) => true,
        _ => false,
    };
    if is_same {
        return Ok(());
    }
    Err(LinkError::Differs {
        name: first.name.clone(),
        first: described(first),
        second: described(second),
    })
}

/// What has to be equal of a function's declarations: its kind, and sizes of results and of parameters.
fn shape(function: &Function) -> (bool, Vec<u64>, Vec<u64>) {
    let sizes = |parameters: &[crate::tree::Parameter]| parameters.iter().map(|each| each.size).collect();
    (
        function.is_entry,
        sizes(&function.returns),
        sizes(&function.parameters),
    )
}

fn described(symbol: &Symbol) -> String {
    let what = match &symbol.kind {
        SymbolKind::Function(function) => {
            let (is_entry, returns, parameters) = shape(function);
            let kind = if is_entry { "a kernel" } else { "a function" };
            format!("{kind} with results of {returns:?} and parameters of {parameters:?} bytes")
        }
        SymbolKind::Variable(variable) => format!(
            "a variable of {} bytes in {} memory",
            variable.size,
            match variable.space {
                StateSpace::Const => "constant",
                StateSpace::Global => "global",
                StateSpace::Local => "local",
                StateSpace::Param => "parameter",
                StateSpace::Shared => "shared",
            }
        ),
        SymbolKind::Alias(_) => "an alias".to_owned(),
    };
    format!("{what} in {}", place(symbol))
}
