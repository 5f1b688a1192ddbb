//! Stubs, compiled and called, over inline caches as the runtime publishes them.
#![expect(clippy::unwrap_used, reason = "a failed test")]
#![expect(unsafe_code, reason = "code that was just compiled is called")]

use std::arch::asm;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use offloom_abi::jit_image::{Choice, INLINE_CACHE_PARAMETERS, InlineTable, Slot};
use offloom_descriptor::ScalarType;
use offloom_ir::codegen::{MachineOptions, emit_object, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;
use offloom_ir::inkwell::module::Linkage;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::orc::{Dylib, Session};
use offloom_jit_passes::dispatch_stub::{SLOTS, add_dispatch_stubs};
use offloom_jit_variants::inline_cache::InlineCaches;
use offloom_jit_variants::signature::{Launch, Parameter, Signature};
use offloom_jit_variants::tracker::{Decision, LaunchKey, Limits, Tracker};

const KERNEL: &str = "__omp_offloading_0_0_test_l1";
/// What the kernel's AOT code leaves as the number of the code that ran.
const AHEAD_OF_TIME: u64 = u64::MAX;
/// What asking the runtime leaves.
const ASKED: u64 = u64::MAX - 1;
/// Codes that there are.
const CODES: u64 = 300;
/// The most keys of an inline cache: one, and a table of 256.
const MOST_KEYS: usize = 257;

/// The most arguments that a kernel is called with here.
const MOST_ARGUMENTS: usize = INLINE_CACHE_PARAMETERS + 1;
/// Of these, those in registers, and those on the stack.
const IN_REGISTERS: usize = 6;
const ON_STACK: usize = MOST_ARGUMENTS - IN_REGISTERS;

/// By value, it lies on the stack just as so many words do.
#[repr(C)]
#[derive(Clone, Copy)]
struct OnStack([u64; ON_STACK]);

type KernelCode = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, OnStack);

/// The argument words of a launch.
struct Words<'a>(&'a [u64]);

impl Launch for Words<'_> {
    fn arguments(&self) -> &[u64] {
        self.0
    }

    fn object(&self, _: usize, _: usize, _: usize) -> u64 {
        0
    }

    fn is_readable(&self, _: usize, _: Range<usize>) -> bool {
        true
    }
}

/// A kernel with its stub, and code that may run in its place.
struct Kernel {
    dylib: Dylib<'static>,
    /// The code that ran last.
    ran: &'static AtomicU64,
    /// The arguments it was given.
    arguments: *const u64,
    slot: &'static Slot,
    stub: *const c_void,
    parameters: usize,
}

impl Kernel {
    fn new(parameters: usize) -> Self {
        let object = compile(&ir(parameters));
        let session: &'static Session = Box::leak(Box::new(Session::start().unwrap()));
        let dylib = session.create_dylib("test").unwrap();
        dylib.add_object(&object, "test").unwrap();
        // The second of two slots: the other kernel is not launched.
        // SAFETY: the object defines these, of these types, and its code stays.
        unsafe {
            let slots = dylib.look_up(SLOTS).unwrap().cast::<Slot>();
            let kernel = Self {
                ran: &*dylib.look_up("ran").unwrap().cast::<AtomicU64>(),
                arguments: dylib.look_up("arguments").unwrap().cast(),
                slot: &*slots.add(1),
                stub: dylib.look_up(KERNEL).unwrap(),
                dylib,
                parameters,
            };
            let ran = ptr::from_ref(kernel.ran).cast_mut();
            kernel.slot.state.store(ran.cast(), Ordering::Relaxed);
            kernel
        }
    }

    fn code(&self, number: u64) -> *const c_void {
        self.dylib.look_up(&format!("code{number}")).unwrap()
    }

    /// Launches the kernel, which gets its arguments whatever runs, and returns the number of what ran.
    fn launch(&self, arguments: &[u64]) -> u64 {
        let mut all = [0; MOST_ARGUMENTS];
        all[..self.parameters].copy_from_slice(arguments);
        let mut on_stack = OnStack([0; ON_STACK]);
        on_stack.0.copy_from_slice(&all[IN_REGISTERS..]);
        // SAFETY: the functions take so many words, or fewer, and store them.
        let seen = unsafe {
            let stub = std::mem::transmute::<*const c_void, KernelCode>(self.stub);
            stub(all[0], all[1], all[2], all[3], all[4], all[5], on_stack);
            std::slice::from_raw_parts(self.arguments, self.parameters)
        };
        assert_eq!(seen, arguments);
        self.ran.load(Ordering::Relaxed)
    }

    /// Has the stub ask, which is noted in the state.
    fn answer_questions(&self) {
        let dispatch = note_and_decline as *mut c_void;
        self.slot.dispatch.store(dispatch, Ordering::Release);
    }
}

/// A dispatch function whose slot's state is where the kernel's code leaves its number. Adds to what the body
/// leaves there, which runs after it.
unsafe extern "C" fn note_and_decline(slot: *const Slot, _: *const u64) -> Choice {
    // SAFETY: the state is that of the test.
    let ran = unsafe { &*(*slot).state.load(Ordering::Relaxed).cast::<AtomicU64>() };
    ran.store(ASKED, Ordering::Relaxed);
    Choice {
        code: ptr::null(),
        ticket: 0,
    }
}

fn compile(text: &str) -> Vec<u8> {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let buffer = MemoryBuffer::create_from_memory_range_copy(format!("{text}\0").as_bytes(), "test");
    let module = context.create_module_from_ir(buffer).unwrap();
    let kernels = ["__omp_offloading_0_0_other_l1", KERNEL].map(str::to_owned);
    let slots = add_dispatch_stubs(&module, &kernels).unwrap();
    slots.set_linkage(Linkage::External);
    module.verify().unwrap();
    let machine = target_machine(&MachineOptions {
        triple: "x86_64-pc-linux-gnu",
        cpu: "x86-64",
        features: "",
        optimization_level: 2,
    })
    .unwrap();
    emit_object(&module, &machine, &errors)
        .unwrap()
        .as_slice()
        .to_vec()
}

/// The kernel, whose body says that it ran unless the runtime was asked, and the codes.
fn ir(parameters: usize) -> String {
    let types = vec!["i64"; parameters].join(", ");
    let named: Vec<_> = (0..parameters).map(|index| format!("i64 %a{index}")).collect();
    let named = named.join(", ");
    let mut text = format!(
        "target triple = \"x86_64-pc-linux-gnu\"\n\
         @ran = global i64 0\n\
         @arguments = global [{parameters} x i64] zeroinitializer\n\
         define void @__omp_offloading_0_0_other_l1() {{\n  ret void\n}}\n\
         define void @note({named}) noinline {{\n"
    );
    for index in 0..parameters {
        let address = format!("getelementptr (i64, ptr @arguments, i64 {index})");
        writeln!(text, "  store i64 %a{index}, ptr {address}").unwrap();
    }
    let arguments = &named;
    write!(
        text,
        "  ret void\n}}\n\
         define void @{KERNEL}({named}) {{\n\
           %ran = load i64, ptr @ran\n\
           %asked = icmp eq i64 %ran, {ASKED}\n\
           %now = select i1 %asked, i64 {ASKED}, i64 {AHEAD_OF_TIME}\n\
           store i64 %now, ptr @ran\n\
           tail call void @note({arguments})\n\
           ret void\n}}\n"
    )
    .unwrap();
    for number in 0..CODES {
        write!(
            text,
            "define void @code{number}({named}) {{\n  store i64 {number}, ptr @ran\n  tail call void @note({arguments})\n  ret void\n}}\n"
        )
        .unwrap();
    }
    assert!(types.len() >= parameters);
    text
}

/// All parameters but the implicit first are integers of so many bits, or pointers where that is 0.
fn tracker(bits: &[u32], threshold: u64) -> Tracker {
    let parameter = |bits: &u32| match bits {
        0 => Parameter::Pointer {
            declared_alignment: Some(1),
            useful_alignment: 128,
            contents: Vec::new(),
            contents_are_there: true,
        },
        bits => Parameter::Scalar(ScalarType::integer(*bits).unwrap()),
    };
    let parameters = std::iter::once(Parameter::Unused)
        .chain(bits.iter().map(parameter))
        .collect();
    let limits = Limits {
        threshold,
        ratio: 0.5,
    };
    Tracker::new(Signature::new(parameters, false), limits)
}

fn key(tracker: &Tracker, arguments: &[u64]) -> LaunchKey {
    loop {
        if let Decision::Specialize(key) = tracker.decide(&Words(arguments)) {
            return key;
        }
    }
}

/// Whatever the number of arguments, and wherever the one is that tells the keys apart.
#[test]
fn launches_run_the_code_of_their_key_with_their_arguments() {
    for parameters in [1, 2, 3, 6, 7, 8, 11, 17, INLINE_CACHE_PARAMETERS] {
        let kernel = Kernel::new(parameters);
        let bits: Vec<_> = (1..parameters).map(|index| [32, 64, 0, 8][index % 4]).collect();
        let tracker = tracker(&bits, 1000);
        let caches = InlineCaches::new(kernel.slot);
        // The first word counts for nothing, nor does what is above a scalar's bits.
        let launch = |varied: usize, value: u64, rest: u64| -> Vec<u64> {
            let word = |index: usize| {
                let varied = if index == varied { value } else { 0 };
                match index.checked_sub(1).map(|index| bits[index]) {
                    None => rest,
                    Some(0) => 0x1000 * (index as u64 + rest),
                    Some(64) => 7 + varied,
                    Some(bits) => (7 + varied) | rest << bits,
                }
            };
            (0..parameters).map(word).collect()
        };
        assert_eq!(kernel.launch(&launch(0, 0, 0)), AHEAD_OF_TIME);
        kernel.answer_questions();
        assert_eq!(kernel.launch(&launch(0, 0, 0)), ASKED);
        let varied: Vec<_> = (1..parameters).filter(|index| bits[index - 1] != 0).collect();
        let keys = varied
            .iter()
            .flat_map(|index| [(*index, 1), (*index, 2), (*index, 3)]);
        let keys: Vec<_> = std::iter::once((0, 0)).chain(keys).collect();
        for (number, (varied, value)) in keys.iter().enumerate() {
            assert_eq!(kernel.launch(&launch(*varied, *value, 5)), ASKED);
            let key = key(&tracker, &launch(*varied, *value, 1));
            caches.publish(&tracker, &key, Some(kernel.code(number as u64)));
            for (number, (varied, value)) in keys[..=number].iter().enumerate() {
                for rest in [0, 1, 1000] {
                    assert_eq!(
                        kernel.launch(&launch(*varied, *value, rest)),
                        number as u64,
                        "{parameters} parameters"
                    );
                }
            }
        }
        for varied in varied {
            assert_eq!(kernel.launch(&launch(varied, 4, 0)), ASKED);
            // Misaligned.
            let mut arguments = launch(varied, 1, 0);
            if let Some(pointer) = bits.iter().position(|bits| *bits == 0) {
                arguments[pointer + 1] += 4;
                assert_eq!(kernel.launch(&arguments), ASKED);
            }
        }
    }
}

/// What gives this hash together with a second argument word.
fn undoing(second: u64, hash: u64) -> u64 {
    let rest = InlineTable::hash([0, second]) ^ hash;
    let first = rest.rotate_right(InlineTable::turn(1));
    // The inverse of an odd number: each step doubles the bits that are right.
    let multiplier = InlineTable::multiplier(1);
    let inverse = (0..6).fold(1_u64, |inverse, _| {
        inverse.wrapping_mul(2_u64.wrapping_sub(multiplier.wrapping_mul(inverse)))
    });
    first.wrapping_mul(inverse)
}

#[test]
fn as_many_keys_as_a_kernel_has_variants_are_found_and_no_others() {
    let kernel = Kernel::new(3);
    kernel.answer_questions();
    let tracker = tracker(&[64, 64], 1000);
    let caches = InlineCaches::new(kernel.slot);
    // Numbers that differ in their lowest bits, in their highest, and those of which one undoes most of what
    // the other does to the hash.
    let values: Vec<[u64; 2]> = (0..CODES)
        .map(|index| match index % 3 {
            0 => [index, index ^ 5],
            1 => [(index as f64).to_bits(), 0],
            _ => [undoing(index, index), index],
        })
        .collect();
    for (number, values) in values.iter().enumerate() {
        let key = key(&tracker, &[0, values[0], values[1]]);
        caches.publish(&tracker, &key, Some(kernel.code(number as u64)));
    }
    let found: HashMap<_, _> = (0..CODES)
        .map(|number| {
            let [first, second] = values[number as usize];
            (number, kernel.launch(&[number, first, second]))
        })
        .collect();
    assert_eq!(found[&0], 0);
    assert!(found.iter().all(|(number, ran)| ran == number || *ran == ASKED));
    let count = found.values().filter(|ran| **ran != ASKED).count();
    assert_eq!(count, MOST_KEYS);
    assert_eq!(kernel.launch(&[0, 1 << 40, 3]), ASKED);
}

/// As sizes are: `n`, a pointer or not, and a multiple of `n`.
#[test]
fn keys_whose_words_are_multiples_of_each_other_are_all_found() {
    for multiple in [1, 2, 8, 16, 128, 1024, 1 << 27] {
        for apart in 1..8 {
            let kernel = Kernel::new(9);
            kernel.answer_questions();
            let tracker = tracker(&[64; 8], 1000);
            let caches = InlineCaches::new(kernel.slot);
            let launch = |number: u64| {
                let (first, second) = (number / 16 + 1, (number % 16 + 1) * multiple);
                let mut words = [0; 9];
                words[1] = first;
                words[1 + apart] = second;
                words
            };
            for number in 0..MOST_KEYS as u64 {
                let key = key(&tracker, &launch(number));
                caches.publish(&tracker, &key, Some(kernel.code(number)));
            }
            for number in 0..MOST_KEYS as u64 {
                assert_eq!(kernel.launch(&launch(number)), number, "{multiple} {apart}");
            }
        }
    }
}

#[test]
fn a_key_that_is_published_again_runs_its_new_code() {
    let kernel = Kernel::new(2);
    kernel.answer_questions();
    let tracker = tracker(&[64], 1000);
    let caches = InlineCaches::new(kernel.slot);
    for value in [3, 4] {
        let key = key(&tracker, &[0, value]);
        for code in [None, Some(kernel.code(value))] {
            caches.publish(&tracker, &key, code);
        }
    }
    for value in [3, 4] {
        assert_eq!(kernel.launch(&[0, value]), value);
    }
}

/// More keys than there are places for have one hash, so no factor parts them.
#[test]
fn keys_with_one_hash_are_told_apart_or_left_to_the_runtime() {
    // The first key needs no place, and with a hash of 0 both are the same.
    for (hash, with_place) in [(0, 2), (12345, 3)] {
        let kernel = Kernel::new(3);
        kernel.answer_questions();
        let tracker = tracker(&[64, 64], 1000);
        let caches = InlineCaches::new(kernel.slot);
        let launch = |value: u64| [0, undoing(value, hash), value];
        for number in 0..20 {
            let key = key(&tracker, &launch(number));
            caches.publish(&tracker, &key, Some(kernel.code(number)));
        }
        for number in 0..20 {
            let expected = if number < with_place { number } else { ASKED };
            assert_eq!(kernel.launch(&launch(number)), expected);
        }
        // Others still get places.
        let key = key(&tracker, &[0, 77, 78]);
        caches.publish(&tracker, &key, Some(kernel.code(20)));
        assert_eq!(kernel.launch(&[0, 77, 78]), 20);
    }
}

#[test]
fn what_is_declined_runs_ahead_of_time_code_without_a_question() {
    let kernel = Kernel::new(2);
    kernel.answer_questions();
    let tracker = tracker(&[64], 1000);
    let caches = InlineCaches::new(kernel.slot);
    for value in [3, 4] {
        caches.publish(&tracker, &key(&tracker, &[0, value]), None);
        assert_eq!(kernel.launch(&[0, value]), AHEAD_OF_TIME);
    }
}

#[test]
fn a_kernel_that_is_specialized_to_less_has_another_cache() {
    let kernel = Kernel::new(3);
    kernel.answer_questions();
    let tracker = tracker(&[64, 64], 2);
    let caches = InlineCaches::new(kernel.slot);
    for value in 0..3 {
        let key = key(&tracker, &[0, 9, value]);
        caches.publish(&tracker, &key, Some(kernel.code(value)));
    }
    assert_eq!(kernel.launch(&[0, 9, 1]), 1);
    assert_eq!(kernel.launch(&[0, 9, 5]), ASKED);
    // The fourth value gives the second argument up.
    let key = key(&tracker, &[0, 9, 3]);
    caches.publish(&tracker, &key, Some(kernel.code(10)));
    assert_eq!(kernel.launch(&[0, 9, 5]), 10);
    assert_eq!(kernel.launch(&[0, 9, 1]), 10);
    assert_eq!(kernel.launch(&[0, 8, 1]), ASKED);
}

#[test]
fn a_thread_that_computes_otherwise_asks() {
    let kernel = Kernel::new(2);
    kernel.answer_questions();
    let tracker = tracker(&[64], 1000);
    let caches = InlineCaches::new(kernel.slot);
    for number in 0..2 {
        caches.publish(&tracker, &key(&tracker, &[0, number]), Some(kernel.code(number)));
    }
    let both = || [kernel.launch(&[0, 0]), kernel.launch(&[0, 1])];
    assert_eq!(both(), [0, 1]);
    let mut usual = 0_u32;
    // SAFETY: writes these four bytes.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut usual) };
    // What happened so far does not count; how numbers are rounded, and what becomes of subnormal ones, does.
    for (bits, expected) in [(0x20, [0, 1]), (0x2000, [ASKED; 2]), (0x8000, [ASKED; 2])] {
        let set = |register: u32| {
            // SAFETY: reads these four bytes, a value that the processor takes.
            unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const register) };
        };
        set(usual | bits);
        let ran = both();
        set(usual);
        assert_eq!(ran, expected);
    }
}

#[test]
fn nothing_is_stored_in_a_slot_that_may_be_gone() {
    let kernel = Kernel::new(2);
    kernel.answer_questions();
    let tracker = tracker(&[64], 1000);
    let caches = InlineCaches::new(kernel.slot);
    caches.close();
    caches.publish(&tracker, &key(&tracker, &[0, 1]), Some(kernel.code(1)));
    assert_eq!(kernel.launch(&[0, 1]), ASKED);
}

#[test]
fn a_kernel_with_too_many_parameters_asks() {
    let parameters = INLINE_CACHE_PARAMETERS + 1;
    let kernel = Kernel::new(parameters);
    let arguments: Vec<u64> = (0..parameters as u64).collect();
    assert_eq!(kernel.launch(&arguments), AHEAD_OF_TIME);
    kernel.answer_questions();
    let tracker = tracker(&vec![64; parameters - 1], 1000);
    InlineCaches::new(kernel.slot).publish(&tracker, &key(&tracker, &arguments), Some(kernel.code(1)));
    assert_eq!(kernel.launch(&arguments), ASKED);
}
