//! The code of one function.

use offloom_ptx::Module;
use offloom_ptx::tree::{self, CallTarget, Operand, RegisterIndex, ScalarType, StateSpace};

use super::operands::{Problem, mask};
use super::{Code, Frame, Meaning, Names, Pool, order};
use crate::code::{
    Access, Atomic, Barrier, BarrierKind, Call, Carry, Change, Compare, Condition, Exchange, ExchangeKind,
    Extension, From, Function, Instruction, Load, Logic, Operation, Origin, Quaternary, SINK, Slot, Source,
    Spread, Store, Target, Ternary,
};
use crate::form::{self, Form, Type};
use crate::space::Space;

/// A register of PTX in the decoded form: registers and predicates are numbered apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub(super) is_predicate: bool,
    pub(super) index: u32,
    pub(super) bits: u32,
}

/// A function while it is decoded.
pub(super) struct Body<'a> {
    pub(super) code: &'a mut Code,
    pub(super) pool: &'a mut Pool,
    pub(super) module: &'a Module,
    pub(super) names: &'a Names,
    pub(super) function: &'a tree::Function,
    pub(super) parameters: Vec<Slot>,
    pub(super) results: Vec<Slot>,
    pub(super) variables: Vec<Slot>,
    pub(super) shared: Vec<(u32, u32)>,
    registers: Vec<Register>,
    register_count: u32,
    predicate_count: u32,
    frame: Frame,
    /// What the instructions that are emitted now belong to.
    guard: Condition,
    origin: Origin,
}

const WORD: Type = Type {
    bits: 32,
    is_signed: false,
    is_float: false,
};
const ADDRESS: Type = Type {
    bits: 64,
    is_signed: false,
    is_float: false,
};

/// Appends a function to the code.
pub(super) fn decode(
    code: &mut Code,
    pool: &mut Pool,
    module: &Module,
    names: &Names,
    symbol: &tree::Symbol,
    function: &tree::Function,
    body: &tree::Body,
) {
    let entry = code.instructions.len() as u32;
    let opcode = |text: &str| {
        tree::Opcode {
            text: text.to_owned(),
        }
        .into()
    };
    let mut frame = Frame {
        bytes: 0,
        alignment: 16,
    };
    let mut slots = |parameters: &[tree::Parameter]| -> Vec<Slot> {
        parameters
            .iter()
            .map(|parameter| frame.add(parameter.size, parameter.alignment))
            .collect()
    };
    let results = slots(&function.returns);
    let parameters = if function.is_entry {
        Vec::new()
    } else {
        slots(&function.parameters)
    };
    let mut stack_bytes: u32 = 8;
    let variables = body.variables.iter().map(|variable| {
        let slot = frame.add(variable.variable.size, variable.variable.alignment);
        if variable.variable.space == StateSpace::Local {
            stack_bytes =
                stack_bytes.saturating_add(slot.size.checked_next_multiple_of(16).unwrap_or(slot.size));
        }
        slot
    });
    let variables = variables.collect();
    let mut decoder = Body {
        code,
        pool,
        module,
        names,
        function,
        parameters,
        results,
        variables,
        shared: Vec::new(),
        registers: Vec::new(),
        register_count: 0,
        predicate_count: 0,
        frame,
        guard: Condition::constant(true),
        origin: Origin {
            line: symbol.line,
            opcode: opcode("entry"),
        },
    };
    decoder.number_registers(body);
    decoder.pass_registers(&function.parameters, true);

    let mut starts = Vec::with_capacity(body.instructions.len() + 1);
    for instruction in &body.instructions {
        starts.push(decoder.code.instructions.len() as u32);
        decoder.instruction(instruction);
    }
    starts.push(decoder.code.instructions.len() as u32);
    decoder.guard = Condition::constant(true);
    decoder.origin.opcode = opcode("ret");
    decoder.pass_registers(&function.returns, false);
    decoder.emit(Operation::Return);

    let made = Function {
        name: symbol.name.clone(),
        entry,
        length: decoder.code.instructions.len() as u32 - entry,
        registers: decoder.register_count.max(decoder.predicate_count).max(1),
        frame_bytes: decoder
            .frame
            .bytes
            .checked_next_multiple_of(16)
            .unwrap_or(decoder.frame.bytes),
        frame_alignment: decoder.frame.alignment,
        stack_bytes,
        parameters: decoder.parameters.into(),
        results: decoder.results.into(),
        is_entry: function.is_entry,
    };
    let shared = decoder.shared;
    for instruction in &mut code.instructions[entry as usize..] {
        let patch = |target: &mut u32| *target = starts.get(*target as usize).copied().unwrap_or(entry);
        match &mut instruction.operation {
            Operation::Branch { target } => patch(target),
            Operation::BranchIndexed { targets, .. } => targets.iter_mut().for_each(patch),
            _ => {}
        }
    }
    order::number(&mut code.instructions[entry as usize..], entry);
    code.functions.push(made);
    code.shared_of.push(shared);
}

impl Body<'_> {
    fn number_registers(&mut self, body: &tree::Body) {
        for range in &body.registers {
            for _ in 0..range.count {
                let is_predicate = range.scalar == ScalarType::Pred;
                let count = if is_predicate {
                    &mut self.predicate_count
                } else {
                    &mut self.register_count
                };
                self.registers.push(Register {
                    is_predicate,
                    index: *count,
                    bits: range.scalar.size() * 8,
                });
                *count += 1;
            }
        }
    }

    pub(super) fn register(&self, register: RegisterIndex) -> Result<Register, Problem> {
        let found = self.registers.get(register.0 as usize).copied();
        found.ok_or_else(|| format!("no register {}", register.0))
    }

    pub(super) fn slot(&self, slots: &[Slot], index: u32) -> Result<u32, Problem> {
        let slot = slots.get(index as usize).ok_or("an unknown variable")?;
        Ok(slot.offset)
    }

    pub(super) fn temporary(&mut self) -> u32 {
        self.register_count += 1;
        self.register_count - 1
    }

    pub(super) fn constant(&mut self, value: u64) -> Source {
        self.pool.get(value)
    }

    pub(super) fn emit(&mut self, operation: Operation) {
        self.code.instructions.push(Instruction {
            operation,
            guard: self.guard,
            rank: 0,
        });
        self.code.origins.push(self.origin.clone());
    }

    /// Moves parameters or results that are registers from or to the frame.
    fn pass_registers(&mut self, parameters: &[tree::Parameter], enter: bool) {
        if self.function.is_entry {
            return;
        }
        for (at, parameter) in parameters.iter().enumerate() {
            let Some(register) = parameter
                .register
                .and_then(|register| self.register(register).ok())
            else {
                continue;
            };
            let slot = if enter {
                self.parameters[at]
            } else {
                self.results[at]
            };
            if register.is_predicate {
                self.emit(Operation::Unknown("a predicate as a parameter".into()));
            } else {
                self.move_slot(slot, Source::register(register.index), register.bits, enter);
            }
        }
    }

    /// Loads a register from a slot of the frame, or stores it.
    fn move_slot(&mut self, slot: Slot, register: Source, bits: u32, load: bool) {
        let access = Access {
            space: Space::Local,
            from: From::Frame,
            offset: slot.offset.into(),
            size: bits / 8,
            alignment: bits / 8,
        };
        self.emit(if load {
            let extension = Extension {
                mask: mask(bits),
                is_signed: false,
            };
            let results = [register.index() as u32].into();
            Operation::Load(Box::new(Load {
                access,
                extension,
                is_volatile: false,
                results,
            }))
        } else {
            let values = [register].into();
            Operation::Store(Box::new(Store { access, values }))
        });
    }

    fn instruction(&mut self, instruction: &tree::Instruction) {
        self.origin = Origin {
            line: instruction.line,
            opcode: instruction.opcode.clone(),
        };
        self.guard = Condition::constant(true);
        let start = self.code.instructions.len();
        if let Err(problem) = self.guarded(instruction) {
            // What was begun for it is not run: the fault comes first.
            self.code.instructions.truncate(start);
            self.code.origins.truncate(start);
            self.emit(Operation::Unknown(problem.into()));
        }
    }

    fn guarded(&mut self, instruction: &tree::Instruction) -> Result<(), Problem> {
        if let Some(guard) = instruction.guard {
            let register = self.register(guard.predicate)?;
            if !register.is_predicate {
                return Err("a guard that is no predicate".to_owned());
            }
            self.guard = Condition::register(register.index, guard.is_negated);
        }
        let opcode = &instruction.opcode.text;
        let (form, kind) = form::parse(opcode).ok_or("the virtual GPU does not have this instruction")?;
        let operands = &instruction.operands[..];
        let operation = self.operation(form, kind, opcode, operands)?;
        if let Some(operation) = operation {
            self.emit(operation);
        }
        Ok(())
    }

    fn operation(
        &mut self,
        form: Form,
        kind: Type,
        opcode: &str,
        operands: &[Operand],
    ) -> Result<Option<Operation>, Problem> {
        let at = |index: usize| operands.get(index);
        Ok(Some(match form {
            Form::Arithmetic { run, spread } => self.arithmetic(run, spread, kind, operands)?,
            Form::Compare {
                run,
                combined,
                is_equality,
                of_pairs,
            } => {
                let (p, q) = match at(0) {
                    Some(Operand::Pair(pair)) => (
                        self.result_predicate(Some(&pair.0))?,
                        self.result_predicate(Some(&pair.1))?,
                    ),
                    other => (self.result_predicate(other)?, SINK),
                };
                let combined = match combined {
                    Some(logic) => Some((logic, self.condition(at(3))?)),
                    None => None,
                };
                Operation::Compare(Box::new(Compare {
                    run,
                    is_equality,
                    a: self.source(at(1), kind)?,
                    b: self.source(at(2), kind)?,
                    combined,
                    p,
                    q,
                    of_pairs,
                }))
            }
            Form::Set { run, value } => {
                let p = self.predicate_count;
                self.predicate_count += 1;
                let (a, b) = (self.source(at(1), kind)?, self.source(at(2), kind)?);
                self.emit(Operation::Compare(Box::new(Compare {
                    run,
                    is_equality: false,
                    a,
                    b,
                    combined: None,
                    p,
                    q: SINK,
                    of_pairs: false,
                })));
                Operation::FromPredicate {
                    d: self.result(at(0))?,
                    a: Condition::register(p, false),
                    value,
                }
            }
            Form::Move => self.movement(kind, operands)?,
            Form::Select => Operation::Select {
                d: self.result(at(0))?,
                a: self.source(at(1), kind)?,
                b: self.source(at(2), kind)?,
                condition: self.condition(at(3))?,
            },
            Form::Logic(Some(logic)) => Operation::Logic {
                logic,
                p: self.result_predicate(at(0))?,
                a: self.condition(at(1))?,
                b: self.condition(at(2))?,
            },
            Form::Logic(None) => Operation::Logic {
                logic: Logic::Xor,
                p: self.result_predicate(at(0))?,
                a: self.condition(at(1))?,
                b: Condition::constant(true),
            },
            Form::ToGeneric(space) => Operation::Offset {
                d: self.result(at(0))?,
                a: self.source(at(1), ADDRESS)?,
                by: space.window(),
            },
            Form::FromGeneric(space) => Operation::Offset {
                d: self.result(at(0))?,
                a: self.source(at(1), ADDRESS)?,
                by: space.window().wrapping_neg(),
            },
            Form::IsSpace(space) => Operation::IsSpace {
                p: self.result_predicate(at(0))?,
                a: self.source(at(1), ADDRESS)?,
                space,
            },
            Form::Carry {
                kind: carry,
                reads,
                writes,
            } => {
                let c = if operands.len() > 3 {
                    self.source(at(3), kind)?
                } else {
                    self.constant(0)
                };
                Operation::Carry(Box::new(Carry {
                    kind: carry,
                    bits: kind.bits,
                    is_signed: kind.is_signed,
                    reads,
                    writes,
                    result: self.result(at(0))?,
                    a: self.source(at(1), kind)?,
                    b: self.source(at(2), kind)?,
                    c,
                }))
            }
            Form::Load {
                space,
                count,
                is_volatile,
            } => self.load(space, count, kind, is_volatile, operands)?,
            Form::Store { space, count } => {
                let values = elements(at(1), count)?;
                let values: Result<_, _> = values
                    .iter()
                    .map(|value| self.source(Some(value), kind))
                    .collect();
                Operation::Store(Box::new(Store {
                    access: self.access(at(0), space, kind, count)?,
                    values: values?,
                }))
            }
            Form::Atomic {
                space,
                change,
                has_result,
            } => {
                let first = usize::from(has_result);
                let second = match change {
                    Change::Two(_) => self.source(at(first + 2), kind)?,
                    Change::One(_) => self.constant(0),
                };
                Operation::Atomic(Box::new(Atomic {
                    access: self.access(at(first), space, kind, 1)?,
                    change,
                    result: if has_result { self.result(at(0))? } else { SINK },
                    operand: self.source(at(first + 1), kind)?,
                    second,
                }))
            }
            Form::Branch => match at(0) {
                Some(Operand::Label(target)) => Operation::Branch { target: *target },
                _ => return Err("no label to branch to".to_owned()),
            },
            Form::BranchIndexed => match at(1) {
                Some(Operand::Targets(targets)) => Operation::BranchIndexed {
                    targets: targets.as_ref().into(),
                    a: self.source(at(0), WORD)?,
                },
                _ => return Err("no targets to branch to".to_owned()),
            },
            Form::Call => match at(0) {
                Some(Operand::Call(call)) => {
                    self.call(call)?;
                    return Ok(None);
                }
                _ => return Err("nothing to call".to_owned()),
            },
            Form::Return => {
                let function = self.function;
                self.pass_registers(&function.returns, false);
                Operation::Return
            }
            Form::Exit => Operation::Exit,
            Form::Barrier(barrier) => self.barrier(barrier, operands)?,
            Form::Exchange(exchange) => self.exchange(exchange, opcode, kind, operands)?,
            Form::ActiveMask => Operation::ActiveMask {
                d: self.result(at(0))?,
            },
            Form::Allocate => Operation::Allocate {
                d: self.result(at(0))?,
                size: self.source(at(1), ADDRESS)?,
                alignment: match at(2) {
                    Some(Operand::Immediate(tree::Immediate::Integer(value))) => {
                        (*value).clamp(8, 4096).next_power_of_two() as u32
                    }
                    _ => 8,
                },
            },
            Form::StackSave => Operation::StackSave {
                d: self.result(at(0))?,
            },
            Form::StackRestore => Operation::StackRestore {
                a: self.source(at(0), ADDRESS)?,
            },
            Form::Fence => Operation::Fence,
            Form::Sleep => Operation::Sleep,
            Form::Trap => Operation::Trap,
            Form::Nothing => Operation::Nothing,
        }))
    }

    fn arithmetic(
        &mut self,
        run: offloom_ptx_arithmetic::Operation,
        spread: Spread,
        kind: Type,
        operands: &[Operand],
    ) -> Result<Operation, Problem> {
        use offloom_ptx_arithmetic::Operation as Run;
        // Constants of wider inputs (`mad.wide`) are not cut off: the operation reads the bits that it needs.
        let kind = if kind.is_float { kind } else { ADDRESS };
        let mut input = |index: usize| self.source(operands.get(index), kind);
        Ok(match run {
            Run::Unary(run) => Operation::Unary {
                run,
                spread,
                a: input(1)?,
                d: self.result(operands.first())?,
            },
            Run::Binary(run) => Operation::Binary {
                run,
                spread,
                a: input(1)?,
                b: input(2)?,
                d: self.result(operands.first())?,
            },
            Run::Ternary(run) => Operation::Ternary(Box::new(Ternary {
                run,
                spread,
                inputs: [input(1)?, input(2)?, input(3)?],
                d: self.result(operands.first())?,
            })),
            Run::Quaternary(run) => Operation::Quaternary(Box::new(Quaternary {
                run,
                spread,
                inputs: [input(1)?, input(2)?, input(3)?, input(4)?],
                d: self.result(operands.first())?,
            })),
            Run::Compare(_) => return Err("a comparison with a register as its result".to_owned()),
            Run::Test(run) => Operation::Test {
                run,
                a: input(1)?,
                p: self.result_predicate(operands.first())?,
            },
        })
    }

    fn movement(&mut self, kind: Type, operands: &[Operand]) -> Result<Operation, Problem> {
        let [to, from] = operands else {
            return Err("a move has two operands".to_owned());
        };
        if kind.bits == 1 {
            return Ok(Operation::Logic {
                logic: Logic::And,
                p: self.result_predicate(Some(to))?,
                a: self.condition(Some(from))?,
                b: Condition::constant(true),
            });
        }
        Ok(match (to, from) {
            (Operand::Vector(parts), from) => {
                let bits = kind.bits / parts.len().max(1) as u32;
                let parts: Result<_, _> = parts.iter().map(|part| self.result(Some(part))).collect();
                Operation::Unpack {
                    parts: parts?,
                    a: self.source(Some(from), kind)?,
                    bits,
                }
            }
            (to, Operand::Vector(parts)) => {
                let bits = kind.bits / parts.len().max(1) as u32;
                let part = Type { bits, ..kind };
                let parts: Result<_, _> = parts.iter().map(|value| self.source(Some(value), part)).collect();
                Operation::Pack {
                    d: self.result(Some(to))?,
                    parts: parts?,
                    bits,
                }
            }
            (to, Operand::Special(register)) => Operation::Special {
                d: self.result(Some(to))?,
                register: *register,
            },
            (to, from) => Operation::Move {
                d: self.result(Some(to))?,
                a: self.source(Some(from), kind)?,
            },
        })
    }

    fn load(
        &mut self,
        space: Space,
        count: u32,
        kind: Type,
        is_volatile: bool,
        operands: &[Operand],
    ) -> Result<Operation, Problem> {
        let results = elements(operands.first(), count)?;
        let mut extension = Extension {
            mask: u64::MAX,
            is_signed: kind.is_signed,
        };
        let mut registers = Vec::new();
        for result in results {
            registers.push(self.result(Some(result))?);
            if let Operand::Register(register) = result {
                extension.mask = mask(self.register(*register)?.bits);
            }
        }
        Ok(Operation::Load(Box::new(Load {
            access: self.access(operands.get(1), space, kind, count)?,
            extension,
            is_volatile,
            results: registers.into(),
        })))
    }

    fn barrier(&mut self, kind: BarrierKind, operands: &[Operand]) -> Result<Operation, Problem> {
        let is_reduction = !matches!(kind, BarrierKind::Sync | BarrierKind::Arrive);
        let result = match kind {
            BarrierKind::Count => self.result(operands.first())?,
            BarrierKind::And | BarrierKind::Or => self.result_predicate(operands.first())?,
            _ => SINK,
        };
        let mut rest = &operands[usize::from(is_reduction)..];
        let condition = if is_reduction {
            let (last, others) = rest.split_last().ok_or("a reduction without a predicate")?;
            rest = others;
            self.condition(Some(last))?
        } else {
            Condition::constant(true)
        };
        let number = self.source(rest.first(), WORD)?;
        let threads = match rest.get(1) {
            Some(threads) => Some(self.source(Some(threads), WORD)?),
            None => None,
        };
        Ok(Operation::Barrier(Box::new(Barrier {
            kind,
            number,
            threads,
            condition,
            result,
        })))
    }

    fn exchange(
        &mut self,
        kind: ExchangeKind,
        opcode: &str,
        of: Type,
        operands: &[Operand],
    ) -> Result<Operation, Problem> {
        use ExchangeKind as Kind;
        let zero = self.constant(0);
        let mut made = Exchange {
            kind,
            members: zero,
            value: zero,
            condition: Condition::constant(true),
            b: zero,
            c: zero,
            result: SINK,
            predicate: SINK,
        };
        let at = |index: usize| operands.get(index);
        match kind {
            Kind::Sync => made.members = self.source(at(0), WORD)?,
            Kind::VoteAll | Kind::VoteAny | Kind::VoteUniform => {
                made.predicate = self.result_predicate(at(0))?;
                made.condition = self.condition(at(1))?;
                made.members = self.source(at(2), WORD)?;
            }
            Kind::VoteBallot => {
                made.result = self.result(at(0))?;
                made.condition = self.condition(at(1))?;
                made.members = self.source(at(2), WORD)?;
            }
            _ => {
                match at(0) {
                    Some(Operand::Pair(pair)) => {
                        made.result = self.result(Some(&pair.0))?;
                        made.predicate = self.result_predicate(Some(&pair.1))?;
                    }
                    other => made.result = self.result(other)?,
                }
                let of = if opcode.starts_with("match") { of } else { WORD };
                made.value = self.source(at(1), of)?;
                if opcode.starts_with("shfl") {
                    made.b = self.source(at(2), WORD)?;
                    made.c = self.source(at(3), WORD)?;
                    made.members = self.source(at(4), WORD)?;
                } else {
                    made.members = self.source(at(2), WORD)?;
                }
            }
        }
        Ok(Operation::Exchange(Box::new(made)))
    }

    fn call(&mut self, call: &tree::Call) -> Result<(), Problem> {
        let mut arguments = Vec::new();
        for argument in &call.arguments {
            arguments.push(match argument {
                Operand::Symbol(reference, 0) => self.passed(*reference)?,
                other => {
                    let bits = match other {
                        Operand::Register(register) => self.register(*register)?.bits,
                        _ => 64,
                    };
                    let value = self.source(Some(other), ADDRESS)?;
                    let slot = self.frame.add(u64::from(bits / 8), 8);
                    self.move_slot(slot, value, bits, false);
                    slot
                }
            });
        }
        let mut results = Vec::new();
        let mut loads = Vec::new();
        for result in &call.returns {
            results.push(match result {
                Operand::Symbol(reference, 0) => self.passed(*reference)?,
                Operand::Sink => self.frame.add(8, 8),
                Operand::Register(register) => {
                    let register = self.register(*register)?;
                    let slot = self.frame.add(u64::from(register.bits / 8), 8);
                    loads.push((slot, register));
                    slot
                }
                _ => return Err("a result of a call that is no variable".to_owned()),
            });
        }
        let target = match &call.target {
            CallTarget::Direct(symbol) => match self.names.meaning(*symbol) {
                Meaning::Function(index) => Target::Function(index),
                Meaning::Builtin(builtin) => Target::Builtin(builtin),
                _ => {
                    let name = self
                        .module
                        .symbols
                        .get(symbol.0 as usize)
                        .map_or("?", |symbol| &symbol.name);
                    return Err(format!("`{name}` is called but not defined"));
                }
            },
            CallTarget::Indirect(register, _) => {
                Target::Address(self.source(Some(&Operand::Register(*register)), ADDRESS)?)
            }
        };
        self.emit(Operation::Call(Box::new(Call {
            target,
            arguments: arguments.into(),
            results: results.into(),
        })));
        for (slot, register) in loads {
            self.move_slot(slot, Source::register(register.index), register.bits, true);
        }
        Ok(())
    }

    /// A variable that is passed to a call.
    fn passed(&mut self, reference: tree::Reference) -> Result<Slot, Problem> {
        let slot = match reference {
            tree::Reference::Variable(index) => self.variables.get(index as usize).copied(),
            tree::Reference::Parameter(index) => self.parameters.get(index as usize).copied(),
            tree::Reference::Return(index) => self.results.get(index as usize).copied(),
            tree::Reference::Symbol(_) => None,
        };
        slot.ok_or_else(|| "an argument of a call that is no variable".to_owned())
    }
}

/// The elements of a vector operand, or the one operand.
fn elements(operand: Option<&Operand>, count: u32) -> Result<&[Operand], Problem> {
    let elements = match operand {
        Some(Operand::Vector(elements)) => &elements[..],
        Some(other) => std::slice::from_ref(other),
        None => &[],
    };
    if elements.len() == count as usize {
        Ok(elements)
    } else {
        Err(format!("{} elements where {count} are expected", elements.len()))
    }
}
