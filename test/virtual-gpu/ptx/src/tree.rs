//! The syntax tree of a PTX file, with names resolved.
//!
//! Module-level names are indices into [`Module::symbols`], registers are dense numbers of their function,
//! branch targets are indices of instructions. Scopes in bodies are gone: each register and variable of an
//! inner scope is one of the function's own. Statements that say nothing about the result (`.pragma`, debug
//! sections) are left out.

use std::sync::Arc;

/// One PTX file, or several after [linking](mod@crate::link).
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The file's name, for messages.
    pub name: String,
    /// `.version`: major and minor.
    pub version: (u32, u32),
    /// `.target`: the processor, such as `sm_80`, without the options after it.
    pub target: String,
    /// `.address_size`: 32 or 64.
    pub address_size: u32,
    /// Variables, functions and aliases of the module, each once, however often it is declared.
    pub symbols: Vec<Symbol>,
    /// `.file`: numbers and names of source files.
    pub files: Vec<SourceFile>,
}

impl Module {
    /// The opcodes of all instructions, in their order.
    pub fn opcodes(&self) -> impl Iterator<Item = &Opcode> {
        let bodies = self.symbols.iter().filter_map(|symbol| match &symbol.kind {
            SymbolKind::Function(function) => function.body.as_ref(),
            _ => None,
        });
        let instructions = bodies.flat_map(|body| &body.instructions);
        instructions.map(|instruction| &*instruction.opcode)
    }
}

/// An index into [`Module::symbols`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SymbolIndex(pub u32);

/// A register of one function: registers are numbered from 0 without gaps.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RegisterIndex(pub u32);

/// A `.file` directive.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceFile {
    /// The number that `.loc` uses.
    pub number: u32,
    /// The path.
    pub path: String,
}

/// A name of the module.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// The name. A `.shared` variable `x` that function `f` declares in its body is `f::x` (and `f::x::2` the
    /// second one).
    pub name: String,
    /// Who sees the name.
    pub linkage: Linkage,
    /// The PTX file, for messages.
    pub file: Arc<str>,
    /// The line of the definition, else of the first declaration.
    pub line: u32,
    /// What it is.
    pub kind: SymbolKind,
}

/// What a [`Symbol`] is.
#[derive(Clone, Debug)]
pub enum SymbolKind {
    /// A variable.
    Variable(Variable),
    /// A kernel or a function.
    Function(Box<Function>),
    /// `.alias`: another name of a function.
    Alias(SymbolIndex),
}

impl Symbol {
    /// Whether the file defines it, not only declares.
    #[must_use]
    pub fn is_definition(&self) -> bool {
        match &self.kind {
            SymbolKind::Function(function) => function.body.is_some(),
            SymbolKind::Variable(_) => self.linkage != Linkage::Extern,
            SymbolKind::Alias(_) => true,
        }
    }
}

/// Who sees a name.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Linkage {
    /// No directive: this file alone.
    #[default]
    Internal,
    /// `.visible`: defined here, seen by all.
    Visible,
    /// `.weak`: as visible, and a second definition is no fault.
    Weak,
    /// `.common`: as weak, and the largest definition counts.
    Common,
    /// `.extern`: defined in another file (or, for `.shared`, sized by the launch).
    Extern,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum StateSpace {
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
}

/// A fundamental type.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(missing_docs, reason = "the names are those of PTX")]
pub enum ScalarType {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Pred,
}

impl ScalarType {
    /// Bytes in memory. A predicate, which has no form in memory, counts as one.
    #[must_use]
    pub fn size(self) -> u32 {
        match self {
            Self::B8 | Self::U8 | Self::S8 | Self::Pred => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F16x2 | Self::Bf16x2 | Self::F32 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }
}

/// A variable of the module, or one of a function in `.local` or `.param`.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Where it lives.
    pub space: StateSpace,
    /// Bytes to align to: what `.align` says, else the type's own.
    pub alignment: u32,
    /// The element's type.
    pub scalar: ScalarType,
    /// Bytes of the whole. 0 for `x[]`, an array without a size.
    pub size: u64,
    /// What it holds at the start. A variable without an initialiser has no data.
    pub initializer: Initializer,
}

/// The initial bytes of a variable.
#[derive(Clone, Debug, Default)]
pub struct Initializer {
    /// Whether the file has one. Without it `.global` and `.const` begin as zeros.
    pub is_given: bool,
    /// The first bytes; those behind it are zero. Places of relocations hold zeros.
    pub data: Vec<u8>,
    /// Addresses to be written into the bytes.
    pub relocations: Vec<Relocation>,
}

/// An address in an initialiser: `(address(symbol) + addend) >> shift`, its low `size` bytes.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// Byte in the variable.
    pub offset: u64,
    /// Bytes to write, at most 8.
    pub size: u32,
    /// Whose address.
    pub symbol: SymbolIndex,
    /// What is added to the address.
    pub addend: i64,
    /// `generic(symbol)`: the address in the generic space, else the one in the symbol's own.
    pub is_generic: bool,
    /// Bits to shift right by: `0xFF00(symbol)` has 8.
    pub shift: u32,
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub struct Function {
    /// `.entry`, else `.func`.
    pub is_entry: bool,
    /// What it returns: none or one in what compilers write.
    pub returns: Vec<Parameter>,
    /// What it takes. [`Parameter::offset`] is the place in a kernel's block of parameters.
    pub parameters: Vec<Parameter>,
    /// `.noreturn`
    pub is_noreturn: bool,
    /// `.maxntid`: threads of a block in x, y, z at most.
    pub maxntid: Option<[u32; 3]>,
    /// `.reqntid`: threads of a block in x, y, z exactly.
    pub reqntid: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub minnctapersm: Option<u32>,
    /// `.maxnreg`
    pub maxnreg: Option<u32>,
    /// The code. A declaration has none.
    pub body: Option<Body>,
}

impl Function {
    /// Bytes of a kernel's block of parameters.
    #[must_use]
    pub fn parameter_bytes(&self) -> u64 {
        self.parameters.last().map_or(0, |last| last.offset + last.size)
    }
}

/// A parameter of a function, or what it returns.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// Bytes to align to.
    pub alignment: u32,
    /// The element's type.
    pub scalar: ScalarType,
    /// Bytes of the whole.
    pub size: u64,
    /// Bytes before it, when all parameters lie behind each other, each at its alignment.
    pub offset: u64,
    /// The register that holds it, for parameters in `.reg`.
    pub register: Option<RegisterIndex>,
}

/// The code of a function.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Registers in order of their numbers: the ranges are dense.
    pub registers: Vec<RegisterRange>,
    /// Variables in `.local` and `.param`. (Those in other spaces are symbols of the module.)
    pub variables: Vec<BodyVariable>,
    /// The instructions. Running off the end returns.
    pub instructions: Vec<Instruction>,
    /// Labels and the instruction before which each stands, for messages.
    pub labels: Vec<(String, u32)>,
    /// `.loc`: places in source files, in order of instructions.
    pub locations: Vec<Location>,
}

/// Registers of one declaration.
#[derive(Clone, Debug)]
pub struct RegisterRange {
    /// The name, or what numbers are appended to: `%r` for `%r<5>`.
    pub name: String,
    /// Whether numbers are appended.
    pub is_numbered: bool,
    /// The type.
    pub scalar: ScalarType,
    /// The number of the first.
    pub first: RegisterIndex,
    /// How many.
    pub count: u32,
}

/// A variable that a body declares.
#[derive(Clone, Debug)]
pub struct BodyVariable {
    /// The name. Variables of different scopes may share one.
    pub name: String,
    /// What it is.
    pub variable: Variable,
    /// The line.
    pub line: u32,
}

/// From where in a source file instructions come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Location {
    /// The first instruction of which this is true.
    pub instruction: u32,
    /// The number of the [`SourceFile`].
    pub file: u32,
    /// The line in it.
    pub line: u32,
    /// The column in it.
    pub column: u32,
}

/// An instruction's name with all its modifiers.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Opcode {
    /// As PTX writes it: `ld.global.v2.u32`.
    pub text: String,
}

impl Opcode {
    /// What stands before the first full stop.
    #[must_use]
    pub fn mnemonic(&self) -> &str {
        self.text.split('.').next().unwrap_or_default()
    }

    /// The modifiers in order, without their full stops.
    pub fn modifiers(&self) -> impl Iterator<Item = &str> {
        self.text.split('.').skip(1)
    }
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// `@%p` or `@!%p`: the lanes that execute it.
    pub guard: Option<Guard>,
    /// What it does. Instructions with the same opcode share one.
    pub opcode: Arc<Opcode>,
    /// On what, in the order of the text. A call has one operand, [`Operand::Call`].
    pub operands: Vec<Operand>,
    /// The line in the PTX file.
    pub line: u32,
}

/// The predicate before an instruction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Guard {
    /// The register.
    pub predicate: RegisterIndex,
    /// `@!`: execute where it is false.
    pub is_negated: bool,
}

/// What an instruction works on.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(RegisterIndex),
    /// `!%p`
    Negated(RegisterIndex),
    /// `%tid.x` and others that the hardware writes.
    Special(SpecialRegister),
    /// A constant.
    Immediate(Immediate),
    /// The address of something, plus bytes, as a value: `mov.u64 %rd1, x+8`.
    Symbol(Reference, i64),
    /// `[...]`: memory.
    Address(Address),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `a|b`: two results.
    Pair(Box<(Operand, Operand)>),
    /// `_`: a result that no one wants.
    Sink,
    /// A branch target: an index into [`Body::instructions`]. The number of instructions is the end of the
    /// function.
    Label(u32),
    /// The targets of `brx.idx`, each as [`Operand::Label`].
    Targets(Arc<[u32]>),
    /// All that a call takes.
    Call(Box<Call>),
}

/// A constant operand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Immediate {
    /// An integer of 64 bits; negative ones in two's complement.
    Integer(u64),
    /// `0f...`: the bits of a 32-bit number.
    Single(u32),
    /// `0d...`, or written with a decimal point: the bits of a 64-bit number.
    Double(u64),
}

/// Something that has an address.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Reference {
    /// A variable or function of the module.
    Symbol(SymbolIndex),
    /// An index into [`Body::variables`].
    Variable(u32),
    /// An index into [`Function::parameters`].
    Parameter(u32),
    /// An index into [`Function::returns`].
    Return(u32),
}

/// A place in memory: the base plus the offset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Address {
    /// From where.
    pub base: Base,
    /// How many bytes on.
    pub offset: i64,
}

/// What an address starts from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Base {
    /// A register's value.
    Register(RegisterIndex),
    /// A name's address.
    Reference(Reference),
    /// Nothing: the offset is the address.
    Absolute,
}

/// What a call takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Where results go: variables in `.param` ([`Operand::Symbol`]), registers or sinks.
    pub returns: Vec<Operand>,
    /// What is called.
    pub target: CallTarget,
    /// What is passed: variables in `.param` ([`Operand::Symbol`]), registers or constants.
    pub arguments: Vec<Operand>,
}

/// What a call calls.
#[derive(Clone, Debug, PartialEq)]
pub enum CallTarget {
    /// A function by name.
    Direct(SymbolIndex),
    /// A function by its address in a register, and how it is called.
    Indirect(RegisterIndex, Arc<Prototype>),
}

/// `.callprototype`: what a function that is called through a pointer takes and returns; names are empty or
/// `_`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// What it returns.
    pub returns: Vec<PrototypeParameter>,
    /// What it takes.
    pub parameters: Vec<PrototypeParameter>,
}

/// A parameter of a prototype.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PrototypeParameter {
    /// The element's type.
    pub scalar: ScalarType,
    /// Bytes to align to.
    pub alignment: u32,
    /// Bytes of the whole.
    pub size: u64,
}

/// A register that the hardware writes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(missing_docs, reason = "the names are those of PTX")]
pub enum SpecialRegister {
    TidX,
    TidY,
    TidZ,
    NtidX,
    NtidY,
    NtidZ,
    CtaidX,
    CtaidY,
    CtaidZ,
    NctaidX,
    NctaidY,
    NctaidZ,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    DynamicSmemSize,
    TotalSmemSize,
    WarpSize,
    /// `%envreg0` to `%envreg31`
    Envreg(u8),
}
