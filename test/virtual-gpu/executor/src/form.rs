//! What an opcode with its modifiers means, without its operands.

use offloom_ptx_arithmetic::{self as arithmetic, Operation};

use crate::atomic;
use crate::code::{BarrierKind, CarryKind, Change, ExchangeKind, Logic, Spread};
use crate::space::Space;

/// A type: bits, and whether it is signed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Type {
    pub(crate) bits: u32,
    pub(crate) is_signed: bool,
    /// How constants in decimal or hexadecimal floating point are written into it.
    pub(crate) is_float: bool,
}

/// What an opcode means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Arithmetic {
        run: Operation,
        spread: Spread,
    },
    Compare {
        run: fn(&arithmetic::Lanes, &arithmetic::Lanes) -> u32,
        combined: Option<Logic>,
        is_equality: bool,
        /// Of two numbers in each register: one answer for each.
        of_pairs: bool,
    },
    Set {
        run: fn(&arithmetic::Lanes, &arithmetic::Lanes) -> u32,
        value: u64,
    },
    Move,
    Select,
    Logic(Option<Logic>),
    ToGeneric(Space),
    FromGeneric(Space),
    IsSpace(Space),
    Carry {
        kind: CarryKind,
        reads: bool,
        writes: bool,
    },
    Load {
        space: Space,
        count: u32,
        /// Other threads may change what is read: threads may be waiting for that.
        is_volatile: bool,
    },
    Store {
        space: Space,
        count: u32,
    },
    Atomic {
        space: Space,
        change: Change,
        has_result: bool,
    },
    Branch,
    BranchIndexed,
    Call,
    Return,
    Exit,
    Barrier(BarrierKind),
    Exchange(ExchangeKind),
    ActiveMask,
    Allocate,
    StackSave,
    StackRestore,
    Fence,
    Sleep,
    Trap,
    Nothing,
}

/// The type that a modifier names.
pub(crate) fn type_of(modifier: &str) -> Option<Type> {
    let (kind, bits) = match modifier {
        "pred" => ("b", 1),
        "bf16" => ("f", 16),
        "f16x2" | "bf16x2" => ("f", 32),
        "u16x2" | "s16x2" => ("b", 32),
        _ => {
            let (kind, bits) = modifier.split_at_checked(1)?;
            (kind, bits.parse().ok()?)
        }
    };
    let known = match kind {
        "b" | "u" | "s" => matches!(bits, 1 | 8 | 16 | 32 | 64),
        "f" => matches!(bits, 16 | 32 | 64),
        _ => false,
    };
    known.then(|| Type {
        bits,
        is_signed: kind == "s",
        is_float: kind == "f",
    })
}

/// An opcode's meaning and its last type, which is that of its inputs.
pub(crate) fn parse(opcode: &str) -> Option<(Form, Type)> {
    let mut parts = opcode.split('.');
    let name = parts.next()?;
    let modifiers: Vec<&str> = parts.collect();
    let none = Type {
        bits: 32,
        is_signed: false,
        is_float: false,
    };
    let last = modifiers
        .iter()
        .rev()
        .find_map(|modifier| type_of(modifier))
        .unwrap_or(none);
    let form = match name {
        "mov" => known(&modifiers, &[])?.then_some(Form::Move),
        "selp" => known(&modifiers, &[])?.then_some(Form::Select),
        "and" | "or" | "xor" | "not" if modifiers == ["pred"] => Some(Form::Logic(match name {
            "and" => Some(Logic::And),
            "or" => Some(Logic::Or),
            "xor" => Some(Logic::Xor),
            _ => None,
        })),
        "setp" => compare(&modifiers),
        "set" => set(&modifiers),
        "cvta" => match *modifiers {
            ["to", space, "u32" | "u64"] => Some(Form::FromGeneric(space_of(space)?)),
            [space, "u32" | "u64"] => Some(Form::ToGeneric(space_of(space)?)),
            _ => None,
        },
        "isspacep" => match *modifiers {
            [space] => Some(Form::IsSpace(space_of(space)?)),
            _ => None,
        },
        "add" | "addc" | "sub" | "subc" | "mad" | "madc"
            if name.ends_with('c') || modifiers.contains(&"cc") =>
        {
            carry(name, &modifiers)
        }
        "ld" | "ldu" | "st" => load_or_store(name, &modifiers),
        "atom" | "red" => atomic_form(name, &modifiers),
        "bra" => known(&modifiers, &["uni"])?.then_some(Form::Branch),
        "brx" => (modifiers.first() == Some(&"idx")).then_some(Form::BranchIndexed),
        "call" => known(&modifiers, &["uni"])?.then_some(Form::Call),
        "ret" => known(&modifiers, &["uni"])?.then_some(Form::Return),
        "exit" => modifiers.is_empty().then_some(Form::Exit),
        "bar" | "barrier" => barrier(&modifiers),
        "shfl" | "vote" | "match" | "redux" => exchange(name, &modifiers),
        "activemask" => (modifiers == ["b32"]).then_some(Form::ActiveMask),
        "alloca" => Some(Form::Allocate),
        "stacksave" => Some(Form::StackSave),
        "stackrestore" => Some(Form::StackRestore),
        "membar" | "fence" => Some(Form::Fence),
        "nanosleep" => Some(Form::Sleep),
        "trap" | "brkpt" => modifiers.is_empty().then_some(Form::Trap),
        "prefetch" | "prefetchu" | "applypriority" | "discard" | "pmevent" | "griddepcontrol" => {
            Some(Form::Nothing)
        }
        _ => None,
    };
    let form = form.or_else(|| {
        let run = arithmetic::operation(opcode)?;
        let spread = spread(name, &modifiers);
        Some(Form::Arithmetic { run, spread })
    })?;
    Some((form, last))
}

/// Whether all modifiers are types or among these; `None` if not.
fn known(modifiers: &[&str], others: &[&str]) -> Option<bool> {
    let all = modifiers
        .iter()
        .all(|modifier| type_of(modifier).is_some() || others.contains(modifier));
    all.then_some(true)
}

fn space_of(modifier: &str) -> Option<Space> {
    Some(match modifier.split("::").next()? {
        "global" | "const" => Space::Global,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "param" => Space::Parameter,
        _ => return None,
    })
}

fn spread(name: &str, modifiers: &[&str]) -> Spread {
    match name {
        "and" => Spread::And,
        "or" => Spread::Or,
        "shl" | "shr" | "bfe" | "brev" => Spread::Bits(1),
        "shf" | "prmt" | "bfi" => Spread::Bits(2),
        "cvt" => {
            let moves_bits = modifiers.len() == 2
                && modifiers
                    .iter()
                    .all(|modifier| type_of(modifier).is_some_and(|kind| !kind.is_float));
            if moves_bits { Spread::Bits(1) } else { Spread::All }
        }
        _ => Spread::All,
    }
}

fn logic(modifier: &str) -> Option<Logic> {
    Some(match modifier {
        "and" => Logic::And,
        "or" => Logic::Or,
        "xor" => Logic::Xor,
        _ => return None,
    })
}

fn compare(modifiers: &[&str]) -> Option<Form> {
    let (&kind, rest) = modifiers.split_last()?;
    let (of_pairs, kind) = match kind {
        "f16x2" => (true, "f16"),
        "bf16x2" => (true, "bf16"),
        _ => (false, kind),
    };
    let mut rest = rest.to_vec();
    let combined = rest.get(1).and_then(|modifier| logic(modifier));
    if combined.is_some() {
        rest.remove(1);
    }
    let is_equality =
        matches!(rest.first(), Some(&("eq" | "ne"))) && type_of(kind).is_some_and(|kind| !kind.is_float);
    rest.push(kind);
    match arithmetic::operation(&format!("setp.{}", rest.join(".")))? {
        Operation::Compare(run) => Some(Form::Compare {
            run,
            combined,
            is_equality,
            of_pairs,
        }),
        _ => None,
    }
}

/// `set.lt.u32.s32`: the answer as a number.
fn set(modifiers: &[&str]) -> Option<Form> {
    let (&source, rest) = modifiers.split_last()?;
    let (&result, rest) = rest.split_last()?;
    let value = match result {
        "u32" | "s32" => u32::MAX.into(),
        "f32" => u64::from(1.0_f32.to_bits()),
        _ => return None,
    };
    match arithmetic::operation(&format!("setp.{}.{source}", rest.join(".")))? {
        Operation::Compare(run) => Some(Form::Set { run, value }),
        _ => None,
    }
}

fn carry(name: &str, modifiers: &[&str]) -> Option<Form> {
    let half = modifiers.first().copied();
    let kind = match (name, half) {
        ("add" | "addc", _) => CarryKind::Add,
        ("sub" | "subc", _) => CarryKind::Subtract,
        (_, Some("lo")) => CarryKind::MultiplyLow,
        (_, Some("hi")) => CarryKind::MultiplyHigh,
        _ => return None,
    };
    known(modifiers, &["cc", "lo", "hi"])?;
    let bits = type_of(modifiers.last()?)?.bits;
    matches!(bits, 32 | 64).then_some(Form::Carry {
        kind,
        reads: name.ends_with('c'),
        writes: modifiers.contains(&"cc"),
    })
}

/// Modifiers of memory accesses that change nothing here: order, scope and caches.
fn is_hint(modifier: &str) -> bool {
    matches!(
        modifier,
        "weak"
            | "volatile"
            | "relaxed"
            | "acquire"
            | "release"
            | "acq_rel"
            | "mmio"
            | "cta"
            | "cluster"
            | "gpu"
            | "sys"
            | "nc"
            | "ca"
            | "cg"
            | "cs"
            | "lu"
            | "cv"
            | "wb"
            | "wt"
            | "noftz"
    ) || modifier.starts_with("L1::")
        || modifier.starts_with("L2::")
}

fn load_or_store(name: &str, modifiers: &[&str]) -> Option<Form> {
    let (&kind, rest) = modifiers.split_last()?;
    type_of(kind).filter(|kind| kind.bits >= 8)?;
    let (mut space, mut count) = (Space::Generic, 1);
    for modifier in rest {
        match *modifier {
            "v2" => count = 2,
            "v4" => count = 4,
            "v8" => count = 8,
            _ if is_hint(modifier) => {}
            _ => space = space_of(modifier)?,
        }
    }
    Some(if name == "st" {
        Form::Store { space, count }
    } else {
        Form::Load {
            space,
            count,
            is_volatile: rest
                .iter()
                .any(|modifier| matches!(*modifier, "volatile" | "relaxed" | "acquire" | "mmio")),
        }
    })
}

fn atomic_form(name: &str, modifiers: &[&str]) -> Option<Form> {
    let (&kind, rest) = modifiers.split_last()?;
    let (mut space, mut operation) = (Space::Generic, None);
    for modifier in rest {
        if is_hint(modifier) {
            continue;
        }
        match space_of(modifier) {
            Some(named) => space = named,
            None if operation.is_none() => operation = Some(*modifier),
            None => return None,
        }
    }
    Some(Form::Atomic {
        space,
        change: atomic::change(operation?, kind, space == Space::Shared)?,
        has_result: name == "atom",
    })
}

fn barrier(modifiers: &[&str]) -> Option<Form> {
    let rest: Vec<&str> = modifiers
        .iter()
        .copied()
        .filter(|modifier| !matches!(*modifier, "cta" | "aligned"))
        .collect();
    Some(match *rest {
        ["warp", "sync"] => Form::Exchange(ExchangeKind::Sync),
        ["sync"] => Form::Barrier(BarrierKind::Sync),
        ["arrive"] => Form::Barrier(BarrierKind::Arrive),
        ["red", "popc", "u32"] => Form::Barrier(BarrierKind::Count),
        ["red", "and", "pred"] => Form::Barrier(BarrierKind::And),
        ["red", "or", "pred"] => Form::Barrier(BarrierKind::Or),
        _ => return None,
    })
}

fn exchange(name: &str, modifiers: &[&str]) -> Option<Form> {
    Some(Form::Exchange(match (name, modifiers) {
        ("shfl", ["sync", "up", "b32"]) => ExchangeKind::ShuffleUp,
        ("shfl", ["sync", "down", "b32"]) => ExchangeKind::ShuffleDown,
        ("shfl", ["sync", "bfly", "b32"]) => ExchangeKind::ShuffleButterfly,
        ("shfl", ["sync", "idx", "b32"]) => ExchangeKind::ShuffleIndex,
        ("vote", ["sync", "all", "pred"]) => ExchangeKind::VoteAll,
        ("vote", ["sync", "any", "pred"]) => ExchangeKind::VoteAny,
        ("vote", ["sync", "uni", "pred"]) => ExchangeKind::VoteUniform,
        ("vote", ["sync", "ballot", "b32"]) => ExchangeKind::VoteBallot,
        ("match", ["any", "sync", "b32" | "b64"]) => ExchangeKind::MatchAny,
        ("match", ["all", "sync", "b32" | "b64"]) => ExchangeKind::MatchAll,
        ("redux", ["sync", "add", "u32" | "s32"]) => ExchangeKind::ReduceAdd,
        ("redux", ["sync", "min", "u32"]) => ExchangeKind::ReduceMinUnsigned,
        ("redux", ["sync", "max", "u32"]) => ExchangeKind::ReduceMaxUnsigned,
        ("redux", ["sync", "min", "s32"]) => ExchangeKind::ReduceMinSigned,
        ("redux", ["sync", "max", "s32"]) => ExchangeKind::ReduceMaxSigned,
        ("redux", ["sync", "and", "b32"]) => ExchangeKind::ReduceAnd,
        ("redux", ["sync", "or", "b32"]) => ExchangeKind::ReduceOr,
        ("redux", ["sync", "xor", "b32"]) => ExchangeKind::ReduceXor,
        _ => return None,
    }))
}
