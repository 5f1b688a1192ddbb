//! What a stub does with its inline cache, in assembly for x86_64. Compiled from IR, every launch would save
//! six registers for the argument words that are on the stack, and move these. Here `rax`, `r10` and `r11`
//! are changed, which hold no argument; all else is as it was when a text ends.
//!
//! Each text is all of a function that is entered with the kernel's arguments. From one to the next, the
//! cache is in `rax` and the slot in `r10`, where what asks the runtime has its first parameter.

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};

use offloom_abi::jit_image::{
    Condition, InlineCache, InlineTable, MXCSR_DEFAULT, MXCSR_MASK, Slot, X87_DEFAULT, X87_MASK,
};

/// Registers that hold the parameters after the first, as far as there are, by the psABI of x86_64, System V.
const ARGUMENT_REGISTERS: [&str; 5] = ["%rsi", "%rdx", "%rcx", "%r8", "%r9"];
/// Where the arguments begin that are on the stack, behind the return address.
const STACK_ARGUMENTS: usize = 8;
/// Where two of the argument registers are saved: below the stack, where System V has signal handlers leave
/// 128 bytes alone.
const SAVED_RDX: &str = "-16(%rsp)";
const SAVED_RCX: &str = "-24(%rsp)";
/// Where the slot's address is saved.
const SAVED_SLOT: &str = "-32(%rsp)";

/// What is under a kernel's name: jumps to the code of the first key if the launch has it. Operands: the
/// slots, of which the kernel's has this number, what looks at the other keys, what asks the runtime.
pub(super) fn first_key(parameters: usize, slot: u32) -> String {
    let mut text = Assembly::default();
    let address = place(slot) + offset_of!(Slot, inline_cache);
    text.line(format!("movq ${{0:c}}+{address}(%rip), %rax"));
    text.line("testq %rax, %rax");
    text.line("je 2f");
    // The thread computes as a process starts with.
    text.line("stmxcsr -4(%rsp)");
    text.line("movl -4(%rsp), %r11d");
    text.line(format!("andl $${}, %r11d", MXCSR_MASK.cast_signed()));
    text.line(format!("cmpl $${MXCSR_DEFAULT}, %r11d"));
    text.line("jne 2f");
    text.line("fnstcw -4(%rsp)");
    text.line("movzwl -4(%rsp), %r11d");
    text.line(format!("andl $${X87_MASK}, %r11d"));
    text.line(format!("cmpl $${X87_DEFAULT}, %r11d"));
    text.line("jne 2f");
    for parameter in 1..parameters {
        text.masked(parameter, &argument(parameter), "%rax", "%r11");
        let value = condition(parameter) + offset_of!(Condition, value);
        text.line(format!("cmpq {value}(%rax), %r11"));
        text.line("jne 1f");
    }
    text.line(format!("jmpq *{}(%rax)", offset_of!(InlineCache, code)));
    // Apart from the conditions, which then jump over no more than a line of the processor's cache or two.
    text.line("1:");
    text.jump_with_slot(slot, "${1:P}");
    text.line("2:");
    text.jump_with_slot(slot, "${2:P}");
    text.0
}

/// What is under the name of a kernel with more parameters than inline caches have. Operands: the slots, of
/// which the kernel's has this number, what asks the runtime.
pub(super) fn no_key(slot: u32) -> String {
    let mut text = Assembly::default();
    text.jump_with_slot(slot, "${1:P}");
    text.0
}

/// What looks at the other keys. Operands: what asks the runtime.
pub(super) fn other_keys(parameters: usize) -> String {
    let mut text = Assembly::default();
    text.line(format!("movq {}(%rax), %r11", offset_of!(InlineCache, others)));
    text.line("testq %r11, %r11");
    text.line("je ${0:P}");
    text.line(format!("movq %r10, {SAVED_SLOT}"));
    text.line("movq %r11, %r10");
    text.line(format!("movq %rdx, {SAVED_RDX}"));
    text.line(format!("movq %rcx, {SAVED_RCX}"));
    // The hash.
    text.line("xorl %r11d, %r11d");
    for parameter in 1..parameters {
        text.masked(parameter, &saved_argument(parameter), "%rax", "%rcx");
        let multiplier = InlineTable::multiplier(parameter);
        text.line(format!("imulq $${multiplier}, %rcx, %rcx"));
        text.line(format!("rolq $${}, %rcx", InlineTable::turn(parameter)));
        text.line("xorq %rcx, %r11");
    }
    // Its places: one in rax, one in rdx. The cache is in rcx from here on.
    text.line("movq %rax, %rcx");
    text.line("movq %r11, %rax");
    text.line(format!("mulq {}(%r10)", offset_of!(InlineTable, factor)));
    text.line("xorl %eax, %edx");
    text.line(format!("andl $${}, %edx", InlineTable::PLACES - 1));
    text.line(format!(
        "shrq $${}, %rax",
        u64::BITS - InlineTable::PLACES.ilog2()
    ));
    let log2_size_of_key = (size_of::<u64>() * InlineTable::words_of_key(parameters)).ilog2();
    for (place, next) in [("%rax", "1f"), ("%rdx", "2f")] {
        text.line(format!(
            "movzwl {}(%r10,{place},{}), %r11d",
            offset_of!(InlineTable, places),
            size_of::<u16>()
        ));
        text.line("testl %r11d, %r11d");
        text.line("je 2f");
        text.line(format!("shll $${log2_size_of_key}, %r11d"));
        text.line(format!("addq {}(%r10), %r11", offset_of!(InlineTable, keys)));
        for parameter in 1..parameters {
            text.masked(parameter, &saved_argument(parameter), "%rcx", "%rax");
            text.line(format!("cmpq {}(%r11), %rax", size_of::<u64>() * parameter));
            text.line(format!("jne {next}"));
        }
        text.line(format!("movq {SAVED_RDX}, %rdx"));
        text.line(format!("movq {SAVED_RCX}, %rcx"));
        text.line("jmpq *(%r11)");
        text.line("1:");
    }
    text.line("2:");
    text.line(format!("movq {SAVED_RDX}, %rdx"));
    text.line(format!("movq {SAVED_RCX}, %rcx"));
    text.line(format!("movq {SAVED_SLOT}, %r10"));
    text.line("jmp ${0:P}");
    text.0
}

#[derive(Default)]
struct Assembly(String);

impl Assembly {
    fn line(&mut self, line: impl AsRef<str>) {
        // Cannot fail.
        let _ = writeln!(self.0, "{}", line.as_ref());
    }

    /// To what needs the address of the slot of this number; operand 0 is the slots.
    fn jump_with_slot(&mut self, slot: u32, to: &str) {
        self.line(format!("leaq ${{0:c}}+{}(%rip), %r10", place(slot)));
        self.line(format!("jmp {to}"));
    }

    /// The bits of a parameter's argument that count, in a register.
    fn masked(&mut self, parameter: usize, argument: &str, cache: &str, register: &str) {
        let mask = condition(parameter) + offset_of!(Condition, mask);
        self.line(format!("movq {mask}({cache}), {register}"));
        self.line(format!("andq {argument}, {register}"));
    }
}

/// Where the slot of this number is among the slots.
const fn place(slot: u32) -> usize {
    slot as usize * size_of::<Slot>()
}

/// Where the condition of a parameter is in the cache.
const fn condition(parameter: usize) -> usize {
    offset_of!(InlineCache, conditions) + parameter * size_of::<Condition>()
}

/// Where the argument of a parameter after the first is.
fn argument(parameter: usize) -> String {
    match ARGUMENT_REGISTERS.get(parameter - 1) {
        Some(register) => (*register).to_owned(),
        None => {
            let before = parameter - 1 - ARGUMENT_REGISTERS.len();
            format!("{}(%rsp)", STACK_ARGUMENTS + before * size_of::<u64>())
        }
    }
}

/// As [`argument`], once registers are saved.
fn saved_argument(parameter: usize) -> String {
    match argument(parameter).as_str() {
        "%rdx" => SAVED_RDX.to_owned(),
        "%rcx" => SAVED_RCX.to_owned(),
        other => other.to_owned(),
    }
}
