//! Operands of instructions.

use super::body::BodyState;
use super::scope::Meaning;
use super::special::special_register;
use super::{Parser, Result};
use crate::lexer::{Kind, Token};
use crate::tree::{Address, Base, Immediate, Operand, Reference, RegisterIndex, SpecialRegister};

impl<'a> Parser<'a> {
    /// Operands to the semicolon.
    pub(super) fn operands(&mut self, state: &BodyState<'a>) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.token.is_mark(b';') {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(state)?);
            if !self.skip_mark(b',')? {
                return Ok(operands);
            }
        }
    }

    /// One operand: a vector, memory, a pair, or what these are made of.
    pub(super) fn operand(&mut self, state: &BodyState<'a>) -> Result<Operand> {
        if self.skip_mark(b'[')? {
            return self.address(state);
        }
        if self.skip_mark(b'{')? {
            let mut elements = Vec::new();
            loop {
                elements.push(self.simple(state)?);
                if !self.skip_mark(b',')? {
                    self.mark(b'}')?;
                    return Ok(Operand::Vector(elements));
                }
            }
        }
        let first = self.simple(state)?;
        if self.skip_mark(b'|')? {
            let second = self.simple(state)?;
            return Ok(Operand::Pair(Box::new((first, second))));
        }
        Ok(first)
    }

    /// A register, a constant, a name, or `_`.
    fn simple(&mut self, state: &BodyState<'a>) -> Result<Operand> {
        if self.skip_mark(b'!')? {
            let name = self.word("a predicate")?;
            return Ok(Operand::Negated(self.register(state, &name)?));
        }
        let name = self.token;
        if name.kind != Kind::Word {
            return Ok(Operand::Immediate(self.immediate()?));
        }
        self.advance()?;
        if name.text == "_" {
            return Ok(Operand::Sink);
        }
        let reference = match state.scopes.meaning(name.text) {
            Some(Meaning::Register(register)) => return Ok(Operand::Register(register)),
            Some(Meaning::Reference(reference)) => reference,
            None => {
                if let Some(special) = self.special(&name)? {
                    return Ok(Operand::Special(special));
                }
                self.symbol(&name)?
            }
        };
        let offset = self.offset()?;
        Ok(Operand::Symbol(reference, offset))
    }

    /// A special register, whose name may go on behind a full stop.
    fn special(&mut self, name: &Token<'a>) -> Result<Option<SpecialRegister>> {
        if self.token.kind == Kind::Directive {
            let whole = format!("{}{}", name.text, self.token.text);
            let special = special_register(&whole);
            if special.is_some() {
                self.advance()?;
            }
            return Ok(special);
        }
        Ok(special_register(name.text))
    }

    /// A name of the module. Names with `%` are registers alone.
    fn symbol(&mut self, name: &Token<'a>) -> Result<Reference> {
        if name.text.starts_with('%') {
            let problem = format!("the register {} is not declared", name.shown());
            return Err(self.error_at(name, problem, "declare it with `.reg`"));
        }
        Ok(Reference::Symbol(self.names.mention(name)))
    }

    /// The register of a name.
    pub(super) fn register(&self, state: &BodyState<'a>, name: &Token<'a>) -> Result<RegisterIndex> {
        match state.scopes.meaning(name.text) {
            Some(Meaning::Register(register)) => Ok(register),
            _ => {
                let problem = format!("{} is not a register that is declared here", name.shown());
                Err(self.error_at(name, problem, "declare it with `.reg`"))
            }
        }
    }

    /// From behind `[` to behind `]`.
    fn address(&mut self, state: &BodyState<'a>) -> Result<Operand> {
        let name = self.token;
        let (base, offset) = if name.kind == Kind::Word {
            self.advance()?;
            let base = match state.scopes.meaning(name.text) {
                Some(Meaning::Register(register)) => Base::Register(register),
                Some(Meaning::Reference(reference)) => Base::Reference(reference),
                None => Base::Reference(self.symbol(&name)?),
            };
            (base, self.offset()?)
        } else {
            (Base::Absolute, self.integer()?.cast_signed())
        };
        self.mark(b']')?;
        Ok(Operand::Address(Address { base, offset }))
    }

    /// `+8`, `+-8`, `-8`, or nothing.
    fn offset(&mut self) -> Result<i64> {
        if self.skip_mark(b'+')? {
            return Ok(self.integer()?.cast_signed());
        }
        if self.token.is_mark(b'-') {
            return Ok(self.integer()?.cast_signed());
        }
        Ok(0)
    }

    fn immediate(&mut self) -> Result<Immediate> {
        let is_negative = self.skip_mark(b'-')?;
        let immediate = match self.token.kind {
            Kind::Integer(value) if is_negative => Immediate::Integer(value.wrapping_neg()),
            Kind::Integer(value) => Immediate::Integer(value),
            Kind::Single(bits) if is_negative => Immediate::Single(bits ^ 1 << 31),
            Kind::Single(bits) => Immediate::Single(bits),
            Kind::Double(bits) if is_negative => Immediate::Double(bits ^ 1 << 63),
            Kind::Double(bits) => Immediate::Double(bits),
            Kind::Decimal(value) if is_negative => Immediate::Double((-value).to_bits()),
            Kind::Decimal(value) => Immediate::Double(value.to_bits()),
            _ => return Err(self.unexpected("an operand")),
        };
        self.advance()?;
        Ok(immediate)
    }
}
