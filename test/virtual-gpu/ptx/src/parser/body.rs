//! Bodies of functions: declarations, labels, instructions.

use std::sync::Arc;

use super::scope::{Meaning, ScopeIndex, Scopes};
use super::{Parser, Result, state_space};
use crate::lexer::{Kind, Token};
use crate::tree::{
    Body, BodyVariable, Guard, Instruction, Location, Opcode, Operand, Reference, RegisterIndex,
    RegisterRange, ScalarType, StateSpace,
};

/// Registers of a function at most. Compilers write some ten thousand without optimisation.
const REGISTERS: u32 = 1 << 22;

/// A body while it is read.
pub(super) struct BodyState<'a> {
    pub(super) scopes: Scopes<'a>,
    pub(super) body: Body,
    /// The function's name.
    function: &'a str,
    registers: u32,
    /// Branches whose labels may stand further below.
    branches: Vec<Branch<'a>>,
}

/// An operand that is to become a label or labels.
struct Branch<'a> {
    instruction: usize,
    operand: usize,
    name: Token<'a>,
    scope: ScopeIndex,
    /// `brx.idx`: the name is that of a list of labels.
    is_list: bool,
}

impl<'a> BodyState<'a> {
    pub(super) fn new() -> Self {
        Self {
            scopes: Scopes::new(),
            body: Body::default(),
            function: "",
            registers: 0,
            branches: Vec::new(),
        }
    }

    pub(super) fn set_name(&mut self, name: &'a str) {
        self.function = name;
    }

    /// The operand of a branch: resolved at the end of the body.
    pub(super) fn branch(&mut self, operand: usize, name: Token<'a>, is_list: bool) -> Operand {
        self.branches.push(Branch {
            instruction: self.body.instructions.len(),
            operand,
            name,
            scope: self.scopes.current(),
            is_list,
        });
        Operand::Label(0)
    }

    fn next_instruction(&self) -> u32 {
        u32::try_from(self.body.instructions.len()).unwrap_or(u32::MAX)
    }
}

impl<'a> Parser<'a> {
    /// From `{` to behind `}`.
    pub(super) fn body(&mut self, mut state: BodyState<'a>) -> Result<Body> {
        self.mark(b'{')?;
        loop {
            let token = self.token;
            match token.kind {
                Kind::Mark(b'{') => {
                    if !state.scopes.open() {
                        return Err(self.error_at(&token, "too many scopes are in each other", "use fewer"));
                    }
                    self.advance()?;
                }
                Kind::Mark(b'}') => {
                    self.advance()?;
                    if !state.scopes.close() {
                        break;
                    }
                }
                Kind::Mark(b';') => self.advance()?,
                Kind::Mark(b'@') => {
                    let guard = self.guard(&state)?;
                    let mnemonic = self.word("an instruction")?;
                    self.instruction(&mut state, Some(guard), mnemonic)?;
                }
                Kind::Word => {
                    self.advance()?;
                    if self.skip_mark(b':')? {
                        self.label(&mut state, token)?;
                    } else {
                        self.instruction(&mut state, None, token)?;
                    }
                }
                Kind::Directive => self.directive_of_body(&mut state)?,
                _ => return Err(self.unexpected("an instruction, a label, a directive or `}`")),
            }
        }
        self.resolve_branches(&mut state)?;
        Ok(state.body)
    }

    fn resolve_branches(&mut self, state: &mut BodyState<'a>) -> Result<()> {
        let branches = std::mem::take(&mut state.branches);
        for branch in branches {
            let label = |name: &Token<'_>| {
                state.scopes.label(name.text, branch.scope).ok_or_else(|| {
                    let problem = format!("the function has no label {} here", name.shown());
                    self.error_at(
                        name,
                        problem,
                        "branch to a label of this scope or of one around it",
                    )
                })
            };
            let operand = if branch.is_list {
                let Some(targets) = state.scopes.targets(branch.name.text, branch.scope) else {
                    let problem = format!(
                        "the function has no `.branchtargets` {} here",
                        branch.name.shown()
                    );
                    return Err(self.error_at(&branch.name, problem, "write the list before the branch"));
                };
                let labels: Result<Vec<u32>> = targets.iter().map(label).collect();
                Operand::Targets(labels?.into())
            } else {
                Operand::Label(label(&branch.name)?)
            };
            let instruction = state.body.instructions.get_mut(branch.instruction);
            if let Some(place) = instruction.and_then(|found| found.operands.get_mut(branch.operand)) {
                *place = operand;
            }
        }
        Ok(())
    }

    /// `@%p` or `@!%p`
    fn guard(&mut self, state: &BodyState<'a>) -> Result<Guard> {
        self.mark(b'@')?;
        let is_negated = self.skip_mark(b'!')?;
        let name = self.word("a predicate")?;
        Ok(Guard {
            predicate: self.register(state, &name)?,
            is_negated,
        })
    }

    fn directive_of_body(&mut self, state: &mut BodyState<'a>) -> Result<()> {
        match self.token.text {
            ".reg" => self.registers(state),
            ".loc" => self.location(state),
            ".pragma" => self.pragma(),
            text => {
                let Some(space) = state_space(text) else {
                    return Err(self.unexpected("`.reg`, a state space, `.loc` or `.pragma`"));
                };
                self.advance()?;
                self.variables_of_body(state, space)
            }
        }
    }

    fn variables_of_body(&mut self, state: &mut BodyState<'a>, space: StateSpace) -> Result<()> {
        for (name, variable) in self.variables(space)? {
            let reference = if matches!(space, StateSpace::Local | StateSpace::Param) {
                let index = u32::try_from(state.body.variables.len()).unwrap_or(u32::MAX);
                state.body.variables.push(BodyVariable {
                    name: name.text.to_owned(),
                    variable,
                    line: name.line,
                });
                Reference::Variable(index)
            } else {
                Reference::Symbol(self.names.variable_of_body(state.function, &name, variable))
            };
            if !state.scopes.declare(name.text, Meaning::Reference(reference)) {
                return Err(self.declared_twice(&name));
            }
        }
        Ok(())
    }

    /// `.reg .b32 %r<5>, %x;`
    fn registers(&mut self, state: &mut BodyState<'a>) -> Result<()> {
        self.advance()?;
        let form = self.form()?;
        if form.element_size() != u64::from(form.scalar.size()) {
            return Err(self.unexpected("a register of one element: vectors of registers are not known"));
        }
        loop {
            let name = self.word("a register's name")?;
            if self.skip_mark(b'<')? {
                let count = self.number()?;
                self.mark(b'>')?;
                let first = self.new_registers(state, &name, true, form.scalar, count)?;
                if !state.scopes.declare_range(name.text, first.0, count) {
                    return Err(self.declared_twice(&name));
                }
            } else {
                let register = self.new_registers(state, &name, false, form.scalar, 1)?;
                if !state.scopes.declare(name.text, Meaning::Register(register)) {
                    return Err(self.declared_twice(&name));
                }
            }
            if !self.skip_mark(b',')? {
                return self.mark(b';');
            }
        }
    }

    /// Numbers for new registers: the first.
    pub(super) fn new_registers(
        &mut self,
        state: &mut BodyState<'a>,
        name: &Token<'a>,
        is_numbered: bool,
        scalar: ScalarType,
        count: u32,
    ) -> Result<RegisterIndex> {
        let first = RegisterIndex(state.registers);
        let Some(registers) = state.registers.checked_add(count).filter(|&all| all <= REGISTERS) else {
            let problem = format!("the function has more than {REGISTERS} registers");
            return Err(self.error_at(name, problem, "split the function"));
        };
        state.registers = registers;
        state.body.registers.push(RegisterRange {
            name: name.text.to_owned(),
            is_numbered,
            scalar,
            first,
            count,
        });
        Ok(first)
    }

    /// `.loc 1 12 3`, and perhaps `, function_name $L1, inlined_at 1 4 2`.
    fn location(&mut self, state: &mut BodyState<'a>) -> Result<()> {
        self.advance()?;
        let location = Location {
            instruction: state.next_instruction(),
            file: self.number()?,
            line: self.number()?,
            column: self.number()?,
        };
        state.body.locations.push(location);
        while self.skip_mark(b',')? {
            let attribute = self.word("`function_name` or `inlined_at`")?;
            if attribute.text == "inlined_at" {
                self.number()?;
                self.number()?;
                self.number()?;
            } else {
                self.word("the label of the function's name")?;
                if self.skip_mark(b'+')? {
                    self.number()?;
                }
            }
        }
        Ok(())
    }

    /// What stands behind `name:`.
    fn label(&mut self, state: &mut BodyState<'a>, name: Token<'a>) -> Result<()> {
        let is_new = if self.token.is_directive(".callprototype") {
            self.advance()?;
            let prototype = self.prototype()?;
            state.scopes.declare_prototype(name.text, prototype)
        } else if self.token.is_directive(".branchtargets") {
            self.advance()?;
            let mut targets = vec![self.word("a label")?];
            while self.skip_mark(b',')? {
                targets.push(self.word("a label")?);
            }
            self.mark(b';')?;
            state.scopes.declare_targets(name.text, targets)
        } else {
            let instruction = state.next_instruction();
            state.body.labels.push((name.text.to_owned(), instruction));
            state.scopes.declare_label(name.text, instruction)
        };
        if is_new {
            Ok(())
        } else {
            Err(self.declared_twice(&name))
        }
    }

    /// An instruction from behind its mnemonic to behind the semicolon.
    fn instruction(
        &mut self,
        state: &mut BodyState<'a>,
        guard: Option<Guard>,
        mnemonic: Token<'a>,
    ) -> Result<()> {
        let opcode = self.opcode(mnemonic)?;
        let operands = match mnemonic.text {
            "call" => vec![Operand::Call(Box::new(self.call(state)?))],
            "bra" => {
                let name = self.word("a label")?;
                vec![state.branch(0, name, false)]
            }
            "brx" => {
                let index = self.operand(state)?;
                self.mark(b',')?;
                let name = self.word("the name of a list of labels")?;
                vec![index, state.branch(1, name, true)]
            }
            _ => self.operands(state)?,
        };
        self.mark(b';')?;
        state.body.instructions.push(Instruction {
            guard,
            opcode,
            operands,
            line: mnemonic.line,
        });
        Ok(())
    }

    /// The mnemonic and its modifiers.
    fn opcode(&mut self, mnemonic: Token<'a>) -> Result<Arc<Opcode>> {
        let mut text = mnemonic.text.to_owned();
        while self.token.kind == Kind::Directive {
            text.push_str(self.token.text);
            self.advance()?;
        }
        if let Some(known) = self.opcodes.get(&text) {
            return Ok(Arc::clone(known));
        }
        let opcode = Arc::new(Opcode { text: text.clone() });
        self.opcodes.insert(text, Arc::clone(&opcode));
        Ok(opcode)
    }
}
