//! Instructions that neither change the flow of control nor wait.

use std::sync::atomic::{Ordering, fence};

use offloom_ptx::tree::SpecialRegister;
use offloom_ptx_arithmetic::{LANES, Lanes};

use super::{At, Block, Machine, Raised};
use crate::code::{Carry, CarryKind, Compare, Condition, Logic, Operation, SINK, Source, Spread};
use crate::fault::FaultKind;
use crate::lanes::{lanes, non_zero};
use crate::space::{LOCAL_START, Space};
use crate::warp::Warp;

impl Machine<'_> {
    /// Executes one instruction.
    #[inline]
    pub(super) fn simple(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        at: At,
        operation: &Operation,
    ) -> Result<(), Raised> {
        let constants = &self.code.constants[..];
        let At { base, exec, .. } = at;
        match operation {
            Operation::Unary { run, spread, d, a } => {
                let value = run(warp.read(constants, base, *a));
                self.put(warp, at, *d, &value, *spread, &[*a], |inputs| run(&inputs[0]));
            }
            Operation::Binary { run, spread, d, a, b } => {
                let value = run(warp.read(constants, base, *a), warp.read(constants, base, *b));
                self.put(warp, at, *d, &value, *spread, &[*a, *b], |inputs| {
                    run(&inputs[0], &inputs[1])
                });
            }
            Operation::Ternary(ternary) => {
                let [a, b, c] = ternary.inputs.map(|input| warp.read(constants, base, input));
                let value = (ternary.run)(a, b, c);
                self.put(
                    warp,
                    at,
                    ternary.d,
                    &value,
                    ternary.spread,
                    &ternary.inputs,
                    |inputs| (ternary.run)(&inputs[0], &inputs[1], &inputs[2]),
                );
            }
            Operation::Quaternary(quaternary) => {
                let [a, b, c, d] = quaternary.inputs.map(|input| warp.read(constants, base, input));
                let value = (quaternary.run)(a, b, c, d);
                self.put(
                    warp,
                    at,
                    quaternary.d,
                    &value,
                    quaternary.spread,
                    &quaternary.inputs,
                    |inputs| (quaternary.run)(&inputs[0], &inputs[1], &inputs[2], &inputs[3]),
                );
            }
            Operation::Move { d, a } => {
                let value = *warp.read(constants, base, *a);
                self.put(warp, at, *d, &value, Spread::Bits(1), &[*a], |inputs| inputs[0]);
            }
            Operation::Offset { d, a, by } => {
                let value = warp
                    .read(constants, base, *a)
                    .map(|value| value.wrapping_add(*by));
                self.put(warp, at, *d, &value, Spread::Bits(1), &[*a], |inputs| inputs[0]);
            }
            Operation::Select { d, a, b, condition } => self.select(warp, at, *d, *a, *b, *condition),
            Operation::Compare(compare) => self.compare(warp, at, compare),
            Operation::Test { run, p, a } => {
                let value = run(warp.read(constants, base, *a));
                let poison = warp.poisoned(base, *a);
                put_predicate(warp, at, *p, value, poison);
            }
            Operation::Logic { logic, p, a, b } => {
                let (x, y) = (warp.holds(base, *a), warp.holds(base, *b));
                let poison = (warp.condition_poison(base, *a), warp.condition_poison(base, *b));
                let (value, poison) = combine(*logic, (x, poison.0), (y, poison.1));
                put_predicate(warp, at, *p, value, poison);
            }
            Operation::FromPredicate { d, a, value } => {
                let holds = warp.holds(base, *a);
                let poison = warp.condition_poison(base, *a);
                for lane in lanes(exec) {
                    let value = if holds >> lane & 1 == 1 { *value } else { 0 };
                    let shadow = if poison >> lane & 1 == 1 { u64::MAX } else { 0 };
                    put_lane(warp, at, *d, lane, value, shadow);
                }
            }
            Operation::Pack { d, parts, bits } => self.pack(warp, at, *d, parts, *bits),
            Operation::Unpack { parts, a, bits } => {
                let value = *warp.read(constants, base, *a);
                let shadow = (warp.poisoned(base, *a) & exec != 0).then(|| warp.shadow(base, *a));
                let keep = crate::local::mask(bits / 8);
                for (index, &part) in parts.iter().enumerate() {
                    let shift = index as u32 * bits;
                    let piece = value.map(|value| value.checked_shr(shift).unwrap_or(0) & keep);
                    match &shadow {
                        None if part == SINK => {}
                        None => warp.write(base + part as usize, exec, &piece),
                        Some(shadow) => {
                            for lane in lanes(exec) {
                                let shadow = shadow[lane].checked_shr(shift).unwrap_or(0) & keep;
                                put_lane(warp, at, part, lane, piece[lane], shadow);
                            }
                        }
                    }
                }
            }
            Operation::Special { d, register } => {
                let value = self.special(block, warp, *register);
                if *d != SINK {
                    warp.write(base + *d as usize, exec, &value);
                }
            }
            Operation::FrameAddress { d, offset } => {
                let start = offset.wrapping_add(LOCAL_START.into());
                let value = warp
                    .local_base
                    .map(|base| u64::from(base).wrapping_add_signed(start));
                if *d != SINK {
                    warp.write(base + *d as usize, exec, &value);
                }
            }
            Operation::IsSpace { p, a, space } => {
                let mut value = 0;
                for (lane, &address) in warp.read(constants, base, *a).iter().enumerate() {
                    value |= u32::from(Space::of(address).0 == *space) << lane;
                }
                let poison = warp.poisoned(base, *a);
                put_predicate(warp, at, *p, value, poison);
            }
            Operation::Carry(carry) => self.carry(warp, at, carry),
            Operation::Load(load) => self.load(block, warp, at, load)?,
            Operation::Store(store) => self.store(block, warp, at, store)?,
            Operation::Atomic(atomic) => self.atomic(block, warp, at, atomic)?,
            Operation::ActiveMask { d } => {
                if *d != SINK {
                    warp.write(base + *d as usize, exec, &[exec.into(); LANES]);
                }
            }
            Operation::Allocate { d, size, alignment } => {
                self.allocate(block, warp, at, *d, *size, *alignment)?;
            }
            Operation::StackSave { d } => {
                let value = warp.local_top.map(|top| u64::from(top + LOCAL_START));
                if *d != SINK {
                    warp.write(base + *d as usize, exec, &value);
                }
            }
            Operation::StackRestore { a } => {
                let tops = *warp.read(constants, base, *a);
                for lane in lanes(exec) {
                    let top = (tops[lane] as u32).saturating_sub(LOCAL_START);
                    // Only what was allocated since can be given back.
                    if (warp.local_base[lane]..warp.local_top[lane]).contains(&top) {
                        let freed = warp.local_top[lane] - top;
                        warp.stack_used[lane] = warp.stack_used[lane].saturating_sub(freed);
                        warp.local_top[lane] = top;
                    }
                }
            }
            Operation::Fence => fence(Ordering::SeqCst),
            Operation::Trap => {
                return Err(raised(
                    at,
                    FaultKind::Trap,
                    "the kernel stopped itself".to_owned(),
                ));
            }
            Operation::Unknown(problem) => {
                return Err(raised(at, FaultKind::IllegalInstruction, problem.to_string()));
            }
            // The loop of the interpreter takes these.
            Operation::Nothing
            | Operation::Sleep
            | Operation::Branch { .. }
            | Operation::BranchIndexed { .. }
            | Operation::Call(_)
            | Operation::Return
            | Operation::Exit
            | Operation::Barrier(_)
            | Operation::Exchange(_) => {}
        }
        Ok(())
    }

    /// Writes a result, with the bits that are unwritten because of its inputs.
    #[expect(
        clippy::too_many_arguments,
        reason = "a result and all that makes its unwritten bits"
    )]
    #[inline]
    fn put(
        &self,
        warp: &mut Warp,
        at: At,
        d: u32,
        value: &Lanes,
        spread: Spread,
        sources: &[Source],
        run: impl Fn(&[Lanes; 4]) -> Lanes,
    ) {
        if d == SINK {
            return;
        }
        let d = at.base + d as usize;
        if self.track {
            let poison = sources
                .iter()
                .fold(0, |mask, &source| mask | warp.poisoned(at.base, source));
            if poison & at.exec != 0 {
                let shadow = self.spread(warp, at.base, spread, sources, run);
                warp.write_shadowed(d, at.exec, value, &shadow);
                return;
            }
        }
        warp.write(d, at.exec, value);
    }

    #[cold]
    fn spread(
        &self,
        warp: &Warp,
        base: usize,
        spread: Spread,
        sources: &[Source],
        run: impl Fn(&[Lanes; 4]) -> Lanes,
    ) -> Lanes {
        let constants = &self.code.constants[..];
        let mut values = [[0; LANES]; 4];
        let mut shadows = [[0; LANES]; 4];
        for (index, &source) in sources.iter().enumerate().take(4) {
            values[index] = *warp.read(constants, base, source);
            shadows[index] = warp.shadow(base, source);
        }
        let lane_by_lane = |bits: &dyn Fn(u64, u64, u64, u64) -> u64| {
            std::array::from_fn(|lane| {
                bits(
                    values[0][lane],
                    shadows[0][lane],
                    values[1][lane],
                    shadows[1][lane],
                )
            })
        };
        match spread {
            Spread::And => lane_by_lane(&|a, sa, b, sb| (sa & sb) | (sa & b) | (sb & a)),
            Spread::Or => lane_by_lane(&|a, sa, b, sb| (sa & sb) | (sa & !b) | (sb & !a)),
            Spread::All => std::array::from_fn(|lane| {
                let any = shadows.iter().any(|shadow| shadow[lane] != 0);
                if any { u64::MAX } else { 0 }
            }),
            Spread::Bits(moved) => {
                let mut inputs = values;
                inputs[..moved].copy_from_slice(&shadows[..moved]);
                let mut result = run(&inputs);
                for (lane, bits) in result.iter_mut().enumerate() {
                    if shadows[moved..].iter().any(|shadow| shadow[lane] != 0) {
                        *bits = u64::MAX;
                    }
                }
                result
            }
        }
    }

    fn select(&self, warp: &mut Warp, at: At, d: u32, a: Source, b: Source, condition: Condition) {
        if d == SINK {
            return;
        }
        let constants = &self.code.constants[..];
        let holds = warp.holds(at.base, condition);
        let poison = warp.condition_poison(at.base, condition);
        let (a_value, b_value) = (warp.read(constants, at.base, a), warp.read(constants, at.base, b));
        let value: Lanes = std::array::from_fn(|lane| {
            let keep = u64::from(holds >> lane & 1).wrapping_neg();
            (a_value[lane] & keep) | (b_value[lane] & !keep)
        });
        let d = at.base + d as usize;
        let any = poison | warp.poisoned(at.base, a) | warp.poisoned(at.base, b);
        if any & at.exec == 0 {
            warp.write(d, at.exec, &value);
            return;
        }
        let (sa, sb) = (warp.shadow(at.base, a), warp.shadow(at.base, b));
        let shadow = std::array::from_fn(|lane| {
            let same = a_value[lane] ^ b_value[lane];
            if poison >> lane & 1 == 1 {
                sa[lane] | sb[lane] | same
            } else if holds >> lane & 1 == 1 {
                sa[lane]
            } else {
                sb[lane]
            }
        });
        warp.write_shadowed(d, at.exec, &value, &shadow);
    }

    fn compare(&self, warp: &mut Warp, at: At, compare: &Compare) {
        let constants = &self.code.constants[..];
        let (a, b) = (
            warp.read(constants, at.base, compare.a),
            warp.read(constants, at.base, compare.b),
        );
        let value = (compare.run)(a, b);
        let mut poison = warp.poisoned(at.base, compare.a) | warp.poisoned(at.base, compare.b);
        if poison & at.exec != 0 && compare.is_equality {
            // Written bits that differ decide.
            let (sa, sb) = (warp.shadow(at.base, compare.a), warp.shadow(at.base, compare.b));
            let decided = non_zero(&std::array::from_fn(|lane| {
                (a[lane] ^ b[lane]) & !(sa[lane] | sb[lane])
            }));
            poison &= !decided;
        }
        let (mut p, mut q) = ((value, poison), (!value, poison));
        if compare.of_pairs {
            let upper = |of: &Lanes| of.map(|lane| lane >> 16);
            q.0 = (compare.run)(&upper(a), &upper(b));
        }
        if let Some((logic, condition)) = compare.combined {
            let other = (
                warp.holds(at.base, condition),
                warp.condition_poison(at.base, condition),
            );
            p = combine(logic, p, other);
            q = combine(logic, q, other);
        }
        put_predicate(warp, at, compare.p, p.0, p.1);
        put_predicate(warp, at, compare.q, q.0, q.1);
    }

    fn pack(&self, warp: &mut Warp, at: At, d: u32, parts: &[Source], bits: u32) {
        let constants = &self.code.constants[..];
        let keep = crate::local::mask(bits / 8);
        let (mut value, mut shadow) = ([0; LANES], [0; LANES]);
        let mut poison = 0;
        for (index, &part) in parts.iter().enumerate() {
            let shift = index as u32 * bits;
            let input = warp.read(constants, at.base, part);
            for lane in 0..LANES {
                value[lane] |= (input[lane] & keep).checked_shl(shift).unwrap_or(0);
            }
            if warp.poisoned(at.base, part) & at.exec != 0 {
                poison |= warp.poisoned(at.base, part);
                let input = warp.shadow(at.base, part);
                for lane in 0..LANES {
                    shadow[lane] |= (input[lane] & keep).checked_shl(shift).unwrap_or(0);
                }
            }
        }
        if d == SINK {
            return;
        }
        if poison & at.exec == 0 {
            warp.write(at.base + d as usize, at.exec, &value);
        } else {
            warp.write_shadowed(at.base + d as usize, at.exec, &value, &shadow);
        }
    }

    fn carry(&self, warp: &mut Warp, at: At, carry: &Carry) {
        let constants = &self.code.constants[..];
        let inputs = [carry.a, carry.b, carry.c];
        let [a, b, c] = inputs.map(|input| warp.read(constants, at.base, input));
        let keep = crate::local::mask(carry.bits / 8);
        let wide = |value: u64| -> i128 {
            let value = value & keep;
            match (carry.is_signed, carry.bits) {
                (true, 32) => (value as i32).into(),
                (true, _) => (value as i64).into(),
                (false, _) => value.into(),
            }
        };
        let (mut value, mut out) = ([0; LANES], 0);
        for lane in 0..LANES {
            let taken = carry.reads && warp.carry >> lane & 1 == 1;
            let (x, y) = match carry.kind {
                CarryKind::Add | CarryKind::Subtract => (a[lane] & keep, b[lane] & keep),
                CarryKind::MultiplyLow => (
                    wide(a[lane]).wrapping_mul(wide(b[lane])) as u64 & keep,
                    c[lane] & keep,
                ),
                CarryKind::MultiplyHigh => {
                    let product = wide(a[lane]).wrapping_mul(wide(b[lane]));
                    ((product >> carry.bits) as u64 & keep, c[lane] & keep)
                }
            };
            let (result, overflows) = if carry.kind == CarryKind::Subtract {
                let result = i128::from(x) - i128::from(y) - i128::from(taken);
                (result as u64, result < 0)
            } else {
                let result = u128::from(x) + u128::from(y) + u128::from(taken);
                (result as u64, result > u128::from(keep))
            };
            value[lane] = result & keep;
            out |= u32::from(overflows) << lane;
        }
        if carry.writes {
            warp.carry = (warp.carry & !at.exec) | (out & at.exec);
        }
        self.put(warp, at, carry.result, &value, Spread::All, &inputs, |_| {
            [0; LANES]
        });
    }

    fn special(&self, block: &Block, warp: &Warp, register: SpecialRegister) -> Lanes {
        use SpecialRegister as Register;
        let all = |value: u64| [value; LANES];
        let by_lane = |value: fn(u32) -> u32| std::array::from_fn(|lane| value(lane as u32).into());
        let axis = |values: [u32; 3], axis: usize| all(values[axis].into());
        let grid = self.grid;
        let nanoseconds = || grid.started.elapsed().as_nanos() as u64;
        match register {
            Register::TidX => warp.tid[0],
            Register::TidY => warp.tid[1],
            Register::TidZ => warp.tid[2],
            Register::NtidX => axis(grid.block, 0),
            Register::NtidY => axis(grid.block, 1),
            Register::NtidZ => axis(grid.block, 2),
            Register::CtaidX => axis(block.id, 0),
            Register::CtaidY => axis(block.id, 1),
            Register::CtaidZ => axis(block.id, 2),
            Register::NctaidX => axis(grid.grid, 0),
            Register::NctaidY => axis(grid.grid, 1),
            Register::NctaidZ => axis(grid.grid, 2),
            Register::Laneid => by_lane(|lane| lane),
            Register::Warpid => all(warp.index as u64),
            Register::Nwarpid => all(u64::from(
                grid.block.iter().product::<u32>().div_ceil(LANES as u32),
            )),
            Register::Smid => all(block.smid.into()),
            Register::Nsmid => all(grid.program.properties().multiprocessors.into()),
            Register::Gridid | Register::Envreg(_) => all(0),
            Register::LanemaskEq => by_lane(|lane| 1 << lane),
            Register::LanemaskLt => by_lane(|lane| (1 << lane) - 1),
            Register::LanemaskLe => by_lane(|lane| u32::MAX >> (31 - lane)),
            Register::LanemaskGe => by_lane(|lane| u32::MAX << lane),
            Register::LanemaskGt => by_lane(|lane| (u32::MAX << lane) << 1),
            // Time goes on with each instruction, so that loops that wait for it end.
            Register::Clock => all(self.warp_instructions & 0xFFFF_FFFF),
            Register::ClockHi => all(self.warp_instructions >> 32),
            Register::Clock64 => all(self.warp_instructions),
            Register::Globaltimer => all(nanoseconds()),
            Register::GlobaltimerLo => all(nanoseconds() & 0xFFFF_FFFF),
            Register::GlobaltimerHi => all(nanoseconds() >> 32),
            Register::DynamicSmemSize => all(grid.dynamic_shared.into()),
            Register::TotalSmemSize => all((grid.dynamic_shared + grid.static_shared).into()),
            Register::WarpSize => all(LANES as u64),
        }
    }
}

/// A fault of the first lane.
pub(super) fn raised(at: At, kind: FaultKind, text: String) -> Raised {
    Raised {
        kind,
        text,
        lane: at.exec.trailing_zeros() as usize,
        pc: at.pc,
    }
}

/// Two predicates, each with the lanes in which it is unwritten.
fn combine(logic: Logic, (a, pa): (u32, u32), (b, pb): (u32, u32)) -> (u32, u32) {
    match logic {
        Logic::And => (a & b, (pa & pb) | (pa & b) | (pb & a)),
        Logic::Or => (a | b, (pa & pb) | (pa & !b) | (pb & !a)),
        Logic::Xor => (a ^ b, pa | pb),
    }
}

/// Writes a predicate, unless nobody wants it.
pub(super) fn put_predicate(warp: &mut Warp, at: At, p: u32, value: u32, poison: u32) {
    if p != SINK {
        warp.write_predicate(at.base + p as usize, at.exec, value, poison);
    }
}

/// Writes one lane of a register, unless nobody wants it.
pub(super) fn put_lane(warp: &mut Warp, at: At, d: u32, lane: usize, value: u64, shadow: u64) {
    if d != SINK {
        warp.write_lane(at.base + d as usize, lane, value, shadow);
    }
}
