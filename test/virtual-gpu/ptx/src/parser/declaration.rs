//! What is declared: types, alignments, names, dimensions, initialisers.

use super::{Parser, Result, state_space};
use crate::lexer::{Kind, Token, shortened};
use crate::tree::{Initializer, Parameter, ScalarType, StateSpace, Variable};

/// Bytes of the largest variable: more than any device has.
const LARGEST: u64 = 1 << 40;

/// Dimensions of an array at most.
const DIMENSIONS: usize = 16;

/// What stands before the name in a declaration.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) scalar: ScalarType,
    /// Elements of a vector, 1 if it is none.
    elements: u32,
    /// What `.align` says.
    alignment: Option<u32>,
}

/// The dimensions of an array.
pub(super) struct Dimensions {
    /// From the outermost. Empty: no array. A first dimension of 0: `x[]`.
    pub(super) each: Vec<u64>,
    /// Bytes of the whole.
    size: u64,
}

impl Form {
    /// Bytes of one element, of a vector all of it.
    pub(super) fn element_size(&self) -> u64 {
        u64::from(self.scalar.size()) * u64::from(self.elements)
    }

    fn alignment(&self) -> u32 {
        self.alignment
            .unwrap_or_else(|| self.scalar.size() * self.elements.next_power_of_two())
    }
}

impl<'a> Parser<'a> {
    /// Type, vector and alignment, in any order. Attributes that say nothing about the result are skipped.
    pub(super) fn form(&mut self) -> Result<Form> {
        let start = self.token;
        let mut scalar = None;
        let mut elements = 1;
        let mut alignment = None;
        while self.token.kind == Kind::Directive {
            match self.token.text {
                ".align" => {
                    self.advance()?;
                    alignment = Some(self.alignment()?);
                    continue;
                }
                // `.ptr .global .align 8`: of what a pointer points to.
                ".ptr" => {
                    self.skip_pointer()?;
                    continue;
                }
                ".attribute" => {
                    self.skip_attribute()?;
                    continue;
                }
                ".v2" => elements = 2,
                ".v4" => elements = 4,
                text => {
                    let Some(found) = scalar_type(text).filter(|_| scalar.is_none()) else {
                        return Err(self.unexpected("a type such as `.u32`, or a name"));
                    };
                    scalar = Some(found);
                }
            }
            self.advance()?;
        }
        let Some(scalar) = scalar else {
            return Err(self.error_at(&start, "this declaration has no type", "write one such as `.u32`"));
        };
        Ok(Form {
            scalar,
            elements,
            alignment,
        })
    }

    fn alignment(&mut self) -> Result<u32> {
        let token = self.token;
        let alignment = self.number()?;
        if alignment.is_power_of_two() {
            return Ok(alignment);
        }
        Err(self.error_at(&token, "this alignment is no power of two", ""))
    }

    fn skip_pointer(&mut self) -> Result<()> {
        self.advance()?;
        while self.token.kind == Kind::Directive {
            let is_alignment = self.token.is_directive(".align");
            if !is_alignment && state_space(self.token.text).is_none() {
                return Ok(());
            }
            self.advance()?;
            if is_alignment {
                self.alignment()?;
            }
        }
        Ok(())
    }

    pub(super) fn skip_attribute(&mut self) -> Result<()> {
        self.advance()?;
        self.mark(b'(')?;
        while !self.token.is_mark(b')') {
            if self.token.kind == Kind::End {
                return Err(self.unexpected("`)`"));
            }
            self.advance()?;
        }
        self.advance()
    }

    /// What stands behind the name: `[2][8]`, or nothing.
    pub(super) fn dimensions(&mut self, name: &Token<'_>, form: &Form) -> Result<Dimensions> {
        let mut each = Vec::new();
        let mut size = form.element_size();
        while self.skip_mark(b'[')? {
            let length = if self.token.is_mark(b']') && each.is_empty() {
                0
            } else {
                self.integer()?
            };
            self.mark(b']')?;
            each.push(length);
            let grown = size.checked_mul(length).filter(|&size| size <= LARGEST);
            match grown {
                Some(grown) if each.len() <= DIMENSIONS => size = grown,
                _ => {
                    let problem = format!("`{}` is larger than any memory", shortened(name.text));
                    return Err(self.error_at(name, problem, "make it smaller"));
                }
            }
        }
        Ok(Dimensions { each, size })
    }

    /// Variables of one declaration, from behind the state space to behind the semicolon.
    pub(super) fn variables(&mut self, space: StateSpace) -> Result<Vec<(Token<'a>, Variable)>> {
        let form = self.form()?;
        let mut variables = Vec::new();
        loop {
            let name = self.word("a name")?;
            let mut dimensions = self.dimensions(&name, &form)?;
            let initializer = if self.skip_mark(b'=')? {
                self.initializer(&form, &mut dimensions)?
            } else {
                Initializer::default()
            };
            variables.push((
                name,
                Variable {
                    space,
                    alignment: form.alignment(),
                    scalar: form.scalar,
                    size: dimensions.size,
                    initializer,
                },
            ));
            if !self.skip_mark(b',')? {
                self.mark(b';')?;
                return Ok(variables);
            }
        }
    }

    /// A parameter or a result of a function, of which `end` bytes lie before it. Registers are left to the
    /// caller.
    pub(super) fn parameter(&mut self, end: u64) -> Result<(Token<'a>, Parameter)> {
        let form = self.form()?;
        let name = self.word("the parameter's name")?;
        let dimensions = self.dimensions(&name, &form)?;
        // Both are far from the end of 64 bits: each is at most 2^40, and a file cannot hold 2^20 of them.
        let offset = end.next_multiple_of(u64::from(form.alignment()));
        let parameter = Parameter {
            name: name.text.to_owned(),
            alignment: form.alignment(),
            scalar: form.scalar,
            size: dimensions.size,
            offset,
            register: None,
        };
        Ok((name, parameter))
    }
}

impl Dimensions {
    /// The length of `x[]` becomes that of its initialiser.
    pub(super) fn set_size(&mut self, size: u64) {
        self.size = size;
    }

    /// Bytes of the whole.
    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

/// The type that a directive names.
pub(super) fn scalar_type(directive: &str) -> Option<ScalarType> {
    Some(match directive {
        ".b8" => ScalarType::B8,
        ".b16" => ScalarType::B16,
        ".b32" => ScalarType::B32,
        ".b64" => ScalarType::B64,
        ".b128" => ScalarType::B128,
        ".u8" => ScalarType::U8,
        ".u16" => ScalarType::U16,
        ".u32" => ScalarType::U32,
        ".u64" => ScalarType::U64,
        ".s8" => ScalarType::S8,
        ".s16" => ScalarType::S16,
        ".s32" => ScalarType::S32,
        ".s64" => ScalarType::S64,
        ".f16" => ScalarType::F16,
        ".f16x2" => ScalarType::F16x2,
        ".bf16" => ScalarType::Bf16,
        ".bf16x2" => ScalarType::Bf16x2,
        ".f32" => ScalarType::F32,
        ".f64" => ScalarType::F64,
        ".pred" => ScalarType::Pred,
        _ => return None,
    })
}
