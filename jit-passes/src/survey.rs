//! Finds a device module's kernels, what each reaches, and the anchors: what a variant must share with the
//! base image.
//!
//! A variant may own code and nothing else. Shared are
//! - variables, mutable or not: a variant never owns a copy of mutable state, and the address of a constant
//!   may be compared with, or outlive, the variant that took it;
//! - functions whose address is used other than as a callback that the OpenMP runtime calls and then forgets.
//!   The address equals the one that ahead-of-time code takes, and whoever keeps it may call it after the
//!   variant's code was freed: a task, an exit handler, a thread;
//! - whatever the module only declares, so that it resolves as it does in the image;
//! - what the module defines of the functions that code generation calls by itself: it does so in variants,
//!   too, and by name;
//! - the kernels' ahead-of-time code, for launches of which a variant finds that it is not for them.

use std::collections::{HashMap, HashSet};

use offloom_abi::jit_base_image::OWN_UNWINDER_METADATA;
use offloom_abi::jit_device_image::MAX_ANCHORS;
use offloom_abi::jit_image::ANCHOR_PREFIX;
use offloom_abi::kernel_name;
use offloom_ir::gpu::is_address_observed;
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::types::BasicTypeEnum;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::metadata::{Operand, append_node, nodes};
use offloom_ir::runtime_calls::is_runtime_call;
use offloom_ir::symbol::{AddressUse, Symbol, SymbolKind, symbols};

use crate::ahead_of_time;
use crate::argument_list;
use crate::assembly::Assembly;
use crate::floating_point_environment;
use crate::gpu;
use crate::gpu::obstacles::Surroundings;

/// Functions of the OpenMP runtime that call what they are handed, compare nothing, and have forgotten it
/// when they return. What others are handed is kept: tasks run when the runtime likes, after the kernel's
/// return too (`__kmpc_omp_task_alloc`, `__kmpc_taskloop`), and destructors when a thread ends
/// (`__kmpc_threadprivate_register`).
const OPENMP_CALLERS: [&str; 8] = [
    "__kmpc_copyprivate",
    "__kmpc_fork_call",
    "__kmpc_fork_call_if",
    "__kmpc_fork_teams",
    "__kmpc_parallel_51",
    "__kmpc_parallel_60",
    "__kmpc_reduce",
    "__kmpc_reduce_nowait",
];

/// Variables whose initialiser gives functions and variables to the linker, the loader or the offload
/// runtime, none of which compares addresses.
const TABLES: [&str; 4] = [
    "llvm.used",
    "llvm.compiler.used",
    "llvm.global_ctors",
    "llvm.global_dtors",
];

/// What the survey found. Names are those in the module at the time of the survey, which gives a name to what
/// has none.
#[derive(Debug, Default)]
pub struct Survey {
    /// Kernels that get a stub, in the order of the module.
    pub kernels: Vec<String>,
    /// What the variants of these kernels share with the base image.
    pub anchors: Vec<Anchor>,
    /// Kernels that stay ahead of time, each with the reason.
    pub left_ahead_of_time: Vec<(String, Obstacle)>,
}

/// One thing shared between the base image and its variants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Its name in the device module; of ahead-of-time code the one that it has once stubs are there.
    pub name: String,
    /// The name by which variants refer to it: [`ANCHOR_PREFIX`] and the index for what the module defines;
    /// its own name for what it only declares, since the optimiser knows library functions by name, for what
    /// code generation calls, and for ahead-of-time code.
    pub symbol: String,
}

/// Why a kernel cannot have variants.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The JIT linker has no thread-local storage that the image could share.
    #[error("it uses the thread-local variable `{0}`")]
    ThreadLocal(String),
    /// Pointers to it are no pointers like those that the image has a table of.
    #[error("it uses the variable `{0}`, which is in an address space of its own")]
    AddressSpace(String),
    /// Which function it stands for is decided when the image is loaded.
    #[error("it uses the indirect function (ifunc) `{0}`")]
    IndirectFunction(String),
    /// Frames of variants are registered with the shared library's unwinder (`libgcc_s.so.1`), and no other
    /// can be told of them.
    #[error("it handles exceptions, and the program has an unwinder of its own (-static-libgcc)")]
    OwnUnwinder,
    /// LLVM computes with constants as if the environment was the default one, and nobody asked.
    #[error("it calls `{0}`, which reads or changes the floating-point environment")]
    FloatingPointEnvironment(String),
    /// LLVM sees neither that the symbol is used nor by which name a variant would have it.
    #[error("its inline assembly names `{0}`")]
    NamedInAssembly(String),
    /// Block addresses belong to one copy of the code.
    #[error("`{0}` takes the address of a label (computed goto)")]
    LabelAddress(String),
    /// A GPU's address of code means nothing in another module.
    #[error("`{0}` calls through a pointer, which may lead into the base image")]
    CallsThroughPointer(String),
    /// The same, in the other direction.
    #[error("the address of `{0}` is kept, and means something in one module only")]
    FunctionAddress(String),
    /// Native code of a GPU's image, which a variant cannot call.
    #[error("it calls `{0}`, which is not in the device bitcode")]
    OutsideBitcode(String),
    /// Which definition counts is decided by the device linker.
    #[error("it calls `{0}`, which another definition may replace (a weak symbol)")]
    Replaceable(String),
    /// Variants could not be linked.
    #[error("the link has no device runtime as bitcode (libomptarget-nvptx-sm_N.bc or libompdevice.a)")]
    NoDeviceRuntime,
    /// There is no room for the table of addresses.
    #[error("the image has more variables than a variant's table has room for")]
    TooManyAnchors,
    /// A parameter that is no 8-byte word.
    #[error("its parameter {0} is neither a pointer nor a 64-bit integer")]
    Parameter(u32),
    /// Its arguments stay in their list.
    #[error("what it does with its list of arguments is not known, or it cannot be inlined (computed goto)")]
    ArgumentList,
    /// A kernel returns nothing.
    #[error("it returns a value")]
    ReturnsValue,
}

/// Whether the global is a kernel's entry point: defined, named by the offload scheme, exported.
pub fn is_kernel(global: Symbol<'_>) -> bool {
    global.kind() == SymbolKind::Function
        && !global.is_declaration()
        && !matches!(
            global.as_global_value().get_linkage(),
            Linkage::Internal | Linkage::Private
        )
        && global.name().starts_with(kernel_name::PREFIX)
}

/// Everything that a kernel's code can get at, without the kernel itself.
pub(crate) fn reached_from(kernel: Symbol<'_>) -> Vec<Symbol<'_>> {
    Reached::from(kernel).in_order
}

/// Surveys the module. Aliases that stand for one thing must have been resolved
/// ([`offloom_ir::module::resolve_aliases`]). `gpu`:
/// what is beside a GPU's module.
pub fn survey(module: &Module<'_>, gpu: Option<&Surroundings>) -> Survey {
    name_everything(module);
    let mut survey = Survey::default();
    let mut shared = Reached::default();
    let functions = FunctionObstacles::read(module);
    for kernel in symbols(module).into_iter().filter(|&global| is_kernel(global)) {
        let reached = Reached::from(kernel);
        let function = kernel.as_function();
        let listed = function.filter(|&function| argument_list::has_list(module, function));
        let obstacle = listed.map(|_| Obstacle::ArgumentList);
        let obstacle = obstacle.or_else(|| function.and_then(signature_obstacle));
        let mut with_kernel = std::iter::once(kernel).chain(reached.in_order.iter().copied());
        let obstacle = obstacle
            .or_else(|| reached.obstacle(gpu.is_some()))
            .or_else(|| with_kernel.find_map(|global| obstacle_of(global, &functions, gpu)));
        match obstacle {
            Some(obstacle) => survey.left_ahead_of_time.push((kernel.name(), obstacle)),
            None => {
                survey.kernels.push(kernel.name());
                shared.merge(reached);
            }
        }
    }
    if gpu.is_some() {
        add_gpu_anchors(&mut survey, &shared);
        return survey;
    }
    let of_code_generation = symbols(module)
        .into_iter()
        .filter(|&global| is_of_code_generation(global) && !shared.set.contains(&global))
        .collect::<Vec<_>>();
    for global in shared.in_order.into_iter().chain(of_code_generation) {
        if !must_be_shared(global) {
            continue;
        }
        let name = global.name();
        let symbol = if global.is_declaration() || is_of_code_generation(global) {
            name.clone()
        } else {
            format!("{ANCHOR_PREFIX}{}", survey.anchors.len())
        };
        survey.anchors.push(Anchor { name, symbol });
    }
    let ahead_of_time = survey.kernels.iter().map(|kernel| ahead_of_time::anchor(kernel));
    survey.anchors.extend(ahead_of_time);
    survey
}

/// Anchors of a GPU's image: variables in global memory. All go by number, since a table has them.
fn add_gpu_anchors(survey: &mut Survey, shared: &Reached<'_>) {
    let anchors = shared.in_order.iter().filter(|&&global| is_gpu_anchor(global));
    for (number, anchor) in anchors.enumerate() {
        survey.anchors.push(Anchor {
            name: anchor.name(),
            symbol: format!("{ANCHOR_PREFIX}{number}"),
        });
    }
    if survey.anchors.len() > MAX_ANCHORS {
        survey.anchors.clear();
        let kernels = survey.kernels.drain(..);
        survey
            .left_ahead_of_time
            .extend(kernels.map(|kernel| (kernel, Obstacle::TooManyAnchors)));
    }
}

/// Whether a variant for a GPU has to use the base image's copy: of what code writes, and of constants whose
/// address the program may look at or keep. What is in shared memory is the team's, and a kernel's
/// environment goes with its code.
fn is_gpu_anchor(global: Symbol<'_>) -> bool {
    is_anchor_beside(global, &mut HashSet::from([global]))
}

/// The same, but for what constants hold that are being looked at already.
fn is_anchor_beside<'ctx>(global: Symbol<'ctx>, seen: &mut HashSet<Symbol<'ctx>>) -> bool {
    if global.kind() != SymbolKind::Variable
        || gpu::is_environment(global)
        || !matches!(gpu::address_space(global), 0 | gpu::GLOBAL_MEMORY)
    {
        return false;
    }
    let has_copies = global.is_constant()
        && !global.is_declaration()
        && !global.is_interposable()
        && !is_address_observed(global)
        && !holds_anchor(global, seen);
    !has_copies
}

/// Whether a constant's value has the address of an anchor in it, which only the base image's copy has.
fn holds_anchor<'ctx>(constant: Symbol<'ctx>, seen: &mut HashSet<Symbol<'ctx>>) -> bool {
    let mut held = constant.references().into_iter();
    held.any(|held| seen.insert(held) && is_anchor_beside(held, seen))
}

/// Why no kernel that reaches this, or is it, can have variants.
fn obstacle_of<'ctx>(
    global: Symbol<'ctx>,
    functions: &FunctionObstacles<'ctx>,
    gpu: Option<&Surroundings>,
) -> Option<Obstacle> {
    let of_gpu = gpu.and_then(|surroundings| surroundings.obstacle(global));
    of_gpu.or_else(|| functions.of(global))
}

/// Whether a variant has to use the base image's copy.
fn must_be_shared(global: Symbol<'_>) -> bool {
    match global.kind() {
        SymbolKind::Variable => true,
        SymbolKind::Function if global.is_intrinsic() => false,
        SymbolKind::Function => {
            global.is_declaration()
                || global.is_interposable()
                || is_of_code_generation(global)
                || address_matters(global)
        }
        SymbolKind::Alias | SymbolKind::IFunc => true,
    }
}

/// Whether it is the program's own definition of a function that code generation calls by its name.
fn is_of_code_generation(global: Symbol<'_>) -> bool {
    let value = global.as_global_value();
    let is_found_by_name = !matches!(value.get_linkage(), Linkage::Internal | Linkage::Private);
    global.kind() == SymbolKind::Function
        && !global.is_declaration()
        && is_found_by_name
        && is_runtime_call(value.into())
}

/// Whether the program can tell which copy of a function's code an address belongs to, or call that copy
/// after the kernel's return.
fn address_matters(function: Symbol<'_>) -> bool {
    function
        .address_uses()
        .into_iter()
        .any(|address_use| match address_use {
            AddressUse::Callee | AddressUse::FunctionData => false,
            AddressUse::Argument { callee } => !is_openmp_caller(callee),
            // What is left of an alias is a name for other objects, or one to which they may give a meaning.
            AddressUse::Initializer { of } => !is_table(of) && of.kind() != SymbolKind::Alias,
            AddressUse::Comparison | AddressUse::Other => true,
        })
}

fn is_openmp_caller(function: Symbol<'_>) -> bool {
    function.is_declaration() && OPENMP_CALLERS.contains(&function.name().as_str())
}

/// Whether the variable is one of the tables, or an offload entry, that only hand symbols on.
pub(crate) fn is_table(global: Symbol<'_>) -> bool {
    let name = global.name();
    TABLES.contains(&name.as_str()) || name.starts_with(offloom_abi::entry::GLOBAL_PREFIX)
}

/// What is in the functions of a module that no variant can have.
struct FunctionObstacles<'ctx> {
    /// Functions with inline assembly that names a symbol of the module, or what the floating-point
    /// environment is changed by, each with the name.
    named_in_assembly: HashMap<Symbol<'ctx>, String>,
    own_unwinder: bool,
}

impl<'ctx> FunctionObstacles<'ctx> {
    fn read(module: &Module<'ctx>) -> Self {
        let all = symbols(module);
        let mut named_in_assembly = HashMap::new();
        for &global in &all {
            let assembly = global.as_function().map(Assembly::of_function);
            let Some(assembly) = assembly.filter(|assembly| !assembly.is_empty()) else {
                continue;
            };
            let of_environment = floating_point_environment::NAMES_IN_ASSEMBLY.map(str::to_owned);
            let mut names = all.iter().map(|other| other.name()).chain(of_environment);
            if let Some(name) = names.find(|name| assembly.may_name(name)) {
                named_in_assembly.insert(global, name);
            }
        }
        Self {
            named_in_assembly,
            own_unwinder: !nodes(module, OWN_UNWINDER_METADATA).is_empty(),
        }
    }

    fn of(&self, global: Symbol<'ctx>) -> Option<Obstacle> {
        if let Some(name) = self.named_in_assembly.get(&global) {
            return Some(Obstacle::NamedInAssembly(name.clone()));
        }
        let handles_exceptions = |function: FunctionValue<'_>| function.get_personality_function().is_some();
        let is_obstacle = self.own_unwinder && global.as_function().is_some_and(handles_exceptions);
        is_obstacle.then_some(Obstacle::OwnUnwinder)
    }
}

/// Notes in the device module that the program has an unwinder of its own.
pub fn note_own_unwinder(module: &Module<'_>) {
    append_node(module, OWN_UNWINDER_METADATA, &[Operand::Integer(1)]);
}

fn signature_obstacle(kernel: FunctionValue<'_>) -> Option<Obstacle> {
    if kernel.get_type().get_return_type().is_some() {
        return Some(Obstacle::ReturnsValue);
    }
    let parameters = kernel
        .get_param_iter()
        .map(|parameter| match parameter.get_type() {
            BasicTypeEnum::PointerType(_) => true,
            BasicTypeEnum::IntType(int) => int.get_bit_width() == 64,
            _ => false,
        });
    let wrong = parameters.into_iter().position(|is_word| !is_word)?;
    Some(Obstacle::Parameter(wrong as u32))
}

/// Unnamed globals cannot be found again in a clone of the module, nor be anchors.
fn name_everything(module: &Module<'_>) {
    for global in symbols(module) {
        if global.name().is_empty() {
            global.set_name("offloom.unnamed");
        }
    }
}

/// What code can get at, in the order it was found.
#[derive(Default)]
struct Reached<'ctx> {
    in_order: Vec<Symbol<'ctx>>,
    set: HashSet<Symbol<'ctx>>,
}

impl<'ctx> Reached<'ctx> {
    /// Everything reached from a kernel, without the kernel itself. What a mutable variable's initialiser
    /// refers to is not followed: a variant has no initialiser of it.
    fn from(kernel: Symbol<'ctx>) -> Self {
        let mut reached = Self::default();
        let mut open = vec![kernel];
        while let Some(global) = open.pop() {
            if global.kind() == SymbolKind::Variable && !global.is_constant() {
                continue;
            }
            for reference in global.references() {
                if reference != kernel && reached.insert(reference) {
                    open.push(reference);
                }
            }
        }
        if kernel.has_address_taken_block() {
            reached.insert(kernel);
        }
        reached
    }

    fn insert(&mut self, global: Symbol<'ctx>) -> bool {
        let new = self.set.insert(global);
        if new {
            self.in_order.push(global);
        }
        new
    }

    fn merge(&mut self, other: Self) {
        for global in other.in_order {
            self.insert(global);
        }
    }

    /// What is left to look at for a GPU is in [`Surroundings`].
    fn obstacle(&self, is_gpu: bool) -> Option<Obstacle> {
        self.in_order.iter().find_map(|global| {
            if global.is_thread_local() {
                return Some(Obstacle::ThreadLocal(global.name()));
            }
            let pointer = global.as_global_value().as_pointer_value();
            if !is_gpu && pointer.get_type().get_address_space() != AddressSpace::default() {
                return Some(Obstacle::AddressSpace(global.name()));
            }
            if global.kind() == SymbolKind::IFunc {
                return Some(Obstacle::IndirectFunction(global.name()));
            }
            if !is_gpu && floating_point_environment::is_function_of(*global) {
                return Some(Obstacle::FloatingPointEnvironment(global.name()));
            }
            global
                .has_address_taken_block()
                .then(|| Obstacle::LabelAddress(global.name()))
        })
    }
}
