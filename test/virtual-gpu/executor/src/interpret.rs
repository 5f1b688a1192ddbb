//! The interpreter's loop: runs the threads of one warp until they wait or have run long enough.

mod access;
mod calls;
mod exchange;
mod simple;

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::barrier::{Barriers, Outcome, WARPS};
use crate::code::{Barrier, BarrierKind, Operation, SINK, Source};
use crate::decode::Code;
use crate::fault::{Fault, FaultKind, Place, Report, ReportKind};
use crate::lanes::lanes;
use crate::launch::{LaunchOptions, Poison, Schedule};
use crate::program::Program;
use crate::shared::Shared;
use crate::views::Views;
use crate::warp::{Group, Wait, Warp};

/// Instructions that a group of lanes runs while others of its warp could.
const TURN: u32 = 10_000;
/// What an instruction that may be part of waiting for another thread costs of a turn.
const COST_OF_WAITING: u32 = 100;
/// Reports of one launch at most.
const REPORTS: usize = 100;

/// What all blocks of a launch have in common.
pub(crate) struct Grid<'a> {
    pub(crate) program: &'a Program,
    pub(crate) kernel: &'a str,
    pub(crate) options: &'a LaunchOptions,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) parameters: &'a [u8],
    pub(crate) dynamic_shared: u32,
    pub(crate) static_shared: u32,
    /// Bytes of stack that a thread may use.
    pub(crate) stack_limit: u32,
    pub(crate) started: Instant,
    pub(crate) reports: Mutex<Vec<Report>>,
}

/// The threads of a block, but for its warps.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) id: [u32; 3],
    pub(crate) smid: u32,
    pub(crate) shared: Shared,
    pub(crate) barriers: Barriers,
    pub(crate) live: [u32; WARPS],
    /// Barriers that are complete, whose threads still wait.
    pub(crate) released: Vec<(usize, Outcome)>,
}

/// Something that ends the kernel.
#[derive(Debug)]
pub(crate) struct Raised {
    pub(crate) kind: FaultKind,
    pub(crate) text: String,
    /// The lane that did it.
    pub(crate) lane: usize,
    pub(crate) pc: u32,
}

/// Runs warps on one host thread.
pub(crate) struct Machine<'a> {
    pub(crate) grid: &'a Grid<'a>,
    pub(crate) code: &'a Code,
    pub(crate) views: Views<'a>,
    pub(crate) lane_instructions: u64,
    pub(crate) warp_instructions: u64,
    /// The most that one warp has executed.
    pub(crate) longest_warp: u64,
    /// `warp_instructions` by place in the code; empty if not wanted.
    pub(crate) by_place: Vec<u64>,
    /// What waiting adds to them when turns are counted.
    pub(crate) cost_of_waiting: u64,
    /// What was executed takes so long on a device that the block's other warps go on meanwhile.
    pub(crate) gives_way: bool,
    pub(crate) track: bool,
    /// What this host thread has reported.
    reported: HashSet<(u32, ReportKind)>,
    random: Option<StdRng>,
}

/// Where execution stands inside of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) pc: u32,
    pub(crate) base: usize,
    /// The lanes that execute it.
    pub(crate) exec: u32,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(grid: &'a Grid<'a>, worker: u64) -> Self {
        let random = match grid.options.schedule {
            Schedule::Converging => None,
            Schedule::Random { seed } => Some(StdRng::seed_from_u64(
                seed ^ worker.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            )),
        };
        let code = grid.program.code();
        let places = if grid.options.count_lines {
            code.instructions.len()
        } else {
            0
        };
        Self {
            grid,
            code,
            views: Views::new(grid.program.memory()),
            lane_instructions: 0,
            warp_instructions: 0,
            longest_warp: 0,
            by_place: vec![0; places],
            cost_of_waiting: 0,
            gives_way: false,
            track: grid.options.poison != Poison::Off,
            reported: HashSet::new(),
            random,
        }
    }

    /// Begins a block: its order of turns depends on the seed and its number only.
    pub(crate) fn begin_block(&mut self, number: u64) {
        if let Schedule::Random { seed } = self.grid.options.schedule {
            self.random = Some(StdRng::seed_from_u64(
                seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            ));
        }
    }

    /// A random number below `end`, where turns are random.
    pub(crate) fn random_below(&mut self, end: usize) -> Option<usize> {
        let random = self.random.as_mut()?;
        Some(random.random_range(0..end.max(1)))
    }

    /// Runs a warp for about `budget` instructions, until all its lanes wait or a barrier is complete.
    pub(crate) fn run(&mut self, block: &mut Block, warp: &mut Warp, mut budget: u32) -> Result<(), Raised> {
        let mut fair = false;
        self.gives_way = false;
        while warp.runnable != 0 && budget > 0 && block.released.is_empty() && !self.gives_way {
            let group;
            let mut turn;
            if self.random.is_some() {
                let count = warp.runnable.count_ones() as usize;
                let chosen = self.random_below(count).unwrap_or(0);
                let leader = lanes(warp.runnable).nth(chosen).unwrap_or(0);
                group = warp.group_of(&self.code.instructions, leader, false);
                turn = 1 + self.random_below(64).unwrap_or(0) as u32;
                turn = turn.min(budget);
            } else {
                group = warp.select(&self.code.instructions, fair);
                turn = if group.is_alone { budget } else { TURN.min(budget) };
            }
            let all = turn;
            self.run_group(block, warp, group, &mut turn)?;
            fair = turn == 0 && !group.is_alone;
            budget = budget.saturating_sub(all - turn);
        }
        Ok(())
    }

    /// Runs lanes together until they part, wait, meet others, or their turn ends.
    fn run_group(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        group: Group,
        turn: &mut u32,
    ) -> Result<(), Raised> {
        let code = self.code;
        let mut pc = group.pc;
        let base = group.base as usize;
        let mask = group.mask;
        loop {
            let instruction = &code.instructions[pc as usize];
            if instruction.rank >= group.limit || *turn == 0 {
                warp.stand_at(mask, pc);
                return Ok(());
            }
            let mut exec = mask;
            if !instruction.guard.is_always() {
                let poison = warp.condition_poison(base, instruction.guard) & mask;
                if poison != 0 {
                    self.poison_used(block, warp, pc, poison, ReportKind::PoisonDecision)?;
                }
                exec &= warp.holds(base, instruction.guard);
            }
            *turn -= 1;
            self.warp_instructions += 1;
            if let Some(executed) = self.by_place.get_mut(pc as usize) {
                *executed += 1;
            }
            self.lane_instructions += u64::from(exec.count_ones());
            if exec == 0 {
                pc += 1;
                continue;
            }
            let at = At { pc, base, exec };
            match &instruction.operation {
                Operation::Branch { target } => {
                    if exec == mask {
                        pc = *target;
                        continue;
                    }
                    warp.stand_at(exec, *target);
                    warp.stand_at(mask & !exec, pc + 1);
                    return Ok(());
                }
                Operation::BranchIndexed { targets, a } => {
                    warp.stand_at(mask & !exec, pc + 1);
                    return self.branch_indexed(block, warp, at, targets, *a);
                }
                Operation::Call(call) => {
                    warp.stand_at(mask & !exec, pc + 1);
                    warp.stand_at(exec, pc);
                    return self.call(block, warp, at, call);
                }
                Operation::Return => {
                    warp.stand_at(mask & !exec, pc + 1);
                    return self.return_from(block, warp, at);
                }
                Operation::Exit => {
                    warp.stand_at(mask & !exec, pc + 1);
                    if lanes(exec).any(|lane| !warp.calls[lane].is_empty()) {
                        self.report(block, warp, pc, exec, ReportKind::ExitInFunction);
                    }
                    self.exit(block, warp, exec);
                    return Ok(());
                }
                Operation::Barrier(barrier) => {
                    warp.stand_at(mask & !exec, pc + 1);
                    warp.stand_at(exec, pc);
                    return self.barrier(block, warp, at, barrier);
                }
                Operation::Exchange(exchange) => {
                    if self.exchange(block, warp, at, exchange)? {
                        pc += 1;
                        continue;
                    }
                    warp.stand_at(mask & !exec, pc + 1);
                    return Ok(());
                }
                Operation::Sleep => {
                    self.cost_of_waiting += u64::from(*turn);
                    *turn = 0;
                }
                Operation::Atomic(_) => {
                    self.simple(block, warp, at, &instruction.operation)?;
                    self.may_wait(turn);
                }
                Operation::Load(load) if load.is_volatile => {
                    self.simple(block, warp, at, &instruction.operation)?;
                    self.may_wait(turn);
                }
                operation => self.simple(block, warp, at, operation)?,
            }
            pc += 1;
        }
    }

    /// What was executed may be part of waiting for another thread, so turns are shorter.
    fn may_wait(&mut self, turn: &mut u32) {
        *turn = turn.saturating_sub(COST_OF_WAITING);
        self.cost_of_waiting += u64::from(COST_OF_WAITING);
    }

    fn branch_indexed(
        &mut self,
        block: &Block,
        warp: &mut Warp,
        at: At,
        targets: &[u32],
        source: Source,
    ) -> Result<(), Raised> {
        let poison = warp.poisoned(at.base, source) & at.exec;
        if poison != 0 {
            self.poison_used(block, warp, at.pc, poison, ReportKind::PoisonDecision)?;
        }
        let indices = *warp.read(&self.code.constants, at.base, source);
        for lane in lanes(at.exec) {
            let index = indices[lane] as u32;
            let Some(&target) = targets.get(index as usize) else {
                return Err(Raised {
                    kind: FaultKind::InvalidProgramCounter,
                    text: format!("branch to target {index} of {}", targets.len()),
                    lane,
                    pc: at.pc,
                });
            };
            warp.pc[lane] = target;
        }
        Ok(())
    }

    /// Lanes end.
    pub(crate) fn exit(&mut self, block: &mut Block, warp: &mut Warp, mask: u32) {
        warp.live &= !mask;
        warp.runnable &= !mask;
        block.live[warp.index] = warp.live;
        let done = block.barriers.exited(warp.index, &block.live);
        block.released.extend(done);
        self.check_exchanges(warp);
    }

    fn barrier(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        at: At,
        barrier: &Barrier,
    ) -> Result<(), Raised> {
        let constants = &self.code.constants;
        let sources = [Some(barrier.number), barrier.threads];
        let poison = sources
            .iter()
            .flatten()
            .fold(0, |mask, &source| mask | warp.poisoned(at.base, source))
            & at.exec;
        let poison = poison | (warp.condition_poison(at.base, barrier.condition) & at.exec);
        if poison != 0 {
            self.poison_used(block, warp, at.pc, poison, ReportKind::PoisonDecision)?;
        }
        let numbers = *warp.read(constants, at.base, barrier.number);
        let counts = barrier
            .threads
            .map(|threads| *warp.read(constants, at.base, threads));
        let condition = warp.holds(at.base, barrier.condition);
        let mut left = at.exec;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let number = numbers[lane] as u32 as usize;
            let count = counts.map(|counts| counts[lane] as u32);
            let together = lanes(left)
                .filter(|&other| {
                    numbers[other] as u32 as usize == number
                        && counts.map(|counts| counts[other] as u32) == count
                })
                .fold(0, |mask, lane| mask | 1 << lane);
            left &= !together;
            let problem = match count {
                _ if number >= crate::barrier::BARRIERS => Some(format!("there is no barrier {number}")),
                Some(count) if count == 0 || !count.is_multiple_of(32) => Some(format!(
                    "a barrier for {count} threads, which is no multiple of a warp's 32"
                )),
                _ => None,
            };
            if let Some(text) = problem {
                return Err(Raised {
                    kind: FaultKind::IllegalInstruction,
                    text,
                    lane,
                    pc: at.pc,
                });
            }
            if barrier.kind == BarrierKind::Arrive {
                warp.stand_at(together, at.pc + 1);
            } else {
                warp.wait(together, Wait::Barrier(number));
            }
            let outcome = block
                .barriers
                .arrive(number, warp.index, together, condition, count, &block.live);
            block.released.extend(outcome.map(|outcome| (number, outcome)));
        }
        Ok(())
    }

    /// Lets the threads of a warp go on that wait at a complete barrier.
    pub(crate) fn release(&mut self, warp: &mut Warp, number: usize, outcome: Outcome) {
        let mask = warp.waiting(Wait::Barrier(number));
        for lane in lanes(mask) {
            let (pc, base) = (warp.pc[lane] as usize, warp.base[lane] as usize);
            let Operation::Barrier(barrier) = &self.code.instructions[pc].operation else {
                continue;
            };
            if barrier.result == SINK {
                continue;
            }
            let result = base + barrier.result as usize;
            match barrier.kind {
                BarrierKind::Count => warp.write_lane(result, lane, outcome.count.into(), 0),
                BarrierKind::And => {
                    warp.write_predicate(result, 1 << lane, u32::from(outcome.all) << lane, 0);
                }
                BarrierKind::Or => {
                    warp.write_predicate(result, 1 << lane, u32::from(outcome.count != 0) << lane, 0);
                }
                BarrierKind::Sync | BarrierKind::Arrive => {}
            }
        }
        warp.go_on(mask);
    }

    /// Reports the use of unwritten bits, or makes a fault of it.
    pub(crate) fn poison_used(
        &mut self,
        block: &Block,
        warp: &Warp,
        pc: u32,
        lanes: u32,
        kind: ReportKind,
    ) -> Result<(), Raised> {
        if self.grid.options.poison == Poison::Fault && kind != ReportKind::PoisonStore {
            let text = if kind == ReportKind::PoisonAddress {
                "an address depends on memory or registers that nothing has written"
            } else {
                "a decision depends on memory or registers that nothing has written"
            };
            return Err(Raised {
                kind: FaultKind::Poison,
                text: text.to_owned(),
                lane: lanes.trailing_zeros() as usize,
                pc,
            });
        }
        self.report(block, warp, pc, lanes, kind);
        Ok(())
    }

    /// Notes what is wrong with the program, once for each place.
    pub(crate) fn report(&mut self, block: &Block, warp: &Warp, pc: u32, lanes: u32, kind: ReportKind) {
        if !self.reported.insert((pc, kind)) {
            return;
        }
        let place = self.place(block, warp, pc, lanes.trailing_zeros() as usize);
        let mut reports = self.grid.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = reports
            .iter()
            .any(|report| report.kind == kind && report.place.line == place.line);
        if !is_known && reports.len() < REPORTS {
            reports.push(Report { kind, place });
        }
    }

    /// Where a lane is.
    pub(crate) fn place(&self, block: &Block, warp: &Warp, pc: u32, lane: usize) -> Place {
        let origin = self.code.origins.get(pc as usize);
        let function = self.grid.program.function_of(pc);
        let lane = lane % 32;
        Place {
            kernel: self.grid.kernel.to_owned(),
            function: function.map_or_else(String::new, |function| function.name.clone()),
            file: self.grid.program.file().to_owned(),
            line: origin.map_or(0, |origin| origin.line),
            opcode: origin.map_or_else(String::new, |origin| origin.opcode.text.clone()),
            block: block.id,
            thread: [0, 1, 2].map(|axis| warp.tid[axis][lane] as u32),
        }
    }

    /// The fault for what a warp raised.
    pub(crate) fn fault(&self, block: &Block, warp: &Warp, raised: Raised) -> Fault {
        Fault {
            kind: raised.kind,
            place: Box::new(self.place(block, warp, raised.pc, raised.lane)),
            text: raised.text,
        }
    }
}
