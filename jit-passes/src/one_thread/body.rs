//! Copies of the functions of regions, to be called by one thread that formed no team.

use std::collections::{HashMap, HashSet};

use offloom_ir::call_rewriting::{is_library_function, replace_instruction, set_callee};
use offloom_ir::call_sites::THREAD_NUMBERS;
use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::basic_block::BasicBlock;
use offloom_ir::inkwell::builder::{Builder, BuilderError};
use offloom_ir::inkwell::context::ContextRef;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue,
};
use offloom_ir::symbol::{Symbol, SymbolKind};
use offloom_ir::value_uses::{called_function, operand};

use super::guard::runtime_function;
use super::runtime_calls::{Outcome, fits, outcome, replace};
use super::{called_name, calls};

/// What follows a function's name in the name of its copy.
const SUFFIX: &str = ".one_thread";

/// What a region's operands begin with: source location, number of captured variables, function.
pub(super) const BEFORE_CAPTURED: u32 = 3;

/// Functions that LLVM knows of C's library and that call what they get, which may be no function's name but
/// a value.
const CALLING_BACK: [&str; 3] = ["__cxa_atexit", "atexit", "qsort"];

/// In which region a function is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// In `teams`, outside `parallel`.
    Teams,
    /// In `parallel`.
    Parallel,
}

/// The copies in a module.
pub struct Bodies<'module, 'ctx> {
    module: &'module Module<'ctx>,
    copies: HashMap<(FunctionValue<'ctx>, Level), FunctionValue<'ctx>>,
}

/// What is done about a call.
enum Action<'ctx> {
    /// It stays as it is.
    Nothing,
    /// It goes to a copy of the function.
    Copy(FunctionValue<'ctx>),
    /// It becomes what it comes to with one thread.
    Runtime(Outcome),
    /// It begins a region, and becomes a call of a copy of the function.
    Region(FunctionValue<'ctx>),
}

impl<'module, 'ctx> Bodies<'module, 'ctx> {
    /// No copies yet.
    pub fn new(module: &'module Module<'ctx>) -> Self {
        Self {
            module,
            copies: HashMap::new(),
        }
    }

    /// Whether the function of a region, with everything it calls, does the same when one thread calls it
    /// without having formed a team.
    pub fn can_be_called(body: FunctionValue<'ctx>, level: Level) -> bool {
        let mut seen = HashSet::from([(body, level)]);
        let mut open = vec![(body, level)];
        while let Some((function, level)) = open.pop() {
            if !Symbol::from(function).is_own_definition() || function.get_type().is_var_arg() {
                return false;
            }
            for call in calls(function) {
                let next = match action(call, level) {
                    None => return false,
                    Some(Action::Nothing | Action::Runtime(_)) => continue,
                    Some(Action::Copy(callee)) => (callee, level),
                    Some(Action::Region(body)) => (body, Level::Parallel),
                };
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        true
    }

    /// A copy of a function that [`can_be_called`](Self::can_be_called), to be called by one thread.
    ///
    /// # Errors
    /// When an instruction cannot be built.
    pub fn copy(
        &mut self,
        body: FunctionValue<'ctx>,
        level: Level,
    ) -> Result<FunctionValue<'ctx>, BuilderError> {
        let mut open = Vec::new();
        let copy = self.declare(body, level, &mut open);
        while let Some((copy, level)) = open.pop() {
            // All calls are found before the first is replaced.
            let calls: Vec<_> = calls(copy).collect();
            for call in calls {
                match action(call, level) {
                    None | Some(Action::Nothing) => {}
                    Some(Action::Copy(callee)) => {
                        let callee = self.declare(callee, level, &mut open);
                        set_callee(call, callee);
                    }
                    Some(Action::Runtime(outcome)) => replace(self.module.get_context(), call, outcome)?,
                    Some(Action::Region(body)) => {
                        let body = self.declare(body, Level::Parallel, &mut open);
                        self.call_region(call, body)?;
                    }
                }
            }
        }
        Ok(copy)
    }

    /// The function's copy; a new one has to be worked on.
    fn declare(
        &mut self,
        function: FunctionValue<'ctx>,
        level: Level,
        open: &mut Vec<(FunctionValue<'ctx>, Level)>,
    ) -> FunctionValue<'ctx> {
        *self.copies.entry((function, level)).or_insert_with(|| {
            let copy = Symbol::from(function).clone_function();
            copy.set_name(&format!("{}{SUFFIX}", Symbol::from(function).name()));
            let copy = copy.as_function().unwrap_or(function);
            open.push((copy, level));
            copy
        })
    }

    fn call_region(
        &self,
        fork: InstructionValue<'ctx>,
        body: FunctionValue<'ctx>,
    ) -> Result<(), BuilderError> {
        let context = self.module.get_context();
        let builder = context.create_builder();
        let function = fork.get_parent().and_then(BasicBlock::get_parent).unwrap_or(body);
        let location = operand(fork, 0);
        let captured: Vec<_> = captured(fork).collect();
        build_call(
            self.module,
            &builder,
            function,
            Some(fork),
            body,
            location,
            &captured,
        )?;
        replace_instruction(fork, None);
        Ok(())
    }
}

/// The values that a fork hands over.
pub(super) fn captured<'ctx>(fork: InstructionValue<'ctx>) -> impl Iterator<Item = BasicValueEnum<'ctx>> {
    // The last operand is the callee.
    (BEFORE_CAPTURED..fork.get_num_operands().saturating_sub(1)).filter_map(move |index| operand(fork, index))
}

/// Whether the region's function takes what the fork hands over.
pub(super) fn takes<'ctx>(body: FunctionValue<'ctx>, fork: InstructionValue<'ctx>) -> bool {
    let given = captured(fork).map(|value| value.get_type());
    let taken = body.get_param_iter().skip(THREAD_NUMBERS as usize);
    body.get_type().get_return_type().is_none()
        && body.count_params() >= THREAD_NUMBERS
        && given.eq(taken.map(|parameter| parameter.get_type()))
}

/// Calls a region's function as the runtime would: with addresses of the thread's number in the program and
/// of that in the team, zero. Before an instruction of the function, or where the builder is.
pub(super) fn build_call<'ctx>(
    module: &Module<'ctx>,
    builder: &Builder<'ctx>,
    function: FunctionValue<'ctx>,
    before: Option<InstructionValue<'ctx>>,
    body: FunctionValue<'ctx>,
    location: Option<BasicValueEnum<'ctx>>,
    captured: &[BasicValueEnum<'ctx>],
) -> Result<(), BuilderError> {
    let context = module.get_context();
    let int = context.i32_type();
    let variables = context.create_builder();
    if let Some(entry) = function.get_first_basic_block() {
        match entry.get_first_instruction() {
            Some(first) => variables.position_before(&first),
            None => variables.position_at_end(entry),
        }
    }
    let thread = variables.build_alloca(int, "thread")?;
    let in_team = variables.build_alloca(int, "thread_in_team")?;
    if let Some(before) = before {
        builder.position_before(&before);
    }
    if let Some(location) = location {
        let ask = int.fn_type(&[location.get_type().into()], false);
        let ask = runtime_function(module, "__kmpc_global_thread_num", ask);
        let call = builder.build_call(ask, &[location.into()], "number")?;
        has_no_effect(context, call);
        if let Some(number) = call.try_as_basic_value().basic() {
            builder.build_store(thread, number)?;
        }
    }
    builder.build_store(in_team, int.const_zero())?;
    let mut arguments: Vec<BasicMetadataValueEnum<'ctx>> = vec![thread.into(), in_team.into()];
    arguments.extend(captured.iter().map(|&value| BasicMetadataValueEnum::from(value)));
    let call = builder.build_call(body, &arguments, "")?;
    call.set_call_convention(body.get_call_conventions());
    Ok(())
}

/// A call whose result nobody wants may go.
fn has_no_effect<'ctx>(context: ContextRef<'ctx>, call: CallSiteValue<'ctx>) {
    for name in ["nounwind", "willreturn", "memory"] {
        let kind = Attribute::get_named_enum_kind_id(name);
        call.add_attribute(AttributeLoc::Function, context.create_enum_attribute(kind, 0));
    }
}

/// What is done about a call in a function that is executed at this level; `None` where a direct call would
/// be noticed.
fn action<'ctx>(call: InstructionValue<'ctx>, level: Level) -> Option<Action<'ctx>> {
    let callee = called_function(call)?;
    let global = Symbol::from(callee);
    // What ends the program does so wherever it is called, and no region is left by `longjmp`.
    if global.is_intrinsic() || global.never_returns() {
        return Some(Action::Nothing);
    }
    if !global.is_declaration() {
        // It is looked into whether it can be copied.
        return Some(Action::Copy(callee));
    }
    let name = called_name(call)?;
    if let Some(outcome) = outcome(&name, level) {
        if call.get_opcode() != InstructionOpcode::Call || !fits(call, outcome) {
            return None;
        }
        if outcome != Outcome::Region {
            return Some(Action::Runtime(outcome));
        }
        let body = Symbol::of_value(operand(call, 2)?).and_then(Symbol::as_function)?;
        return takes(body, call).then_some(Action::Region(body));
    }
    (is_library_function(callee) && !CALLING_BACK.contains(&name.as_str()) && !gets_function(call))
        .then_some(Action::Nothing)
}

/// Whether a call hands over a function, which would be called where no team was formed.
fn gets_function(call: InstructionValue<'_>) -> bool {
    (0..call.get_num_operands().saturating_sub(1))
        .filter_map(|index| operand(call, index))
        .filter_map(Symbol::of_value)
        .any(|global| global.kind() == SymbolKind::Function)
}
