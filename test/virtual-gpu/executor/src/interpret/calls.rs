//! Calls, returns, stack allocation, and the functions that the device has.

use offloom_ptx_arithmetic::LANES;

use super::simple::{put_lane, raised};
use super::{At, Block, Machine, Raised};
use crate::code::{Builtin, Call, Operation, Slot, Source, Target};
use crate::fault::{FaultKind, ReportKind};
use crate::lanes::lanes;
use crate::local::PATTERN;
use crate::memory::Owner;
use crate::print;
use crate::space::{LOCAL_START, Space, is_code};
use crate::warp::{Saved, Warp};

/// Registers of all frames of a warp at most, of 256 bytes each.
const REGISTERS: usize = 1 << 20;
/// Bytes of a string that a kernel prints at most.
const STRING: usize = 1 << 16;

impl Machine<'_> {
    pub(super) fn call(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        at: At,
        call: &Call,
    ) -> Result<(), Raised> {
        match call.target {
            Target::Function(function) => self.enter(warp, at, at.exec, function, call),
            Target::Builtin(builtin) => self.builtin(block, warp, at, builtin, call),
            Target::Address(source) => {
                let poison = warp.poisoned(at.base, source) & at.exec;
                if poison != 0 {
                    self.poison_used(block, warp, at.pc, poison, ReportKind::PoisonAddress)?;
                }
                let addresses = *warp.read(&self.code.constants, at.base, source);
                let mut left = at.exec;
                while left != 0 {
                    let lane = left.trailing_zeros() as usize;
                    let address = addresses[lane];
                    let together = lanes(left)
                        .filter(|&other| addresses[other] == address)
                        .fold(0, |mask, lane| mask | 1 << lane);
                    left &= !together;
                    let Some(function) = self.grid.program.function_at(address) else {
                        let what = if is_code(address) {
                            "a function of another module"
                        } else {
                            "no function"
                        };
                        return Err(Raised {
                            kind: FaultKind::InvalidProgramCounter,
                            text: format!("call to {address:#x}, where {what} is"),
                            lane,
                            pc: at.pc,
                        });
                    };
                    self.enter(warp, at, together, function, call)?;
                }
                Ok(())
            }
        }
    }

    /// Lanes enter a function.
    fn enter(
        &mut self,
        warp: &mut Warp,
        at: At,
        mask: u32,
        function: u32,
        call: &Call,
    ) -> Result<(), Raised> {
        let code = self.code;
        let callee = &code.functions[function as usize];
        let caller = warp.function[mask.trailing_zeros() as usize % LANES];
        let base = at.base as u32 + code.functions[caller as usize].registers;
        if callee.is_entry || callee.parameters.len() != call.arguments.len() {
            let text = format!(
                "call of `{}` with {} arguments, which takes {}",
                callee.name,
                call.arguments.len(),
                callee.parameters.len()
            );
            return Err(raised(
                At { exec: mask, ..at },
                FaultKind::InvalidProgramCounter,
                text,
            ));
        }
        if warp.register_count() > REGISTERS {
            let text = format!(
                "calls are nested {} deep",
                warp.calls[mask.trailing_zeros() as usize].len()
            );
            return Err(raised(At { exec: mask, ..at }, FaultKind::StackOverflow, text));
        }
        warp.begin_frame(base, callee.registers, mask);
        for lane in lanes(mask) {
            let used = warp.stack_used[lane].saturating_add(callee.stack_bytes);
            if used > self.grid.stack_limit {
                return Err(Raised {
                    kind: FaultKind::StackOverflow,
                    text: format!(
                        "a call of `{}`, {} calls deep, needs {used} bytes of stack, more than the {} that a thread has",
                        callee.name,
                        warp.calls[lane].len() + 1,
                        self.grid.stack_limit
                    ),
                    lane,
                    pc: at.pc,
                });
            }
            warp.calls[lane].push(Saved {
                pc: at.pc + 1,
                base: warp.base[lane],
                function: caller,
                local_base: warp.local_base[lane],
                local_top: warp.local_top[lane],
                stack_used: warp.stack_used[lane],
            });
            let (old_base, old_top) = (warp.local_base[lane], warp.local_top[lane]);
            let new_base = old_top.next_multiple_of(callee.frame_alignment);
            warp.local_base[lane] = new_base;
            warp.local_top[lane] = new_base + callee.frame_bytes;
            warp.stack_used[lane] = used;
            warp.base[lane] = base;
            warp.function[lane] = function;
            warp.pc[lane] = callee.entry;
            let (from, to) = (
                old_top.next_multiple_of(8),
                (new_base + callee.frame_bytes).next_multiple_of(8),
            );
            warp.local.begin(from, to, 1 << lane, self.track);
            for (argument, parameter) in call.arguments.iter().zip(&callee.parameters) {
                let size = argument.size.min(parameter.size);
                warp.local.copy(
                    lane,
                    new_base + parameter.offset,
                    old_base + argument.offset,
                    size,
                );
            }
        }
        Ok(())
    }

    /// Lanes return, or end where the kernel does.
    pub(super) fn return_from(&mut self, block: &mut Block, warp: &mut Warp, at: At) -> Result<(), Raised> {
        let mut ended = 0;
        for lane in lanes(at.exec) {
            let Some(saved) = warp.calls[lane].pop() else {
                ended |= 1 << lane;
                continue;
            };
            let callee = &self.code.functions[warp.function[lane] as usize];
            let from = warp.local_base[lane];
            if let Operation::Call(call) = &self.code.instructions[saved.pc as usize - 1].operation {
                for (to, result) in call.results.iter().zip(&callee.results) {
                    let size = to.size.min(result.size);
                    warp.local
                        .copy(lane, saved.local_base + to.offset, from + result.offset, size);
                }
            }
            warp.pc[lane] = saved.pc;
            warp.base[lane] = saved.base;
            warp.function[lane] = saved.function;
            warp.local_base[lane] = saved.local_base;
            warp.local_top[lane] = saved.local_top;
            warp.stack_used[lane] = saved.stack_used;
        }
        if ended != 0 {
            self.exit(block, warp, ended);
        }
        Ok(())
    }

    /// `alloca`: takes bytes from the top of the frame.
    pub(super) fn allocate(
        &mut self,
        block: &Block,
        warp: &mut Warp,
        at: At,
        d: u32,
        size: Source,
        alignment: u32,
    ) -> Result<(), Raised> {
        let poison = warp.poisoned(at.base, size) & at.exec;
        if poison != 0 {
            self.poison_used(block, warp, at.pc, poison, ReportKind::PoisonAddress)?;
        }
        let sizes = *warp.read(&self.code.constants, at.base, size);
        for lane in lanes(at.exec) {
            let start = (warp.local_top[lane] + LOCAL_START).next_multiple_of(alignment) - LOCAL_START;
            let size = u32::try_from(sizes[lane])
                .ok()
                .and_then(|size| size.checked_next_multiple_of(16));
            let used = size.and_then(|size| warp.stack_used[lane].checked_add(size));
            let (Some(size), Some(used)) = (size, used.filter(|&used| used <= self.grid.stack_limit)) else {
                return Err(Raised {
                    kind: FaultKind::StackOverflow,
                    text: format!(
                        "{} bytes more of stack, when {} of {} are in use",
                        sizes[lane], warp.stack_used[lane], self.grid.stack_limit
                    ),
                    lane,
                    pc: at.pc,
                });
            };
            warp.stack_used[lane] = used;
            let from = warp.local_top[lane].next_multiple_of(8);
            warp.local_top[lane] = start + size;
            warp.local
                .begin(from, (start + size).next_multiple_of(8), 1 << lane, self.track);
            put_lane(warp, at, d, lane, u64::from(start + LOCAL_START), 0);
        }
        Ok(())
    }

    fn builtin(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        at: At,
        builtin: Builtin,
        call: &Call,
    ) -> Result<(), Raised> {
        for lane in lanes(at.exec) {
            let mut arguments = [0; 5];
            for (value, slot) in arguments.iter_mut().zip(&call.arguments) {
                let place = warp.local_base[lane] + slot.offset;
                *value = warp
                    .local
                    .load(lane, place, slot.size.clamp(1, 8).next_power_of_two())
                    .0;
            }
            let found = |(kind, text)| Raised {
                kind,
                text,
                lane,
                pc: at.pc,
            };
            let result = match builtin {
                Builtin::Malloc => self.malloc(arguments[0]),
                Builtin::Free => self.free(arguments[0]).map_err(found)?,
                Builtin::Vprintf => {
                    let format = self.string(block, warp, lane, arguments[0]).map_err(found)?;
                    let printed = self
                        .format(block, warp, lane, &format, arguments[1])
                        .map_err(found)?;
                    self.output(&printed.0);
                    printed.1
                }
                Builtin::AssertFail => {
                    let mut strings = [const { Vec::new() }; 3];
                    for (string, index) in strings.iter_mut().zip([0, 1, 3]) {
                        *string = self.string(block, warp, lane, arguments[index]).map_err(found)?;
                    }
                    let [message, file, function] =
                        strings.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                    let text = format!(
                        "{file}:{}: {function}: assertion `{message}` failed",
                        arguments[2] as u32
                    );
                    return Err(found((FaultKind::Assert, text)));
                }
            };
            if let Some(&Slot { offset, size }) = call.results.first() {
                let place = warp.local_base[lane] + offset;
                warp.local
                    .store(lane, place, size.clamp(1, 8).next_power_of_two(), result, 0);
            }
        }
        warp.stand_at(at.exec, at.pc + 1);
        // The device runtime of LLVM 19 takes it for granted that `malloc` in one warp ends after others have
        // read a word.
        self.gives_way = true;
        Ok(())
    }

    fn malloc(&mut self, size: u64) -> u64 {
        let owner = Owner::Heap(self.grid.program.properties().number);
        let memory = self.views.memory();
        let Ok(address) = memory.allocate(size, owner) else {
            return 0;
        };
        // What the heap gives is not zero on a device either.
        let _ = memory.fill(address, &[PATTERN], size.min(1 << 20));
        address
    }

    fn free(&mut self, address: u64) -> Result<u64, (FaultKind, String)> {
        let memory = self.views.memory();
        if address == 0 {
            return Ok(0);
        }
        let is_heap = matches!(memory.find(address), Some((start, _, Owner::Heap(_))) if start == address);
        if !is_heap || memory.free(address).is_err() {
            let text = format!("free of {address:#x}, which `malloc` did not give or which is free already");
            return Err((FaultKind::IllegalAddress, text));
        }
        Ok(0)
    }

    /// A string that ends with zero, at a generic address.
    fn string(
        &mut self,
        block: &Block,
        warp: &Warp,
        lane: usize,
        mut address: u64,
    ) -> Result<Vec<u8>, (FaultKind, String)> {
        self.views.refresh();
        let mut string = Vec::new();
        while string.len() < STRING {
            let (byte, _) = self.load_element(block, warp, lane, Space::Generic, address, 1)?;
            if byte == 0 {
                break;
            }
            string.push(byte as u8);
            address += 1;
        }
        Ok(string)
    }

    /// What `vprintf` prints, and how many arguments it took.
    fn format(
        &mut self,
        block: &Block,
        warp: &Warp,
        lane: usize,
        format: &[u8],
        arguments: u64,
    ) -> Result<(Vec<u8>, u64), (FaultKind, String)> {
        let mut text = Vec::new();
        let mut place = arguments;
        let mut count = 0;
        for piece in print::pieces(format) {
            let conversion = match piece {
                print::Piece::Text(bytes) => {
                    text.extend_from_slice(bytes);
                    continue;
                }
                print::Piece::Conversion(conversion) => conversion,
            };
            let mut next = |machine: &mut Self, size: u32| {
                place = place.next_multiple_of(size.into());
                let (value, _) = machine.load_element(block, warp, lane, Space::Generic, place, size)?;
                place += u64::from(size);
                count += 1;
                Ok::<u64, (FaultKind, String)>(value)
            };
            let mut stars = [0; 2];
            for star in stars.iter_mut().take(conversion.stars()) {
                *star = next(self, 4)? as i32;
            }
            let value = next(self, conversion.size())?;
            if conversion.is_string() {
                let string = if value == 0 {
                    b"(null)".to_vec()
                } else {
                    self.string(block, warp, lane, value)?
                };
                conversion.string(stars, &string, &mut text);
            } else {
                conversion.number(stars, value, &mut text);
            }
        }
        Ok((text, count))
    }

    fn output(&self, bytes: &[u8]) {
        use std::io::Write as _;
        if let Some(output) = &self.grid.options.output {
            output(bytes);
        } else {
            // Nobody can be told that standard output is closed.
            let mut output = std::io::stdout().lock();
            let _ = output.write_all(bytes).and_then(|()| output.flush());
        }
    }
}
