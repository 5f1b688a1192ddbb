//! Operands of instructions.

use offloom_ptx::tree::{Address, Base, Immediate, Operand, Reference, SymbolIndex};

use super::Meaning;
use super::body::Body;
use crate::code::{Access, Condition, From, Operation, SINK, Source};
use crate::form::Type;
use crate::space::Space;

/// Why an instruction cannot be decoded.
pub(super) type Problem = String;

/// What an address operand or a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    /// A value that is known now, in this space.
    Value(u64, Space),
    /// An offset in the function's frame.
    Frame(u32),
}

/// Bits of a constant as a type has them.
pub(super) fn bits_of(immediate: Immediate, kind: Type) -> u64 {
    let value = match immediate {
        Immediate::Integer(value) => value,
        Immediate::Single(bits) if kind.is_float && kind.bits == 64 => {
            f64::from(f32::from_bits(bits)).to_bits()
        }
        Immediate::Single(bits) => bits.into(),
        Immediate::Double(bits) if kind.is_float && kind.bits == 32 => {
            (f64::from_bits(bits) as f32).to_bits().into()
        }
        Immediate::Double(bits) => bits,
    };
    value & mask(kind.bits)
}

/// The low bits.
pub(super) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl Body<'_> {
    /// What a name stands for.
    pub(super) fn named(&mut self, reference: Reference) -> Result<Named, Problem> {
        Ok(match reference {
            Reference::Symbol(symbol) => self.symbol(symbol)?,
            Reference::Variable(index) => Named::Frame(self.slot(&self.variables, index)?),
            Reference::Return(index) => Named::Frame(self.slot(&self.results, index)?),
            Reference::Parameter(index) => {
                let parameter = self.function.parameters.get(index as usize);
                let parameter = parameter.ok_or("an unknown parameter")?;
                if self.function.is_entry {
                    Named::Value(parameter.offset, Space::Parameter)
                } else {
                    Named::Frame(self.slot(&self.parameters, index)?)
                }
            }
        })
    }

    fn symbol(&mut self, symbol: SymbolIndex) -> Result<Named, Problem> {
        Ok(match self.names.meaning(symbol) {
            Meaning::Global(address) => Named::Value(address, Space::Global),
            Meaning::Shared(offset) => {
                let size = self.names.shared_sizes.get(&offset).copied().unwrap_or(0);
                self.shared.push((offset, size));
                Named::Value(offset.into(), Space::Shared)
            }
            Meaning::DynamicShared => Named::Value(self.names.dynamic_shared().into(), Space::Shared),
            Meaning::Function(index) => {
                self.code.taken.push(index);
                Named::Value(self.names.function_address(index), Space::Generic)
            }
            Meaning::Builtin(_) => return Err("the address of a function of the device".to_owned()),
            Meaning::Undefined => {
                let name = self
                    .module
                    .symbols
                    .get(symbol.0 as usize)
                    .map_or("?", |symbol| &symbol.name);
                return Err(format!("`{name}` is not defined"));
            }
        })
    }

    /// A register that is written; [`SINK`] for `_`.
    pub(super) fn result(&self, operand: Option<&Operand>) -> Result<u32, Problem> {
        match operand {
            Some(Operand::Register(register)) => {
                let register = self.register(*register)?;
                if register.is_predicate {
                    return Err("a predicate where a register is expected".to_owned());
                }
                Ok(register.index)
            }
            Some(Operand::Sink) => Ok(SINK),
            _ => Err("no register for the result".to_owned()),
        }
    }

    /// A predicate that is written; [`SINK`] for `_`.
    pub(super) fn result_predicate(&self, operand: Option<&Operand>) -> Result<u32, Problem> {
        match operand {
            Some(Operand::Register(register)) => {
                let register = self.register(*register)?;
                if !register.is_predicate {
                    return Err("a register where a predicate is expected".to_owned());
                }
                Ok(register.index)
            }
            Some(Operand::Sink) => Ok(SINK),
            _ => Err("no predicate for the result".to_owned()),
        }
    }

    /// A value that is read.
    pub(super) fn source(&mut self, operand: Option<&Operand>, kind: Type) -> Result<Source, Problem> {
        match operand {
            Some(Operand::Register(register)) => {
                let register = self.register(*register)?;
                if register.is_predicate {
                    return Err("a predicate where a value is expected".to_owned());
                }
                Ok(Source::register(register.index))
            }
            Some(Operand::Immediate(immediate)) => Ok(self.constant(bits_of(*immediate, kind))),
            Some(Operand::Special(register)) => {
                let d = self.temporary();
                self.emit(Operation::Special {
                    d,
                    register: *register,
                });
                Ok(Source::register(d))
            }
            Some(Operand::Symbol(reference, offset)) => match self.named(*reference)? {
                Named::Value(value, _) => Ok(self.constant(value.wrapping_add_signed(*offset))),
                Named::Frame(frame) => {
                    let d = self.temporary();
                    let offset = i64::from(frame).wrapping_add(*offset);
                    self.emit(Operation::FrameAddress { d, offset });
                    Ok(Source::register(d))
                }
            },
            _ => Err("no value for an input".to_owned()),
        }
    }

    /// A predicate that is read.
    pub(super) fn condition(&self, operand: Option<&Operand>) -> Result<Condition, Problem> {
        let (register, negated) = match operand {
            Some(Operand::Register(register)) => (*register, false),
            Some(Operand::Negated(register)) => (*register, true),
            Some(Operand::Immediate(Immediate::Integer(value))) => {
                return Ok(Condition::constant(*value != 0));
            }
            _ => return Err("no predicate for an input".to_owned()),
        };
        let register = self.register(register)?;
        if !register.is_predicate {
            return Err("a register where a predicate is expected".to_owned());
        }
        Ok(Condition::register(register.index, negated))
    }

    /// Memory that is accessed: `count` elements of the type.
    pub(super) fn access(
        &mut self,
        operand: Option<&Operand>,
        space: Space,
        kind: Type,
        count: u32,
    ) -> Result<Access, Problem> {
        let Some(Operand::Address(Address { base, offset })) = operand else {
            return Err("no address".to_owned());
        };
        let size = kind.bits / 8;
        let mut access = Access {
            space,
            from: From::Frame,
            offset: *offset,
            size,
            alignment: size * count,
        };
        match base {
            Base::Register(register) => {
                let register = self.register(*register)?;
                if register.is_predicate {
                    return Err("a predicate where an address is expected".to_owned());
                }
                access.from = From::Source(Source::register(register.index));
                // The address of a parameter of a function, which is in its frame.
                if space == Space::Parameter && !self.function.is_entry {
                    access.space = Space::Local;
                }
            }
            Base::Absolute => access.from = From::Source(self.constant(0)),
            Base::Reference(reference) => match self.named(*reference)? {
                Named::Value(value, own) => {
                    access.from = From::Source(self.constant(value));
                    access.space = own;
                }
                Named::Frame(frame) => {
                    access.space = Space::Local;
                    access.offset = access.offset.wrapping_add(frame.into());
                }
            },
        }
        Ok(access)
    }
}
