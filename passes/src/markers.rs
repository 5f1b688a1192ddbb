//! What a front end wants offloaded, and how it says so.
//!
//! * A name: region ids (`.<kernel>.region_id`) on the host and kernels on a device follow Clang's scheme
//!   ([`offloom_abi::kernel_name`]); so do the pointers to `link` variables
//!   ([`LINK_REFERENCE_SUFFIX`](offloom_abi::names::LINK_REFERENCE_SUFFIX)).
//! * A string attribute `"offload-entry"`: `"kernel"`, `"function"`, `"indirect"`, `"ctor"` or `"dtor"` on a
//!   function, `"to"`, `"enter"`, `"link"` or, in LLVM 22, `"indirect"` on a variable. `"offload-entry-name"`
//!   can name the device symbol of what is `indirect`.
//! * An annotation, `"offload:kernel"` and so on: `__attribute__((annotate("offload:kernel")))` in C and C++.
//! * A section: `.offload.kernel`, `.offload.to` and so on. It says nothing about where the symbol should
//!   stand, so it is taken away once read.
//!
//! Any of the last three says more than a name. What a whole module requires of the runtime (`requires`
//! directives) is said by named metadata: `!offload.requires = !{!{i32 clauses}}`.

use crate::error::PassError;
use offloom_abi::entry::EntryFlags;
use offloom_abi::kernel_name::{KernelName, VTABLE_SUFFIX};
use offloom_ir::LLVM;
use offloom_ir::annotations::{has_annotation, take_annotations};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::GlobalValue;
use offloom_ir::metadata::{Operand, nodes};
use offloom_ir::symbol::{Symbol, SymbolKind, functions, variables};
use std::collections::HashMap;

/// The string attribute.
const ATTRIBUTE: &str = "offload-entry";

/// The string attribute with the name of the device symbol of what is `indirect`.
const NAME_ATTRIBUTE: &str = "offload-entry-name";

/// How the annotations of marked symbols start.
const ANNOTATION_PREFIX: &str = "offload:";

/// How the sections of marked symbols start.
const SECTION_PREFIX: &str = ".offload.";

/// The string attribute that says that the source asked for default visibility.
const VISIBILITY_ATTRIBUTE: &str = "offload-visibility";

/// The named metadata with the clauses of `requires` directives.
pub(crate) const REQUIRES_METADATA: &str = "offload.requires";

/// The clauses there are: `OMP_REQ_*` in `offload/include/OpenMP/Mapping.h`, but for the one that says that
/// there is none.
const REQUIRES_CLAUSES: u32 = 2 | 4 | 8 | 16;

/// What a marker asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A function that runs on the device, called from the host.
    Kernel,
    /// A kernel without arguments whose entry says that it constructs globals.
    Constructor,
    /// A kernel without arguments whose entry says that it destroys globals.
    Destructor,
    /// A function that device code of other files calls (`declare target`).
    Function,
    /// A function that device code may call through the host's pointer to it (`declare target indirect`).
    Indirect,
    /// A table of virtual functions that device code finds through the host's pointer to it (`declare target
    /// indirect` on a class, LLVM 22).
    IndirectVtable,
    /// A variable with a copy on the device (`declare target to` or `enter`).
    Variable,
    /// A variable that the device reaches through a pointer (`declare target link`).
    Link,
}

impl Mark {
    /// The word that markers use for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Constructor => "ctor",
            Self::Destructor => "dtor",
            Self::Function => "function",
            Self::Indirect | Self::IndirectVtable => "indirect",
            Self::Variable => "to",
            Self::Link => "link",
        }
    }

    /// The flags of the function's entry if it is to be a kernel.
    pub(crate) fn kernel_flags(self) -> Option<EntryFlags> {
        match self {
            Self::Kernel => Some(EntryFlags::NONE),
            Self::Constructor => Some(EntryFlags::CONSTRUCTOR),
            Self::Destructor => Some(EntryFlags::DESTRUCTOR),
            Self::Function | Self::Indirect | Self::IndirectVtable | Self::Variable | Self::Link => None,
        }
    }

    fn from_word(word: &str, kind: SymbolKind) -> Option<Self> {
        match (word, kind) {
            ("kernel", SymbolKind::Function) => Some(Self::Kernel),
            ("ctor", SymbolKind::Function) => Some(Self::Constructor),
            ("dtor", SymbolKind::Function) => Some(Self::Destructor),
            ("function", SymbolKind::Function) => Some(Self::Function),
            ("indirect", SymbolKind::Function) => Some(Self::Indirect),
            ("indirect", SymbolKind::Variable) if LLVM.indirect_vtables => Some(Self::IndirectVtable),
            ("to" | "enter", SymbolKind::Variable) => Some(Self::Variable),
            ("link", SymbolKind::Variable) => Some(Self::Link),
            _ => None,
        }
    }
}

/// The symbols with an attribute, an annotation or a section that marks them.
pub(crate) type Marked<'ctx> = HashMap<Symbol<'ctx>, Mark>;

/// Reads the attributes, annotations and sections of the whole module. Annotations become attributes.
pub(crate) fn explicit<'ctx>(module: &Module<'ctx>) -> Result<Marked<'ctx>, PassError> {
    for (symbol, word) in take_annotations(module, ANNOTATION_PREFIX) {
        let mark = read(symbol, &word)?;
        check_agreement(symbol, mark_of(symbol)?, Some(mark))?;
        symbol.set_string_attribute(ATTRIBUTE, mark.word());
    }
    let mut marked = Marked::new();
    for symbol in variables(module).into_iter().chain(functions(module)) {
        if let Some(mark) = mark_of(symbol)? {
            check_suits(symbol, mark)?;
            marked.insert(symbol, mark);
        }
    }
    Ok(marked)
}

/// What the symbol's attribute or section asks for.
fn mark_of(symbol: Symbol<'_>) -> Result<Option<Mark>, PassError> {
    let attribute = symbol.string_attribute(ATTRIBUTE);
    let attribute = attribute.map(|word| read(symbol, &word)).transpose()?;
    let section = marker_section(symbol)
        .map(|word| read(symbol, &word))
        .transpose()?;
    check_agreement(symbol, attribute, section)?;
    Ok(attribute.or(section))
}

/// Whether the symbol can be what the marker asks for: a kernel is found by its name, a constructor or
/// destructor is called without arguments, and an entry holds the address of a variable that all threads
/// share.
fn check_suits(symbol: Symbol<'_>, mark: Mark) -> Result<(), PassError> {
    if !symbol.is_named_by_text() {
        return Err(PassError::NameNotText {
            symbol: symbol.name(),
        });
    }
    if symbol.as_variable().is_some_and(GlobalValue::is_thread_local) {
        return Err(PassError::ThreadLocal {
            symbol: symbol.name(),
            mark: mark.word(),
        });
    }
    if mark.kernel_flags().is_some() && symbol.is_local() {
        return Err(PassError::LocalKernel {
            symbol: symbol.name(),
            mark: mark.word(),
        });
    }
    if mark == Mark::Link && symbol.is_local() {
        return Err(PassError::LocalLink {
            symbol: symbol.name(),
        });
    }
    let function = match mark {
        Mark::Constructor | Mark::Destructor => symbol.as_function(),
        _ => None,
    };
    let Some(function) = function else { return Ok(()) };
    // A kernel in its final form has the implicit parameter.
    let parameters = u32::from(KernelName::parse(&symbol.name()).is_some());
    let function_type = function.get_type();
    if function_type.get_return_type().is_some() || function_type.count_param_types() > parameters {
        return Err(PassError::ConstructorSignature {
            symbol: symbol.name(),
            mark: mark.word(),
        });
    }
    Ok(())
}

fn check_agreement(symbol: Symbol<'_>, first: Option<Mark>, second: Option<Mark>) -> Result<(), PassError> {
    match (first, second) {
        (Some(first), Some(second)) if first != second => Err(PassError::ConflictingMarkers {
            symbol: symbol.name(),
            first: first.word(),
            second: second.word(),
        }),
        _ => Ok(()),
    }
}

/// Whether any symbol has an attribute, an annotation or a section that marks it, whatever it says.
pub(crate) fn any_explicit(module: &Module<'_>) -> bool {
    let is_marked =
        |symbol: Symbol<'_>| symbol.string_attribute(ATTRIBUTE).is_some() || marker_section(symbol).is_some();
    !nodes(module, REQUIRES_METADATA).is_empty()
        || variables(module).into_iter().any(is_marked)
        || functions(module).into_iter().any(is_marked)
        || has_annotation(module, ANNOTATION_PREFIX)
}

/// What the module requires of the runtime; `None`: it does not say. Modules that were joined may all say the
/// same.
pub(crate) fn requires(module: &Module<'_>) -> Result<Option<u32>, PassError> {
    let mut nodes = nodes(module, REQUIRES_METADATA);
    nodes.dedup();
    match nodes.as_slice() {
        [] => Ok(None),
        [node] => match node.as_slice() {
            [Operand::Integer(clauses)] if *clauses != 0 && clauses & !REQUIRES_CLAUSES == 0 => {
                Ok(Some(*clauses))
            }
            _ => Err(PassError::MalformedRequires),
        },
        _ => Err(PassError::MalformedRequires),
    }
}

/// Marks the symbol as an attribute would.
pub(crate) fn mark(symbol: Symbol<'_>, mark: Mark) {
    symbol.set_string_attribute(ATTRIBUTE, mark.word());
}

/// Takes the attribute or the section away.
pub(crate) fn clear(symbol: Symbol<'_>) {
    symbol.remove_string_attribute(ATTRIBUTE);
    symbol.remove_string_attribute(NAME_ATTRIBUTE);
    if marker_section(symbol).is_some() {
        symbol.set_section(None);
    }
}

/// The name of the device constant that holds the address of an `indirect` function or table.
pub(crate) fn indirect_name(symbol: Symbol<'_>) -> String {
    symbol.string_attribute(NAME_ATTRIBUTE).unwrap_or_else(|| {
        let of_function = kernel_of_function(&symbol.name());
        match symbol.kind() {
            SymbolKind::Variable => of_function + VTABLE_SUFFIX,
            _ => of_function,
        }
    })
}

/// The kernel that a marked function gets, of Clang's scheme with numbers that no directive has.
pub(crate) fn kernel_of_function(function: &str) -> String {
    let name = KernelName {
        device_id: 0,
        file_id: 0,
        parent: function,
        line: 0,
        count: 0,
    };
    name.to_string()
}

/// Whether the source asked for the symbol's default visibility.
pub(crate) fn is_explicit_default(symbol: Symbol<'_>) -> Result<bool, PassError> {
    match symbol.string_attribute(VISIBILITY_ATTRIBUTE).as_deref() {
        None => Ok(false),
        Some("default") => Ok(true),
        Some(other) => Err(PassError::UnknownMarker {
            symbol: symbol.name(),
            value: other.to_owned(),
            allowed: "`offload-visibility` can be `default`",
        }),
    }
}

fn marker_section(symbol: Symbol<'_>) -> Option<String> {
    Some(symbol.section()?.strip_prefix(SECTION_PREFIX)?.to_owned())
}

fn read(symbol: Symbol<'_>, word: &str) -> Result<Mark, PassError> {
    Mark::from_word(word, symbol.kind()).ok_or_else(|| PassError::UnknownMarker {
        symbol: symbol.name(),
        value: word.to_owned(),
        allowed: match symbol.kind() {
            SymbolKind::Function => {
                "a function can be marked `kernel`, `function`, `indirect`, `ctor` or `dtor`"
            }
            _ => "a variable can be marked `to`, `enter`, `link` or, from LLVM 22 on, `indirect`",
        },
    })
}
