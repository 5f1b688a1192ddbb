//! Running one block: its warps take turns.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::barrier::{BARRIERS, Barriers, WARPS};
use crate::fault::{Fault, FaultKind};
use crate::interpret::{Block, Grid, Machine, Raised};
use crate::lanes::lanes;
use crate::program::Details;
use crate::warp::{Wait, Warp};

/// Instructions of a warp's turn.
const TURN: u32 = 5_000;

/// A block that has begun.
#[derive(Debug)]
pub(crate) struct Resident {
    block: Block,
    warps: Vec<Warp>,
    next: usize,
    instructions: u64,
}

/// How a block's slice of time ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Slice {
    /// All threads have ended.
    Finished,
    /// It goes on in a later slice.
    Expired,
    /// The launch is over because of another block.
    Stopped,
}

impl Resident {
    /// Room for a block of so many threads.
    pub(crate) fn new(threads: u32, track: bool) -> Self {
        let warps = threads.div_ceil(32) as usize;
        Self {
            block: Block::default(),
            warps: (0..warps.min(WARPS))
                .map(|index| Warp::new(index, track))
                .collect(),
            next: 0,
            instructions: 0,
        }
    }

    /// Begins a block, by its number in the grid.
    pub(crate) fn begin(&mut self, machine: &mut Machine<'_>, details: &Details, number: u64) {
        let Grid {
            program, grid, block, ..
        } = machine.grid;
        let [x, y, _] = grid.map(u64::from);
        self.block.id = [number % x, number / x % y, number / x / y].map(|axis| axis as u32);
        self.block.smid = (number % u64::from(program.properties().multiprocessors.max(1))) as u32;
        let code = program.code();
        let dynamic = machine.grid.dynamic_shared;
        let mut ranges = details.shared.clone();
        ranges.push((code.shared_end, dynamic));
        let size = code.shared_end as usize + dynamic as usize;
        self.block.shared.begin(size, &ranges, machine.track);
        self.block.barriers = Barriers::default();
        self.block.released.clear();
        self.block.live = [0; WARPS];
        let function = &code.functions[details.function as usize];
        for warp in &mut self.warps {
            warp.begin(
                *block,
                details.function,
                function.entry,
                function.registers,
                function.frame_bytes,
            );
            self.block.live[warp.index] = warp.live;
        }
        self.next = 0;
        self.instructions = 0;
        machine.begin_block(number);
    }

    /// Runs the block for about so many instructions.
    pub(crate) fn run(
        &mut self,
        machine: &mut Machine<'_>,
        slice: u64,
        stop: &AtomicBool,
    ) -> Result<Slice, Fault> {
        let end = machine.warp_instructions + machine.cost_of_waiting + slice;
        loop {
            while let Some((number, outcome)) = self.block.released.pop() {
                for warp in &mut self.warps {
                    machine.release(warp, number, outcome);
                }
            }
            if self.block.live == [0; WARPS] {
                let longest = self.warps.iter().map(|warp| warp.instructions).max();
                machine.longest_warp = machine.longest_warp.max(longest.unwrap_or_default());
                return Ok(Slice::Finished);
            }
            let Some(index) = self.choose(machine) else {
                let block = &self.block;
                if (self.warps.iter_mut()).any(|warp| machine.exchange_without_absent(block, warp)) {
                    continue;
                }
                return Err(self.deadlock(machine));
            };
            let warp = &mut self.warps[index];
            let before = machine.warp_instructions;
            if let Err(raised) = machine.run(&mut self.block, warp, TURN) {
                return Err(machine.fault(&self.block, warp, raised));
            }
            let executed = machine.warp_instructions - before;
            warp.instructions += executed;
            self.instructions += executed;
            if stop.load(Ordering::Relaxed) {
                return Ok(Slice::Stopped);
            }
            self.check_limits(machine, index)?;
            if machine.warp_instructions + machine.cost_of_waiting >= end {
                return Ok(Slice::Expired);
            }
        }
    }

    /// The warp whose turn it is.
    fn choose(&mut self, machine: &mut Machine<'_>) -> Option<usize> {
        let count = self.warps.len();
        let start = machine.random_below(count).unwrap_or(self.next);
        let index = (0..count)
            .map(|offset| (start + offset) % count)
            .find(|&index| self.warps[index].runnable != 0)?;
        self.next = (index + 1) % count;
        Some(index)
    }

    fn check_limits(&self, machine: &Machine<'_>, index: usize) -> Result<(), Fault> {
        let options = machine.grid.options;
        let text = match (options.instruction_limit, options.time_limit) {
            (Some(limit), _) if self.instructions > limit => {
                format!("its block has executed more than {limit} instructions")
            }
            (_, Some(limit)) if machine.grid.started.elapsed() > limit => {
                format!("it has run for more than {limit:?}")
            }
            _ => return Ok(()),
        };
        let warp = &self.warps[index];
        let runnable = if warp.runnable == 0 {
            warp.live
        } else {
            warp.runnable
        };
        let lane = runnable.trailing_zeros() as usize % 32;
        let raised = Raised {
            kind: FaultKind::Watchdog,
            text: format!("{text}; {}", self.who_waits(machine)),
            lane,
            pc: warp.pc[lane],
        };
        Err(machine.fault(&self.block, warp, raised))
    }

    /// All live threads wait for each other.
    fn deadlock(&self, machine: &Machine<'_>) -> Fault {
        let waiting = self
            .warps
            .iter()
            .find(|warp| warp.live != 0)
            .or(self.warps.first());
        let Some(warp) = waiting else {
            return Fault {
                kind: FaultKind::Watchdog,
                place: Box::default(),
                text: "a block without threads".to_owned(),
            };
        };
        let lane = warp.live.trailing_zeros() as usize % 32;
        let raised = Raised {
            kind: FaultKind::Watchdog,
            text: format!("all live threads of the block wait: {}", self.who_waits(machine)),
            lane,
            pc: warp.pc[lane],
        };
        machine.fault(&self.block, warp, raised)
    }

    /// Where threads stand and what they wait for, in words.
    fn who_waits(&self, machine: &Machine<'_>) -> String {
        let mut places: Vec<(u32, Wait, u32)> = Vec::new();
        for warp in &self.warps {
            for lane in lanes(warp.live) {
                let key = (warp.pc[lane], warp.waits[lane]);
                match places.iter_mut().find(|(pc, wait, _)| (*pc, *wait) == key) {
                    Some((_, _, count)) => *count += 1,
                    None => places.push((key.0, key.1, 1)),
                }
            }
        }
        let mut words: Vec<String> = places
            .iter()
            .take(8)
            .map(|&(pc, wait, count)| {
                let line = machine
                    .code
                    .origins
                    .get(pc as usize)
                    .map_or(0, |origin| origin.line);
                let what = match wait {
                    Wait::Nothing => "running".to_owned(),
                    Wait::Warp => "waiting for others of the warp".to_owned(),
                    Wait::Barrier(number) => format!("waiting at barrier {number}"),
                };
                format!("line {line}: {count} {what}")
            })
            .collect();
        for number in 0..BARRIERS {
            if places.iter().any(|&(_, wait, _)| wait == Wait::Barrier(number)) {
                words.push(self.block.barriers.describe(number));
            }
        }
        format!("threads at {}", words.join("; "))
    }
}
