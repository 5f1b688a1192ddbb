//! Calls, and prototypes of functions that are called through pointers.

use super::body::BodyState;
use super::scope::Meaning;
use super::{Parser, Result};
use crate::lexer::Kind;
use crate::tree::{Call, CallTarget, Operand, Prototype, PrototypeParameter};

impl<'a> Parser<'a> {
    /// `(results), function, (arguments), prototype`, of which all but the function may be left out.
    pub(super) fn call(&mut self, state: &BodyState<'a>) -> Result<Call> {
        let mut returns = Vec::new();
        if self.token.is_mark(b'(') {
            returns = self.operands_in_brackets(state)?;
            self.mark(b',')?;
        }
        let callee = self.word("the function to call")?;
        let mut arguments = Vec::new();
        let mut prototype = None;
        if self.skip_mark(b',')? {
            if self.token.is_mark(b'(') {
                arguments = self.operands_in_brackets(state)?;
                if self.skip_mark(b',')? {
                    prototype = Some(self.word("a prototype")?);
                }
            } else {
                prototype = Some(self.word("arguments in brackets or a prototype")?);
            }
        }
        let target = match state.scopes.meaning(callee.text) {
            Some(Meaning::Register(register)) => {
                let Some(name) = prototype else {
                    let problem = "a call through a register needs a prototype";
                    return Err(self.error_at(
                        &callee,
                        problem,
                        "name a `.callprototype` behind the arguments",
                    ));
                };
                let Some(prototype) = state.scopes.prototype(name.text) else {
                    let problem = format!("the function has no `.callprototype` {} here", name.shown());
                    return Err(self.error_at(&name, problem, "write the prototype before the call"));
                };
                CallTarget::Indirect(register, prototype)
            }
            None if !callee.text.starts_with('%') => CallTarget::Direct(self.names.mention(&callee)),
            _ => {
                let problem = format!("{} is neither a function nor a register", callee.shown());
                return Err(self.error_at(&callee, problem, "declare it"));
            }
        };
        Ok(Call {
            returns,
            target,
            arguments,
        })
    }

    fn operands_in_brackets(&mut self, state: &BodyState<'a>) -> Result<Vec<Operand>> {
        self.mark(b'(')?;
        let mut operands = Vec::new();
        while !self.skip_mark(b')')? {
            operands.push(self.operand(state)?);
            if !self.skip_mark(b',')? && !self.token.is_mark(b')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(operands)
    }

    /// `(.param .b32 _) _ (.param .b64 _)`, from behind `.callprototype` to behind the semicolon.
    pub(super) fn prototype(&mut self) -> Result<Prototype> {
        let mut returns = Vec::new();
        if self.token.is_mark(b'(') {
            returns = self.prototype_parameters()?;
        }
        self.word("`_`")?;
        let mut parameters = Vec::new();
        if self.token.is_mark(b'(') {
            parameters = self.prototype_parameters()?;
        }
        while self.token.kind == Kind::Directive {
            if !self.token.is_directive(".noreturn") {
                return Err(self.unexpected("`.noreturn` or `;`"));
            }
            self.advance()?;
        }
        self.mark(b';')?;
        Ok(Prototype { returns, parameters })
    }

    fn prototype_parameters(&mut self) -> Result<Vec<PrototypeParameter>> {
        let mut parameters = Vec::new();
        self.mark(b'(')?;
        while !self.skip_mark(b')')? {
            if !self.token.is_directive(".reg") && !self.token.is_directive(".param") {
                return Err(self.unexpected("`.param`"));
            }
            self.advance()?;
            let (_, parameter) = self.parameter(0)?;
            parameters.push(PrototypeParameter {
                scalar: parameter.scalar,
                alignment: parameter.alignment,
                size: parameter.size,
            });
            if !self.skip_mark(b',')? && !self.token.is_mark(b')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(parameters)
    }
}
