//! Initial values of variables: from lists in braces to bytes and places for addresses.

use super::declaration::{Dimensions, Form};
use super::{Parser, Result};
use crate::lexer::Kind;
use crate::tree::{Initializer, Relocation, ScalarType};

/// Brackets around a value at most.
const DEPTH: u32 = 16;

/// A value of an initialiser.
enum Value {
    Integer(u64),
    Single(u32),
    Double(f64),
    /// Where it goes is not yet known.
    Address(Relocation),
}

impl Parser<'_> {
    /// What stands behind `=`. Gives `x[]` its length.
    pub(super) fn initializer(&mut self, form: &Form, dimensions: &mut Dimensions) -> Result<Initializer> {
        let mut initializer = Initializer {
            is_given: true,
            ..Initializer::default()
        };
        // A vector's elements are one dimension more.
        let scalar_size = u64::from(form.scalar.size());
        let mut lengths = dimensions.each.clone();
        if form.element_size() != scalar_size {
            lengths.push(form.element_size() / scalar_size);
        }
        let is_open = lengths.first() == Some(&0);
        if is_open && lengths.len() > 1 {
            return Err(self.unexpected("an initialiser of an array whose length is given"));
        }
        let end = if is_open { u64::MAX } else { dimensions.size() };
        let end = self.values(form.scalar, &lengths, 0, end, &mut initializer)?;
        if is_open {
            dimensions.set_size(end);
        }
        Ok(initializer)
    }

    /// A value, or a list of values of the dimensions that are left, from byte `offset` to at most byte
    /// `limit`. Calls itself once for each dimension. Answers with the byte behind the last value.
    fn values(
        &mut self,
        scalar: ScalarType,
        lengths: &[u64],
        offset: u64,
        limit: u64,
        initializer: &mut Initializer,
    ) -> Result<u64> {
        let size = u64::from(scalar.size());
        let Some((_, inner)) = lengths.split_first().filter(|_| self.token.is_mark(b'{')) else {
            if offset + size > limit {
                return Err(self.unexpected("the end of the list: the array has no place for more"));
            }
            self.value(scalar, offset, initializer)?;
            return Ok(offset + size);
        };
        self.advance()?;
        let stride = inner
            .iter()
            .fold(size, |size, length| size.saturating_mul(*length));
        let mut next = offset;
        while !self.token.is_mark(b'}') {
            if self.token.is_mark(b'{') {
                let end = next.saturating_add(stride).min(limit);
                self.values(scalar, inner, next, end, initializer)?;
                next = end;
            } else {
                next = self.values(scalar, &[], next, limit, initializer)?;
            }
            if !self.skip_mark(b',')? {
                break;
            }
        }
        self.mark(b'}')?;
        Ok(next)
    }

    fn value(&mut self, scalar: ScalarType, offset: u64, initializer: &mut Initializer) -> Result<()> {
        let start = self.token;
        let size = scalar.size();
        let bits = match (self.expression(DEPTH)?, scalar) {
            (Value::Address(address), _) => {
                initializer.relocations.push(Relocation {
                    offset,
                    size: size.min(8),
                    ..address
                });
                return Ok(());
            }
            (Value::Integer(value), _) => value,
            (Value::Single(bits), ScalarType::F64) => f64::from(f32::from_bits(bits)).to_bits(),
            (Value::Single(bits), _) => u64::from(bits),
            #[expect(clippy::cast_possible_truncation, reason = "the type of the variable rounds")]
            (Value::Double(value), ScalarType::F32) => u64::from((value as f32).to_bits()),
            (Value::Double(value), _) => value.to_bits(),
        };
        let bytes = u128::from(bits).to_le_bytes();
        let bytes = bytes.get(..size as usize).unwrap_or_default();
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        // What is left out of inner lists is filled with zeros, which cost memory and nothing in the file.
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        let gap = begin.saturating_sub(initializer.data.len());
        let Some(left) = self.zeros.checked_sub(gap) else {
            let problem = "the initialisers of this file leave out more than 64 MiB";
            return Err(self.error_at(&start, problem, "fill the variable by code"));
        };
        // A gap is mostly values that are written as 0: those are as long as the file.
        self.zeros = left;
        initializer.data.resize(begin, 0);
        initializer.data.extend_from_slice(bytes);
        Ok(())
    }

    fn expression(&mut self, depth: u32) -> Result<Value> {
        let mut value = self.term(depth)?;
        while let Value::Address(address) = &mut value {
            let is_plus = self.token.is_mark(b'+');
            if !is_plus && !self.token.is_mark(b'-') {
                break;
            }
            self.advance()?;
            let more = self.integer()?.cast_signed();
            let more = if is_plus { more } else { more.wrapping_neg() };
            address.addend = address.addend.wrapping_add(more);
        }
        Ok(value)
    }

    fn term(&mut self, depth: u32) -> Result<Value> {
        let token = self.token;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.error_at(&token, "this value has too many brackets around it", ""));
        };
        match token.kind {
            Kind::Mark(b'(') => self.bracketed(depth),
            Kind::Word => {
                self.advance()?;
                if token.text == "generic" && self.token.is_mark(b'(') {
                    let mut address = self.bracketed_address(depth)?;
                    address.is_generic = true;
                    return Ok(Value::Address(address));
                }
                Ok(Value::Address(Relocation {
                    offset: 0,
                    size: 0,
                    symbol: self.names.mention(&token),
                    addend: 0,
                    is_generic: false,
                    shift: 0,
                }))
            }
            Kind::Integer(mask) => {
                self.advance()?;
                if !self.token.is_mark(b'(') {
                    return Ok(Value::Integer(mask));
                }
                let mut shifts = (0..64).step_by(8);
                let Some(shift) = shifts.find(|shift| mask == 0xFF << shift) else {
                    return Err(self.error_at(
                        &token,
                        "this is no mask of one byte",
                        "write `0xFF` or `0xFF00`",
                    ));
                };
                let mut address = self.bracketed_address(depth)?;
                address.shift = shift;
                Ok(Value::Address(address))
            }
            _ => self.constant(),
        }
    }

    fn bracketed(&mut self, depth: u32) -> Result<Value> {
        self.mark(b'(')?;
        let value = self.expression(depth)?;
        self.mark(b')')?;
        Ok(value)
    }

    fn bracketed_address(&mut self, depth: u32) -> Result<Relocation> {
        let token = self.token;
        match self.bracketed(depth)? {
            Value::Address(address) => Ok(address),
            _ => Err(self.error_at(&token, "here stands a number, not a variable's name", "")),
        }
    }

    fn constant(&mut self) -> Result<Value> {
        let is_negative = self.skip_mark(b'-')?;
        let value = match self.token.kind {
            Kind::Integer(value) if is_negative => Value::Integer(value.wrapping_neg()),
            Kind::Integer(value) => Value::Integer(value),
            Kind::Single(bits) if is_negative => Value::Single(bits ^ 1 << 31),
            Kind::Single(bits) => Value::Single(bits),
            Kind::Double(bits) if is_negative => Value::Double(-f64::from_bits(bits)),
            Kind::Double(bits) => Value::Double(f64::from_bits(bits)),
            Kind::Decimal(value) if is_negative => Value::Double(-value),
            Kind::Decimal(value) => Value::Double(value),
            _ => return Err(self.unexpected("a constant or an address")),
        };
        self.advance()?;
        Ok(value)
    }
}
