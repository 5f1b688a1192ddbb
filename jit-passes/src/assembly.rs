//! Names of symbols in assembly text, which LLVM does not look into.

use std::collections::HashSet;

use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::module::{assembly_in, inline_assembly};

/// Assembly text that may name symbols.
#[derive(Debug)]
pub(crate) struct Assembly {
    text: String,
    /// What can be a name without quotation marks.
    words: HashSet<String>,
}

impl Assembly {
    /// That of the module itself and of all its functions.
    pub(crate) fn of_module(module: &Module<'_>) -> Self {
        let of_functions = module.get_functions().flat_map(assembly_in);
        Self::read(std::iter::once(inline_assembly(module)).chain(of_functions))
    }

    /// That of one function.
    pub(crate) fn of_function(function: FunctionValue<'_>) -> Self {
        Self::read(assembly_in(function))
    }

    fn read(texts: impl IntoIterator<Item = String>) -> Self {
        // As operands of inline assembly are `$0`, another `$` is two; before a name it makes an operand of
        // the address.
        let text = texts
            .into_iter()
            .collect::<Vec<_>>()
            .join("\n")
            .replace("$$", "$");
        let words = text.split(|character| !is_in_word(character));
        Self {
            words: words.map(str::to_owned).collect(),
            text,
        }
    }

    /// Whether the text may name the symbol.
    pub(crate) fn may_name(&self, symbol: &str) -> bool {
        self.words.contains(symbol) || (!symbol.chars().all(is_in_word) && self.text.contains(symbol))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

fn is_in_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.')
}
