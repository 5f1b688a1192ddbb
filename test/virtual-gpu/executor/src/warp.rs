//! The state of a warp: registers, program counters, call stacks, and who runs next.

use offloom_ptx_arithmetic::{LANES, Lanes};

use crate::code::{Condition, Instruction, Source};
use crate::lanes::{ALL, blend, lanes};
use crate::local::Local;

/// What registers hold that no one has written.
const PATTERN: u64 = 0xA5A5;
const PREDICATE_PATTERN: u32 = 0xA5A5_A5A5;

/// For what a thread waits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Wait {
    #[default]
    Nothing,
    /// The other members of a mask at an instruction such as `shfl.sync`.
    Warp,
    /// A barrier, by its number.
    Barrier(usize),
}

/// Which lanes have unwritten bits in a register.
#[derive(Clone, Copy, Debug, Default)]
struct Poisoned {
    any: u32,
    /// Those of `any` of which no bit is written: their shadow is not kept.
    whole: u32,
}

/// What a call keeps of the caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saved {
    pub(crate) pc: u32,
    pub(crate) base: u32,
    pub(crate) function: u32,
    pub(crate) local_base: u32,
    pub(crate) local_top: u32,
    pub(crate) stack_used: u32,
}

/// Lanes that execute together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    pub(crate) base: u32,
    /// At the instruction of this rank others wait: they go on together.
    pub(crate) limit: u32,
    /// No other lane of the warp can run.
    pub(crate) is_alone: bool,
}

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) index: usize,
    /// Instructions that its lanes have executed, together where they were together.
    pub(crate) instructions: u64,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// Live lanes that wait for nothing.
    pub(crate) runnable: u32,
    pub(crate) pc: [u32; LANES],
    /// Where the frame's registers begin.
    pub(crate) base: [u32; LANES],
    pub(crate) function: [u32; LANES],
    /// Where the frame begins in local memory, without the start of its addresses.
    pub(crate) local_base: [u32; LANES],
    pub(crate) local_top: [u32; LANES],
    pub(crate) stack_used: [u32; LANES],
    pub(crate) calls: [Vec<Saved>; LANES],
    pub(crate) waits: [Wait; LANES],
    pub(crate) local: Local,
    pub(crate) carry: u32,
    pub(crate) tid: [Lanes; 3],
    /// What lanes that wait for their warp have brought: members, value, b, c, condition.
    pub(crate) brought: [Lanes; 4],
    pub(crate) brought_condition: u32,
    /// Lanes that brought something unwritten.
    pub(crate) brought_poison: u32,
    registers: Vec<Lanes>,
    poison: Vec<Poisoned>,
    shadow: Vec<Lanes>,
    predicates: Vec<u32>,
    predicate_poison: Vec<u32>,
    stamps: [u64; LANES],
    clock: u64,
    track: bool,
}

impl Warp {
    /// A warp that has run nothing. With `track`, unwritten bits are followed.
    pub(crate) fn new(index: usize, track: bool) -> Self {
        Self {
            index,
            instructions: 0,
            live: 0,
            runnable: 0,
            pc: [0; LANES],
            base: [0; LANES],
            function: [0; LANES],
            local_base: [0; LANES],
            local_top: [0; LANES],
            stack_used: [0; LANES],
            calls: std::array::from_fn(|_| Vec::new()),
            waits: [Wait::Nothing; LANES],
            local: Local::default(),
            carry: 0,
            tid: [[0; LANES]; 3],
            brought: [[0; LANES]; 4],
            brought_condition: 0,
            brought_poison: 0,
            registers: Vec::new(),
            poison: Vec::new(),
            shadow: Vec::new(),
            predicates: Vec::new(),
            predicate_poison: Vec::new(),
            stamps: [0; LANES],
            clock: 0,
            track,
        }
    }

    /// Begins a block: the first threads of it that are this warp's stand at the kernel's start.
    pub(crate) fn begin(
        &mut self,
        block: [u32; 3],
        function: u32,
        entry: u32,
        registers: u32,
        frame_bytes: u32,
    ) {
        self.instructions = 0;
        let threads = block[0] * block[1] * block[2];
        let first = self.index as u32 * LANES as u32;
        self.live = match threads.saturating_sub(first) {
            0 => 0,
            rest if rest >= LANES as u32 => ALL,
            rest => (1 << rest) - 1,
        };
        self.runnable = self.live;
        for lane in 0..LANES {
            let thread = first + lane as u32;
            self.tid[0][lane] = (thread % block[0]).into();
            self.tid[1][lane] = (thread / block[0] % block[1]).into();
            self.tid[2][lane] = (thread / block[0] / block[1]).into();
            self.calls[lane].clear();
        }
        self.pc = [entry; LANES];
        self.base = [0; LANES];
        self.function = [function; LANES];
        self.local_base = [0; LANES];
        self.local_top = [frame_bytes; LANES];
        self.stack_used = [0; LANES];
        self.waits = [Wait::Nothing; LANES];
        self.stamps = [0; LANES];
        self.carry = 0;
        self.begin_frame(0, registers, ALL);
        self.local
            .begin(0, frame_bytes.next_multiple_of(8), ALL, self.track);
    }

    /// Makes a frame's registers unwritten for these lanes.
    pub(crate) fn begin_frame(&mut self, base: u32, count: u32, mask: u32) {
        let (from, to) = (base as usize, (base + count) as usize);
        let old = self.registers.len();
        if old < to {
            self.registers.resize(to, [PATTERN; LANES]);
            self.predicates.resize(to, PREDICATE_PATTERN);
            self.predicate_poison.resize(to, ALL);
            if self.track {
                let whole = Poisoned { any: ALL, whole: ALL };
                self.poison.resize(to, whole);
                self.shadow.resize(to, [0; LANES]);
            }
        }
        if self.track {
            for at in from..to.min(old) {
                self.poison[at].any |= mask;
                self.poison[at].whole |= mask;
                self.predicate_poison[at] |= mask;
            }
        }
    }

    /// Registers that all frames take together, of 256 bytes each.
    pub(crate) fn register_count(&self) -> usize {
        self.registers.len()
    }

    /// A value that is read.
    #[inline]
    pub(crate) fn read<'a>(&'a self, constants: &'a [Lanes], base: usize, source: Source) -> &'a Lanes {
        match source.as_constant() {
            Some(constant) => &constants[constant],
            None => &self.registers[base + source.index()],
        }
    }

    /// Writes the mask's lanes of a register, whole.
    #[inline]
    pub(crate) fn write(&mut self, register: usize, mask: u32, value: &Lanes) {
        blend(&mut self.registers[register], mask, value);
        if self.track {
            let poisoned = &mut self.poison[register];
            poisoned.any &= !mask;
            poisoned.whole &= !mask;
        }
    }

    /// Writes one lane of a register, with its unwritten bits.
    #[inline]
    pub(crate) fn write_lane(&mut self, register: usize, lane: usize, value: u64, shadow: u64) {
        self.registers[register][lane] = value;
        if self.track {
            let poisoned = &mut self.poison[register];
            poisoned.whole &= !(1 << lane);
            if shadow == 0 {
                poisoned.any &= !(1 << lane);
            } else {
                poisoned.any |= 1 << lane;
                self.shadow[register][lane] = shadow;
            }
        }
    }

    /// Writes the mask's lanes of a register, with their unwritten bits.
    pub(crate) fn write_shadowed(&mut self, register: usize, mask: u32, value: &Lanes, shadow: &Lanes) {
        for lane in lanes(mask) {
            self.write_lane(register, lane, value[lane], shadow[lane]);
        }
    }

    /// The lanes in which a source has unwritten bits.
    #[inline]
    pub(crate) fn poisoned(&self, base: usize, source: Source) -> u32 {
        if !self.track || source.as_constant().is_some() {
            return 0;
        }
        self.poison[base + source.index()].any
    }

    /// The unwritten bits of a source.
    #[cold]
    pub(crate) fn shadow(&self, base: usize, source: Source) -> Lanes {
        if !self.track || source.as_constant().is_some() {
            return [0; LANES];
        }
        let register = base + source.index();
        let poisoned = self.poison[register];
        std::array::from_fn(|lane| {
            if poisoned.whole >> lane & 1 == 1 {
                u64::MAX
            } else if poisoned.any >> lane & 1 == 1 {
                self.shadow[register][lane]
            } else {
                0
            }
        })
    }

    /// The lanes in which a condition holds.
    #[inline]
    pub(crate) fn holds(&self, base: usize, condition: Condition) -> u32 {
        let value = condition
            .index()
            .map_or(ALL, |index| self.predicates[base + index]);
        if condition.is_negated() { !value } else { value }
    }

    /// The lanes in which a condition is unwritten.
    #[inline]
    pub(crate) fn condition_poison(&self, base: usize, condition: Condition) -> u32 {
        match condition.index() {
            Some(index) if self.track => self.predicate_poison[base + index],
            _ => 0,
        }
    }

    /// Writes the mask's lanes of a predicate.
    #[inline]
    pub(crate) fn write_predicate(&mut self, predicate: usize, mask: u32, value: u32, poison: u32) {
        let old = &mut self.predicates[predicate];
        *old = (*old & !mask) | (value & mask);
        let old = &mut self.predicate_poison[predicate];
        *old = (*old & !mask) | (poison & mask);
    }

    /// The lanes that run next. Those that are deepest in calls, then those at the instruction of the lowest
    /// rank, so that the others wait where ways meet; `fair`: those that have not run for longest, so that
    /// nobody waits for ever.
    pub(crate) fn select(&mut self, code: &[Instruction], fair: bool) -> Group {
        let mut leader = self.runnable.trailing_zeros() as usize % LANES;
        for lane in lanes(self.runnable) {
            let is_before = if fair {
                self.stamps[lane] < self.stamps[leader]
            } else {
                (self.base[leader], rank(code, self.pc[lane]))
                    < (self.base[lane], rank(code, self.pc[leader]))
            };
            if is_before {
                leader = lane;
            }
        }
        self.group_of(code, leader, true)
    }

    /// The lanes that stand where this one stands.
    pub(crate) fn group_of(&mut self, code: &[Instruction], leader: usize, merge: bool) -> Group {
        let (pc, base) = (self.pc[leader], self.base[leader]);
        let own = rank(code, pc);
        let mut group = Group {
            mask: 0,
            pc,
            base,
            limit: u32::MAX,
            is_alone: false,
        };
        self.clock += 1;
        for lane in lanes(self.runnable) {
            if self.base[lane] == base {
                if self.pc[lane] == pc {
                    group.mask |= 1 << lane;
                    self.stamps[lane] = self.clock;
                } else if merge {
                    let other = rank(code, self.pc[lane]);
                    if other > own {
                        group.limit = group.limit.min(other);
                    }
                }
            }
        }
        group.is_alone = group.mask == self.runnable;
        group
    }

    /// Lanes of the mask stand at `pc`.
    #[inline]
    pub(crate) fn stand_at(&mut self, mask: u32, pc: u32) {
        if mask == ALL {
            self.pc = [pc; LANES];
            return;
        }
        for lane in lanes(mask) {
            self.pc[lane] = pc;
        }
    }

    /// Lanes of the mask wait.
    pub(crate) fn wait(&mut self, mask: u32, wait: Wait) {
        self.runnable &= !mask;
        for lane in lanes(mask) {
            self.waits[lane] = wait;
        }
    }

    /// Lanes of the mask wait no longer and stand behind what they waited at.
    pub(crate) fn go_on(&mut self, mask: u32) {
        self.runnable |= mask;
        for lane in lanes(mask) {
            self.waits[lane] = Wait::Nothing;
            self.pc[lane] += 1;
        }
    }

    /// The lanes that wait so.
    pub(crate) fn waiting(&self, wait: Wait) -> u32 {
        lanes(self.live & !self.runnable)
            .filter(|&lane| self.waits[lane] == wait)
            .fold(0, |mask, lane| mask | 1 << lane)
    }
}

/// When those at a program counter get their turn; last, where no instruction is.
#[inline]
fn rank(code: &[Instruction], pc: u32) -> u32 {
    code.get(pc as usize)
        .map_or(u32::MAX, |instruction| instruction.rank)
}
