//! What the threads of a warp tell each other: `shfl`, `vote`, `match`, `redux`, `bar.warp`.
//!
//! An operation happens when all live members of its mask have come to it. Usually they come together; else
//! those who are early leave what they bring and wait. They meet at the same operation with the same members,
//! wherever it stands in the code.

use offloom_ptx_arithmetic::{LANES, Lanes};

use super::{At, Block, Machine, Raised};
use crate::code::{Exchange, ExchangeKind, Operation, SINK};
use crate::fault::ReportKind;
use crate::lanes::lanes;
use crate::warp::{Wait, Warp};

/// What lanes bring.
struct Brought<'a> {
    value: &'a Lanes,
    b: &'a Lanes,
    c: &'a Lanes,
    condition: u32,
    poison: u32,
}

/// What lanes get.
struct Given {
    value: Lanes,
    predicate: u32,
    /// Lanes whose result is unwritten because what others brought is.
    poison: u32,
}

impl Machine<'_> {
    /// Executes the exchange for the lanes that are here, or lets them wait for others: whether it is done.
    pub(super) fn exchange(
        &mut self,
        block: &Block,
        warp: &mut Warp,
        at: At,
        exchange: &Exchange,
    ) -> Result<bool, Raised> {
        let constants = &self.code.constants[..];
        let poison = warp.poisoned(at.base, exchange.members) & at.exec;
        if poison != 0 {
            self.poison_used(block, warp, at.pc, poison, ReportKind::PoisonDecision)?;
        }
        let members = *warp.read(constants, at.base, exchange.members);
        let first = at.exec.trailing_zeros() as usize % LANES;
        let mask = members[first] as u32;
        let is_uniform = lanes(at.exec).all(|lane| members[lane] as u32 == mask);
        let poison = warp.poisoned(at.base, exchange.value)
            | warp.condition_poison(at.base, exchange.condition)
            | warp.poisoned(at.base, exchange.b);
        let condition = warp.holds(at.base, exchange.condition);
        let [value, b, c] =
            [exchange.value, exchange.b, exchange.c].map(|source| warp.read(constants, at.base, source));
        if is_uniform && mask & warp.live & !at.exec == 0 {
            let brought = Brought {
                value,
                b,
                c,
                condition,
                poison,
            };
            let given = give(exchange.kind, at.exec, &brought);
            if exchange.result != SINK {
                let result = at.base + exchange.result as usize;
                if given.poison & at.exec == 0 {
                    warp.write(result, at.exec, &given.value);
                } else {
                    let shadow =
                        std::array::from_fn(|lane| u64::from(given.poison >> lane & 1).wrapping_neg());
                    warp.write_shadowed(result, at.exec, &given.value, &shadow);
                }
            }
            if exchange.predicate != SINK {
                let predicate = at.base + exchange.predicate as usize;
                warp.write_predicate(predicate, at.exec, given.predicate, given.poison);
            }
            return Ok(true);
        }
        let brought = [members, *value, *b, *c];
        for lane in lanes(at.exec) {
            for (kept, brought) in warp.brought.iter_mut().zip(&brought) {
                kept[lane] = brought[lane];
            }
        }
        warp.brought_condition = (warp.brought_condition & !at.exec) | (condition & at.exec);
        warp.brought_poison = (warp.brought_poison & !at.exec) | (poison & at.exec);
        warp.stand_at(at.exec, at.pc);
        warp.wait(at.exec, Wait::Warp);
        self.check_exchanges(warp);
        Ok(false)
    }

    /// Executes exchanges for which all live members wait.
    pub(super) fn check_exchanges(&mut self, warp: &mut Warp) {
        self.exchange_among(warp, 0);
    }

    /// Executes exchanges whose other members all wait at a barrier of the block, without them, when nothing
    /// else can go on. The device runtime of LLVM 19 reduces over whole warps of which `num_threads` lets a
    /// part work. Whether there were any.
    pub(crate) fn exchange_without_absent(&mut self, block: &Block, warp: &mut Warp) -> bool {
        let at_barriers = lanes(warp.live).filter(|&lane| matches!(warp.waits[lane], Wait::Barrier(_)));
        let absent = at_barriers.fold(0, |mask, lane| mask | 1 << lane);
        let before = warp.pc;
        let done = self.exchange_among(warp, absent);
        if done != 0 {
            let pc = before[done.trailing_zeros() as usize % LANES];
            self.report(block, warp, pc, done, ReportKind::AbsentMembers);
        }
        done != 0
    }

    /// Executes exchanges for which all live members wait, but for those that may be absent. Returns who went
    /// on.
    fn exchange_among(&mut self, warp: &mut Warp, absent: u32) -> u32 {
        let mut done = 0;
        let mut left = warp.waiting(Wait::Warp);
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let mask = warp.brought[0][first] as u32;
            let Some(kind) = self.exchange_at(warp, first).map(|exchange| exchange.kind) else {
                return done;
            };
            let together = lanes(left)
                .filter(|&lane| {
                    warp.brought[0][lane] as u32 == mask
                        && self
                            .exchange_at(warp, lane)
                            .is_some_and(|exchange| exchange.kind == kind)
                })
                .fold(0, |mask, lane| mask | 1 << lane);
            left &= !together;
            if mask & warp.live & !together & !absent != 0 {
                continue;
            }
            let [_, value, b, c] = warp.brought;
            let brought = Brought {
                value: &value,
                b: &b,
                c: &c,
                condition: warp.brought_condition,
                poison: warp.brought_poison,
            };
            let given = give(kind, together, &brought);
            for lane in lanes(together) {
                let base = warp.base[lane] as usize;
                let Some((result, predicate)) = self
                    .exchange_at(warp, lane)
                    .map(|exchange| (exchange.result, exchange.predicate))
                else {
                    continue;
                };
                if result != SINK {
                    let shadow = u64::from(given.poison >> lane & 1).wrapping_neg();
                    warp.write_lane(base + result as usize, lane, given.value[lane], shadow);
                }
                if predicate != SINK {
                    warp.write_predicate(
                        base + predicate as usize,
                        1 << lane,
                        given.predicate,
                        given.poison,
                    );
                }
            }
            warp.go_on(together);
            done |= together;
        }
        done
    }

    fn exchange_at(&self, warp: &Warp, lane: usize) -> Option<&Exchange> {
        match &self.code.instructions.get(warp.pc[lane] as usize)?.operation {
            Operation::Exchange(exchange) => Some(exchange),
            _ => None,
        }
    }
}

/// What each lane gets when these lanes exchange what they brought.
fn give(kind: ExchangeKind, together: u32, brought: &Brought<'_>) -> Given {
    use ExchangeKind as Kind;
    let mut given = Given {
        value: [0; LANES],
        predicate: 0,
        poison: 0,
    };
    let everyone = if brought.poison & together == 0 {
        0
    } else {
        together
    };
    let holds = brought.condition & together;
    match kind {
        Kind::Sync => {}
        Kind::ShuffleUp | Kind::ShuffleDown | Kind::ShuffleButterfly | Kind::ShuffleIndex => {
            for lane in lanes(together) {
                let (from, in_range) = source_lane(kind, lane as u32, brought.b[lane], brought.c[lane]);
                // A lane that takes no part has nothing to give: the device's answer is undefined, here it is
                // one's own.
                let from = if together >> from & 1 == 1 {
                    from as usize
                } else {
                    lane
                };
                given.value[lane] = brought.value[from] & 0xFFFF_FFFF;
                given.predicate |= u32::from(in_range) << lane;
                given.poison |= (brought.poison >> from & 1) << lane;
            }
        }
        Kind::VoteAll => given.predicate = if holds == together { together } else { 0 },
        Kind::VoteAny => given.predicate = if holds != 0 { together } else { 0 },
        Kind::VoteUniform => {
            given.predicate = if holds == together || holds == 0 {
                together
            } else {
                0
            }
        }
        Kind::VoteBallot => given.value = [holds.into(); LANES],
        Kind::MatchAny | Kind::MatchAll => {
            for lane in lanes(together) {
                let same = lanes(together)
                    .filter(|&other| brought.value[other] == brought.value[lane])
                    .fold(0, |mask, other| mask | 1_u32 << other);
                if kind == Kind::MatchAny {
                    given.value[lane] = same.into();
                } else if same == together {
                    given.value[lane] = same.into();
                    given.predicate |= 1 << lane;
                }
            }
        }
        _ => {
            let values = lanes(together).map(|lane| brought.value[lane] as u32);
            let signed = |value: u32| value as i32;
            let result = match kind {
                Kind::ReduceAdd => values.reduce(u32::wrapping_add),
                Kind::ReduceMinUnsigned => values.min(),
                Kind::ReduceMaxUnsigned => values.max(),
                Kind::ReduceMinSigned => values.map(signed).min().map(|value| value as u32),
                Kind::ReduceMaxSigned => values.map(signed).max().map(|value| value as u32),
                Kind::ReduceAnd => values.reduce(|a, b| a & b),
                Kind::ReduceOr => values.reduce(|a, b| a | b),
                _ => values.reduce(|a, b| a ^ b),
            };
            given.value = [result.unwrap_or(0).into(); LANES];
        }
    }
    if !matches!(
        kind,
        Kind::ShuffleUp | Kind::ShuffleDown | Kind::ShuffleButterfly | Kind::ShuffleIndex
    ) {
        given.poison = everyone;
    }
    given
}

/// From which lane a shuffle reads, and whether that is in the lane's segment.
fn source_lane(kind: ExchangeKind, lane: u32, b: u64, c: u64) -> (u32, bool) {
    let b = b as u32 & 31;
    let clamp = c as u32 & 31;
    let segment = (c >> 8) as u32 & 31;
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (from, in_range) = match kind {
        ExchangeKind::ShuffleUp => {
            let from = lane as i32 - b as i32;
            (from as u32, from >= max as i32)
        }
        ExchangeKind::ShuffleDown => (lane + b, lane + b <= max),
        ExchangeKind::ShuffleButterfly => (lane ^ b, (lane ^ b) <= max),
        _ => {
            let from = min | (b & !segment);
            (from, from <= max)
        }
    };
    if in_range {
        (from & 31, true)
    } else {
        (lane, false)
    }
}
