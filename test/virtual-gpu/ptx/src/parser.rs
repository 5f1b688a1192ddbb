//! The parser: by recursive descent, one token ahead, with scopes on a stack of its own.

mod body;
mod call;
mod declaration;
mod function;
mod initializer;
mod names;
mod operand;
mod scope;
mod special;

use std::collections::HashMap;
use std::sync::Arc;

use crate::Error;
use crate::lexer::{Kind, Lexer, Token};
use crate::tree::{Linkage, Module, Opcode, SourceFile, StateSpace};

use names::Names;

/// What is known while a file is read.
pub(crate) struct Parser<'a> {
    file: &'a str,
    lexer: Lexer<'a>,
    /// The token that is looked at.
    token: Token<'a>,
    names: Names<'a>,
    opcodes: HashMap<String, Arc<Opcode>>,
    /// Zeros that initialisers may still leave out, in bytes.
    zeros: usize,
    module: Module,
}

type Result<T> = std::result::Result<T, Error>;

impl<'a> Parser<'a> {
    pub(crate) fn new(file: &'a str, text: &'a [u8]) -> Result<Self> {
        let mut lexer = Lexer::new(file, text);
        let token = lexer.next()?;
        Ok(Self {
            file,
            lexer,
            token,
            names: Names::new(file),
            opcodes: HashMap::new(),
            zeros: 64 << 20,
            module: Module {
                name: file.to_owned(),
                ..Module::default()
            },
        })
    }

    /// Reads the whole file.
    pub(crate) fn module(mut self) -> Result<Module> {
        while self.token.kind != Kind::End {
            self.statement()?;
        }
        let Self { names, module, .. } = self;
        Ok(Module {
            symbols: names.finish()?,
            ..module
        })
    }

    fn statement(&mut self) -> Result<()> {
        let token = self.token;
        if self.skip_mark(b';')? {
            return Ok(());
        }
        if token.kind != Kind::Directive {
            return Err(self.unexpected("a directive such as `.func`"));
        }
        match token.text {
            ".version" => {
                self.advance()?;
                self.module.version = self.version()?;
            }
            ".target" => {
                self.advance()?;
                self.module.target = self.word("a processor such as `sm_80`")?.text.to_owned();
                while self.skip_mark(b',')? {
                    self.word("an option of the target")?;
                }
            }
            ".address_size" => {
                self.advance()?;
                self.module.address_size = self.number()?;
            }
            ".file" => self.file()?,
            ".section" => self.debug_section()?,
            ".pragma" => self.pragma()?,
            ".alias" => self.alias()?,
            _ => self.declaration()?,
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(u32, u32)> {
        let parts = self.token.text.split_once('.');
        let parts = parts.map(|(major, minor)| (major.parse().ok(), minor.parse().ok()));
        let Some((Some(major), Some(minor))) = parts else {
            return Err(self.unexpected("a version such as `7.8`"));
        };
        self.advance()?;
        Ok((major, minor))
    }

    /// `.file 1 "a.c"`, and perhaps a time and a size.
    fn file(&mut self) -> Result<()> {
        self.advance()?;
        let number = self.number()?;
        if self.token.kind != Kind::Text {
            return Err(self.unexpected("a file's name in quotation marks"));
        }
        self.module.files.push(SourceFile {
            number,
            path: self.token.text.to_owned(),
        });
        self.advance()?;
        while self.skip_mark(b',')? {
            self.integer()?;
        }
        Ok(())
    }

    /// `.section .debug_info { ... }`: nothing in it says what the program does.
    fn debug_section(&mut self) -> Result<()> {
        self.advance()?;
        while !self.token.is_mark(b'{') {
            if self.token.kind == Kind::End {
                return Err(self.unexpected("`{`"));
            }
            self.advance()?;
        }
        self.advance()?;
        while !self.token.is_mark(b'}') {
            if self.token.kind == Kind::End {
                return Err(self.unexpected("`}`"));
            }
            self.advance()?;
        }
        self.advance()
    }

    fn pragma(&mut self) -> Result<()> {
        self.advance()?;
        while self.token.kind == Kind::Text {
            self.advance()?;
            self.skip_mark(b',')?;
        }
        self.mark(b';')
    }

    /// `.alias name, function;`
    fn alias(&mut self) -> Result<()> {
        self.advance()?;
        let name = self.word("the alias' name")?;
        self.mark(b',')?;
        let aliasee = self.word("a function's name")?;
        self.mark(b';')?;
        let aliasee = self.names.mention(&aliasee);
        self.names.alias(&name, aliasee)
    }

    /// A variable or a function, after its linkage.
    fn declaration(&mut self) -> Result<()> {
        let mut linkage = Linkage::Internal;
        loop {
            linkage = match (self.token.kind, self.token.text) {
                (Kind::Directive, ".visible") => Linkage::Visible,
                (Kind::Directive, ".weak") => Linkage::Weak,
                (Kind::Directive, ".common") => Linkage::Common,
                (Kind::Directive, ".extern") => Linkage::Extern,
                _ => break,
            };
            self.advance()?;
        }
        if self.token.is_directive(".entry") || self.token.is_directive(".func") {
            return self.function(linkage);
        }
        let Some(space) = state_space(self.token.text).filter(|space| {
            matches!(
                space,
                StateSpace::Const | StateSpace::Global | StateSpace::Local | StateSpace::Shared
            )
        }) else {
            return Err(self.unexpected(
                "a variable in `.global`, `.const`, `.shared` or `.local`, `.entry` or `.func`",
            ));
        };
        self.advance()?;
        for (name, variable) in self.variables(space)? {
            self.names.variable(&name, linkage, variable)?;
        }
        Ok(())
    }

    fn error_at(&self, token: &Token<'_>, problem: impl Into<String>, advice: &'static str) -> Error {
        Error {
            file: self.file.to_owned(),
            line: token.line,
            column: token.column,
            problem: problem.into(),
            advice,
        }
    }

    /// The error of a token that is not what has to stand here.
    fn unexpected(&self, wanted: &str) -> Error {
        let problem = format!("here stands {}, not {wanted}", self.token.shown());
        self.error_at(&self.token, problem, "")
    }

    fn advance(&mut self) -> Result<()> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    fn skip_mark(&mut self, mark: u8) -> Result<bool> {
        let is_there = self.token.is_mark(mark);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn mark(&mut self, mark: u8) -> Result<()> {
        if self.skip_mark(mark)? {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{}`", char::from(mark))))
    }

    fn word(&mut self, wanted: &str) -> Result<Token<'a>> {
        let token = self.token;
        if token.kind != Kind::Word {
            return Err(self.unexpected(wanted));
        }
        self.advance()?;
        Ok(token)
    }

    /// An integer with perhaps a sign, in two's complement.
    fn integer(&mut self) -> Result<u64> {
        let is_negative = self.skip_mark(b'-')?;
        let Kind::Integer(value) = self.token.kind else {
            return Err(self.unexpected("an integer"));
        };
        self.advance()?;
        Ok(if is_negative { value.wrapping_neg() } else { value })
    }

    /// An integer of 32 bits without a sign.
    fn number(&mut self) -> Result<u32> {
        let Kind::Integer(value) = self.token.kind else {
            return Err(self.unexpected("an integer"));
        };
        let Ok(value) = u32::try_from(value) else {
            return Err(self.unexpected("an integer of 32 bits"));
        };
        self.advance()?;
        Ok(value)
    }
}

/// The state space that a directive names.
fn state_space(directive: &str) -> Option<StateSpace> {
    Some(match directive {
        ".const" => StateSpace::Const,
        ".global" => StateSpace::Global,
        ".local" => StateSpace::Local,
        ".param" => StateSpace::Param,
        ".shared" => StateSpace::Shared,
        _ => return None,
    })
}
