//! Kernels and functions: their headers, and what the body leaves to be resolved at its end.

use super::body::BodyState;
use super::scope::Meaning;
use super::{Parser, Result};
use crate::lexer::{Kind, Token};
use crate::tree::{Function, Linkage, Parameter, Reference};

impl<'a> Parser<'a> {
    /// From `.entry` or `.func` to behind the body or the semicolon.
    pub(super) fn function(&mut self, linkage: Linkage) -> Result<()> {
        let is_entry = self.token.is_directive(".entry");
        self.advance()?;
        while self.token.is_directive(".attribute") {
            self.skip_attribute()?;
        }
        let mut function = Function {
            is_entry,
            returns: Vec::new(),
            parameters: Vec::new(),
            is_noreturn: false,
            maxntid: None,
            reqntid: None,
            minnctapersm: None,
            maxnreg: None,
            body: None,
        };
        let mut state = BodyState::new();
        if self.token.is_mark(b'(') {
            function.returns = self.parameters(&mut state, Reference::Return)?;
        }
        let name = self.word("the function's name")?;
        state.set_name(name.text);
        if self.token.is_mark(b'(') {
            function.parameters = self.parameters(&mut state, Reference::Parameter)?;
        }
        self.performance_directives(&mut function)?;
        if self.token.is_mark(b'{') {
            function.body = Some(self.body(state)?);
        } else {
            self.mark(b';')?;
        }
        self.names.function(&name, linkage, function)
    }

    /// Parameters or results in round brackets. `reference` makes the meaning of a name of the index.
    fn parameters(
        &mut self,
        state: &mut BodyState<'a>,
        reference: fn(u32) -> Reference,
    ) -> Result<Vec<Parameter>> {
        let mut parameters = Vec::new();
        let mut end = 0;
        self.mark(b'(')?;
        while !self.skip_mark(b')')? {
            let is_register = self.token.is_directive(".reg");
            if !is_register && !self.token.is_directive(".param") {
                return Err(self.unexpected("`.param`"));
            }
            self.advance()?;
            let (name, mut parameter) = self.parameter(end)?;
            end = parameter.offset + parameter.size;
            let meaning = if is_register {
                let register = self.new_registers(state, &name, false, parameter.scalar, 1)?;
                parameter.register = Some(register);
                Meaning::Register(register)
            } else {
                let index = u32::try_from(parameters.len()).unwrap_or(u32::MAX);
                Meaning::Reference(reference(index))
            };
            // Parameters of a declaration may be called `_`, all of them.
            if name.text != "_" && !state.scopes.declare(name.text, meaning) {
                return Err(self.declared_twice(&name));
            }
            parameters.push(parameter);
            if !self.skip_mark(b',')? && !self.token.is_mark(b')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(parameters)
    }

    fn performance_directives(&mut self, function: &mut Function) -> Result<()> {
        while self.token.kind == Kind::Directive {
            let directive = self.token;
            self.advance()?;
            match directive.text {
                ".noreturn" => function.is_noreturn = true,
                ".maxntid" => function.maxntid = Some(self.dimension_list()?),
                ".reqntid" => function.reqntid = Some(self.dimension_list()?),
                ".minnctapersm" => function.minnctapersm = Some(self.number()?),
                ".maxnreg" => function.maxnreg = Some(self.number()?),
                ".maxnctapersm" | ".maxclusterrank" => {
                    self.number()?;
                }
                ".unique" => {}
                ".pragma" => self.pragma()?,
                text => {
                    let problem = format!("`{text}` is not a directive of functions that is known");
                    return Err(self.error_at(&directive, problem, "leave it out, or teach the parser"));
                }
            }
        }
        Ok(())
    }

    /// One to three numbers; those that are left out are 1.
    fn dimension_list(&mut self) -> Result<[u32; 3]> {
        let mut dimensions = [1; 3];
        for (index, dimension) in dimensions.iter_mut().enumerate() {
            if index > 0 && !self.skip_mark(b',')? {
                break;
            }
            *dimension = self.number()?;
        }
        Ok(dimensions)
    }

    pub(super) fn declared_twice(&self, name: &Token<'_>) -> crate::Error {
        let problem = format!("{} is declared twice in one scope", name.shown());
        self.error_at(name, problem, "give one of them another name")
    }
}
