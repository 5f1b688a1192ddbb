//! What can be wrong with a pass's parameters or with the module it runs on.

use crate::entry_record::OtherLlvmEntry;
use crate::markers::REQUIRES_METADATA;
use llvm_plugin::parameters::ParameterError;
use offloom_descriptor::DescriptorError;
use offloom_ir::library::LibraryError;
use offloom_jit_passes::JitPassError;
use offloom_jit_passes::match_bits::MatchBitsError;
use offloom_jit_passes::retarget::RetargetError;
use offloom_jit_passes::specialize::SpecializeError;

/// Reported as an LLVM error diagnostic, after the pass's name and the module's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    /// The text between `<` and `>` cannot be taken apart.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A parameter that the pass does not have.
    #[error("unknown parameter `{key}`: {}", known_parameters(known))]
    UnknownParameter {
        /// The parameter as it was written.
        key: String,
        /// Those that the pass has.
        known: &'static [&'static str],
    },
    /// A parameter without the value it needs.
    #[error("the parameter `{key}` needs a value: write `{key}=…`")]
    MissingValue {
        /// The parameter.
        key: &'static str,
    },
    /// A parameter that is a number and was given something else.
    #[error("the parameter `{key}` is a number, and `{value}` is none")]
    NotANumber {
        /// The parameter.
        key: &'static str,
        /// What was given.
        value: String,
    },
    /// The standard output does not take what a pass prints.
    #[error("cannot write to the standard output: {0}")]
    Print(std::io::Error),
    /// A pass of the JIT.
    #[error(transparent)]
    Jit(#[from] JitPassError),
    /// A processor that the image's code cannot be compiled for.
    #[error(transparent)]
    Retarget(#[from] RetargetError),
    /// A marker whose value says nothing.
    #[error("`{symbol}` is marked `{value}` for offloading, which is not known: {allowed}")]
    UnknownMarker {
        /// The marked symbol.
        symbol: String,
        /// What the marker says.
        value: String,
        /// What it may say.
        allowed: &'static str,
    },
    /// Two markers that contradict each other.
    #[error("`{symbol}` is marked both `{first}` and `{second}` for offloading: leave one of the markers")]
    ConflictingMarkers {
        /// The marked symbol.
        symbol: String,
        /// What one marker says.
        first: &'static str,
        /// What the other one says.
        second: &'static str,
    },
    /// A marked symbol whose name is not text.
    #[error("the name of the marked `{symbol}` is not UTF-8, and entries hold names as text: rename it")]
    NameNotText {
        /// The symbol, with other characters for what is not UTF-8.
        symbol: String,
    },
    /// A target whose code lays out pointers as these passes do not.
    #[error(
        "device code for SPIR-V is only made by Clang: its kernels and pointers are in address spaces of their own"
    )]
    Spirv,
    /// A variable that is reached through a pointer, and that other files cannot see.
    #[error(
        "the variable `{symbol}` is marked `link` but is local to its file, and a variable of that name in another file would share \
         its pointer: give it external linkage, with hidden visibility if other shared libraries have one too"
    )]
    LocalLink {
        /// The variable.
        symbol: String,
    },
    /// A marked function that other files cannot see.
    #[error(
        "the function `{symbol}` is marked `{mark}` but is local to its file, and another file may have a function of that \
         name: give it external linkage"
    )]
    LocalKernel {
        /// The marked function.
        symbol: String,
        /// What the marker says.
        mark: &'static str,
    },
    /// A constructor or destructor that nobody could call.
    #[error(
        "the function `{symbol}` is marked `{mark}` but has parameters or a result: such a function gets and gives nothing"
    )]
    ConstructorSignature {
        /// The marked function.
        symbol: String,
        /// What the marker says.
        mark: &'static str,
    },
    /// A marked function that a launch could not call.
    #[error("the function `{symbol}` is marked as a kernel but {problem}")]
    NotLaunchable {
        /// The marked function.
        symbol: String,
        /// What about it, and what to do.
        problem: String,
    },
    /// A function with a kernel's name that a launch could not call.
    #[error("`{symbol}` has the name of a kernel in its final form but {problem}")]
    NotInFinalForm {
        /// The function.
        symbol: String,
        /// What about it, and what to do.
        problem: String,
    },
    /// A limit of launches that is none.
    #[error(
        "the function `{symbol}` is marked as a kernel and has `\"{attribute}\"=\"{value}\"`, which is not a number from 1 to {}",
        u16::MAX
    )]
    NotALimit {
        /// The marked function.
        symbol: String,
        /// The attribute.
        attribute: &'static str,
        /// What it says.
        value: String,
    },
    /// LLVM refuses to build a function.
    #[error("`{symbol}` cannot be built: {problem}")]
    Builder {
        /// The function.
        symbol: String,
        /// LLVM's words.
        problem: String,
    },
    /// An offload entry that the other LLVM made.
    #[error("the module {0}")]
    OtherLlvm(#[from] OtherLlvmEntry),
    /// A `requires` marker that is not a set of clauses.
    #[error(
        "`!{REQUIRES_METADATA}` must be `!{{!{{i32 clauses}}}}`, the sum of 2 (reverse_offload), 4 (unified_address), 8 (unified_shared_memory) \
         and 16 (dynamic_allocators)"
    )]
    MalformedRequires,
    /// A host module that a device module cannot be made for.
    #[error("the host module `{file}` {problem}")]
    HostModule {
        /// The host module's file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A module that should be a device module.
    #[error(
        "this is a host module, because it defines the region id `{symbol}`: run this pass on the module for the device"
    )]
    NotADeviceModule {
        /// The region id.
        symbol: String,
    },
    /// A device module that does not fit its host module.
    #[error(
        "`{symbol}`, which the host module `{host}` offloads, {problem}: compile both modules from the same source"
    )]
    UnlikeHost {
        /// The device symbol.
        symbol: String,
        /// The host module's file.
        host: String,
        /// What is different in this module.
        problem: String,
    },
    /// A file with symbols to keep that cannot be read.
    #[error("the file `{file}` with the symbols to keep cannot be read: {problem}")]
    KeepFile {
        /// The file.
        file: String,
        /// The system's words.
        problem: std::io::Error,
    },
    /// A file with a descriptor that cannot be read.
    #[error("the file `{file}` with the descriptor cannot be read: {problem}")]
    DescriptorFile {
        /// The file.
        file: String,
        /// The system's words.
        problem: std::io::Error,
    },
    /// A text that is no descriptor.
    #[error("{source}: {problem}", source = file.as_deref().unwrap_or("parameter `descriptor`"))]
    Descriptor {
        /// The file it is in; none: it is the parameter itself.
        file: Option<String>,
        /// What is wrong with it.
        problem: DescriptorError,
    },
    /// A mode that the pass does not have.
    #[error(
        "unknown mode `{0}`: write `mode=match` (the ahead-of-time code's bits) or `mode=source` (what the constants in the source give)"
    )]
    UnknownMode(String),
    /// A descriptor that does not fit the module.
    #[error(transparent)]
    Specialize(#[from] SpecializeError),
    /// Code whose bits cannot be kept.
    #[error(transparent)]
    MatchBits(#[from] MatchBitsError),
    /// A library that cannot be linked.
    #[error("the library `{file}` {problem}")]
    Library {
        /// The library's file.
        file: String,
        /// What is wrong with it.
        problem: LibraryError,
    },
    /// A `link` variable whose address would have to be known before the program runs.
    #[error(
        "the initial value of `{user}` holds the address of `{symbol}`, which device code knows only through a pointer \
         (`link`): store the address when the program runs, or mark `{symbol}` as `to`"
    )]
    LinkAddressNeeded {
        /// The `link` variable.
        symbol: String,
        /// The symbol that needs its address.
        user: String,
    },
    /// The symbol that must become another one is something else.
    #[error(
        "`{symbol}` exists already and is something else than the {expected} that has to be made under this name"
    )]
    NameTaken {
        /// The name.
        symbol: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The symbol that must become a kernel's region id is something else.
    #[error("`{symbol}` must be a variable of type i8, because it is the region id of a kernel")]
    RegionIdTaken {
        /// The name of the region id.
        symbol: String,
    },
    /// A node of `omp_offload.info` that is neither a target region nor a global.
    #[error("operand {index} of `!omp_offload.info` is malformed: {problem}")]
    MalformedInfo {
        /// Position in the list, from 0.
        index: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two nodes of `omp_offload.info` with the same order number.
    #[error(
        "operand {index} of `!omp_offload.info`, `{symbol}`, has the order number {order}, which `{other}` has already"
    )]
    DuplicateOrder {
        /// Position of the second of them in the list, from 0.
        index: usize,
        /// The number.
        order: u32,
        /// What the second of them stands for.
        symbol: String,
        /// What the first of them stands for.
        other: String,
    },
    /// Two nodes of `omp_offload.info` for the same symbol.
    #[error("operand {index} of `!omp_offload.info` lists `{symbol}`, which another operand lists already")]
    ListedTwice {
        /// Position of the second of them in the list, from 0.
        index: usize,
        /// The device symbol.
        symbol: String,
    },
    /// The highest order number is taken.
    #[error(
        "`{symbol}` cannot be added to `!omp_offload.info`: an operand has the highest order number, {}",
        u32::MAX
    )]
    OrderNumbersUsedUp {
        /// The device symbol that needs another one.
        symbol: String,
    },
    /// A variable that each thread has its own of.
    #[error(
        "the variable `{symbol}` is marked `{mark}` but is thread-local, and no entry can hold its address"
    )]
    ThreadLocal {
        /// The marked variable.
        symbol: String,
        /// What the marker says.
        mark: &'static str,
    },
    /// Two functions that would have the same device symbol.
    #[error(
        "the functions `{first}` and `{second}` are both marked to have the device symbol `{symbol}`: name one otherwise"
    )]
    SameDeviceSymbol {
        /// A marked function.
        first: String,
        /// Another one.
        second: String,
        /// The device symbol.
        symbol: String,
    },
}

fn known_parameters(known: &[&str]) -> String {
    match known {
        [] => "this pass has no parameters".to_owned(),
        [one] => format!("the only parameter of this pass is `{one}`"),
        several => format!("the parameters of this pass are `{}`", several.join("`, `")),
    }
}
