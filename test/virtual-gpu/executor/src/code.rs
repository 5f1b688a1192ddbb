//! The decoded form of PTX: what the interpreter runs.

use std::sync::Arc;

use offloom_ptx::tree::{Opcode, SpecialRegister};
use offloom_ptx_arithmetic::Lanes;

use crate::space::Space;

/// A register that is read: one of the frame, or a constant of the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Source(u32);

impl Source {
    const CONSTANT: u32 = 1 << 31;

    pub(crate) fn register(index: u32) -> Self {
        Self(index)
    }

    pub(crate) fn constant(index: u32) -> Self {
        Self(index | Self::CONSTANT)
    }

    /// The constant's index.
    #[inline]
    pub(crate) fn as_constant(self) -> Option<usize> {
        (self.0 & Self::CONSTANT != 0).then_some((self.0 & !Self::CONSTANT) as usize)
    }

    /// The register's index in the frame; of a source that is no constant.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A predicate that is read: a register of the frame, perhaps negated, or a constant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Condition(u32);

impl Condition {
    const NEGATED: u32 = 1 << 31;
    const CONSTANT: u32 = Self::NEGATED - 1;

    pub(crate) fn register(index: u32, negated: bool) -> Self {
        Self(index | if negated { Self::NEGATED } else { 0 })
    }

    pub(crate) fn constant(value: bool) -> Self {
        Self::register(Self::CONSTANT, !value)
    }

    #[inline]
    pub(crate) fn is_negated(self) -> bool {
        self.0 & Self::NEGATED != 0
    }

    /// The register's index, if it is not a constant.
    #[inline]
    pub(crate) fn index(self) -> Option<usize> {
        let index = self.0 & !Self::NEGATED;
        (index != Self::CONSTANT).then_some(index as usize)
    }

    /// Whether it is always true.
    #[inline]
    pub(crate) fn is_always(self) -> bool {
        self.0 == Self::CONSTANT
    }
}

/// How unwritten bits of inputs become unwritten bits of results.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Spread {
    /// Any unwritten bit makes the whole result so.
    All,
    /// The operation moves bits of its first inputs, so many of them: it is applied to their shadows.
    Bits(usize),
    /// A written zero on one side makes the bit written.
    And,
    /// A written one on one side makes the bit written.
    Or,
}

/// Operations on predicates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// What a signed load does after reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extension {
    /// Bits of the sign-extended value that the register has.
    pub(crate) mask: u64,
    /// Whether the top bit read is repeated.
    pub(crate) is_signed: bool,
}

/// Where an address comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    /// A register or constant.
    Source(Source),
    /// The offset in the function's part of local memory.
    Frame,
}

/// Memory that an instruction accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) from: From,
    /// What is added.
    pub(crate) offset: i64,
    /// Bytes of one element.
    pub(crate) size: u32,
    /// What the address must be a multiple of: the bytes of all elements.
    pub(crate) alignment: u32,
}

/// No register: a result that no one wants.
pub(crate) const SINK: u32 = u32::MAX;

/// `ld`
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) access: Access,
    pub(crate) extension: Extension,
    /// Other threads may change what is read.
    pub(crate) is_volatile: bool,
    pub(crate) results: Box<[u32]>,
}

/// `st`
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) access: Access,
    pub(crate) values: Box<[Source]>,
}

/// What an atomic operation makes of the old value and its operands, per element.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// Of the old value and one operand.
    One(fn(u64, u64) -> u64),
    /// Of the old value and two operands.
    Two(fn(u64, u64, u64) -> u64),
}

/// `atom`, `red`
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) access: Access,
    pub(crate) change: Change,
    pub(crate) result: u32,
    pub(crate) operand: Source,
    pub(crate) second: Source,
}

/// Arithmetic with a carry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CarryKind {
    Add,
    Subtract,
    /// The low half of the product, plus.
    MultiplyLow,
    /// The high half of the product, plus.
    MultiplyHigh,
}

/// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`
#[derive(Clone, Debug)]
pub(crate) struct Carry {
    pub(crate) kind: CarryKind,
    pub(crate) bits: u32,
    pub(crate) is_signed: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) result: u32,
    pub(crate) a: Source,
    pub(crate) b: Source,
    /// The addend of a multiplication.
    pub(crate) c: Source,
}

/// Where a call goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// A function of the program, by its index.
    Function(u32),
    /// An address in a register.
    Address(Source),
    /// A function that the device has.
    Builtin(Builtin),
}

/// Functions that the device has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Builtin {
    Vprintf,
    Malloc,
    Free,
    AssertFail,
}

/// An argument or result of a call in the caller's frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// `call`
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) target: Target,
    pub(crate) arguments: Box<[Slot]>,
    pub(crate) results: Box<[Slot]>,
}

/// What a barrier does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    And,
    Or,
    Count,
}

/// `bar`, `barrier`
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) number: Source,
    pub(crate) threads: Option<Source>,
    pub(crate) condition: Condition,
    /// A register, or a predicate of `And` and `Or`.
    pub(crate) result: u32,
}

/// What threads of a warp exchange.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ExchangeKind {
    /// `bar.warp.sync`
    Sync,
    ShuffleUp,
    ShuffleDown,
    ShuffleButterfly,
    ShuffleIndex,
    VoteAll,
    VoteAny,
    VoteUniform,
    VoteBallot,
    MatchAny,
    MatchAll,
    ReduceAdd,
    ReduceMinUnsigned,
    ReduceMaxUnsigned,
    ReduceMinSigned,
    ReduceMaxSigned,
    ReduceAnd,
    ReduceOr,
    ReduceXor,
}

/// `shfl`, `vote`, `match`, `redux`, `bar.warp`
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) kind: ExchangeKind,
    pub(crate) members: Source,
    pub(crate) value: Source,
    pub(crate) condition: Condition,
    pub(crate) b: Source,
    pub(crate) c: Source,
    pub(crate) result: u32,
    pub(crate) predicate: u32,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Nothing,
    Unary {
        run: fn(&Lanes) -> Lanes,
        spread: Spread,
        d: u32,
        a: Source,
    },
    Binary {
        run: fn(&Lanes, &Lanes) -> Lanes,
        spread: Spread,
        d: u32,
        a: Source,
        b: Source,
    },
    Ternary(Box<Ternary>),
    Quaternary(Box<Quaternary>),
    Move {
        d: u32,
        a: Source,
    },
    Select {
        d: u32,
        a: Source,
        b: Source,
        condition: Condition,
    },
    Compare(Box<Compare>),
    Test {
        run: fn(&Lanes) -> u32,
        p: u32,
        a: Source,
    },
    Logic {
        logic: Logic,
        p: u32,
        a: Condition,
        b: Condition,
    },
    /// A predicate's value as a register.
    FromPredicate {
        d: u32,
        a: Condition,
        value: u64,
    },
    Pack {
        d: u32,
        parts: Box<[Source]>,
        bits: u32,
    },
    Unpack {
        parts: Box<[u32]>,
        a: Source,
        bits: u32,
    },
    Special {
        d: u32,
        register: SpecialRegister,
    },
    FrameAddress {
        d: u32,
        offset: i64,
    },
    Offset {
        d: u32,
        a: Source,
        by: u64,
    },
    IsSpace {
        p: u32,
        a: Source,
        space: Space,
    },
    Carry(Box<Carry>),
    Load(Box<Load>),
    Store(Box<Store>),
    Atomic(Box<Atomic>),
    Branch {
        target: u32,
    },
    BranchIndexed {
        targets: Box<[u32]>,
        a: Source,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Barrier(Box<Barrier>),
    Exchange(Box<Exchange>),
    ActiveMask {
        d: u32,
    },
    Allocate {
        d: u32,
        size: Source,
        alignment: u32,
    },
    StackSave {
        d: u32,
    },
    StackRestore {
        a: Source,
    },
    Fence,
    Sleep,
    Trap,
    /// What the executor cannot do: a fault when a thread comes.
    Unknown(Box<str>),
}

/// Three inputs.
#[derive(Clone, Debug)]
pub(crate) struct Ternary {
    pub(crate) run: fn(&Lanes, &Lanes, &Lanes) -> Lanes,
    pub(crate) spread: Spread,
    pub(crate) d: u32,
    pub(crate) inputs: [Source; 3],
}

/// Four inputs.
#[derive(Clone, Debug)]
pub(crate) struct Quaternary {
    pub(crate) run: fn(&Lanes, &Lanes, &Lanes, &Lanes) -> Lanes,
    pub(crate) spread: Spread,
    pub(crate) d: u32,
    pub(crate) inputs: [Source; 4],
}

/// `setp`, `set`
#[derive(Clone, Debug)]
pub(crate) struct Compare {
    pub(crate) run: fn(&Lanes, &Lanes) -> u32,
    /// The comparison is of bits for (in)equality: written bits that differ decide.
    pub(crate) is_equality: bool,
    pub(crate) a: Source,
    pub(crate) b: Source,
    /// With what the answer is combined.
    pub(crate) combined: Option<(Logic, Condition)>,
    pub(crate) p: u32,
    /// Gets the answer negated before it is combined; of pairs the answer for the upper halves.
    pub(crate) q: u32,
    /// Of two numbers in each register.
    pub(crate) of_pairs: bool,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) operation: Operation,
    pub(crate) guard: Condition,
    /// Of threads that have parted, those at the lowest rank run.
    pub(crate) rank: u32,
}

/// Where an instruction comes from, for messages.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) line: u32,
    pub(crate) opcode: Arc<Opcode>,
}

/// A function with its code.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The first instruction in the program's code.
    pub(crate) entry: u32,
    /// Instructions, with the return at the end.
    pub(crate) length: u32,
    /// Registers and predicates of a frame: the larger of both numbers.
    pub(crate) registers: u32,
    /// Bytes of a frame in local memory: parameters, results, variables.
    pub(crate) frame_bytes: u32,
    /// What frames begin at a multiple of, in bytes.
    pub(crate) frame_alignment: u32,
    /// Bytes that count against the stack's limit.
    pub(crate) stack_bytes: u32,
    /// Parameters in the frame.
    pub(crate) parameters: Box<[Slot]>,
    /// Results in the frame.
    pub(crate) results: Box<[Slot]>,
    pub(crate) is_entry: bool,
}
