//! Damaged kernels: an error or a fault for each, never a mistake of the virtual GPU.
#![expect(clippy::unwrap_used, reason = "a fault of a fixture ends the test")]

use offloom_virtual_gpu::{
    DeviceProperties, Launch, LaunchOptions, Memory, Owner, Poison, Program, Schedule, launch,
};
use proptest::prelude::*;

/// Kernels about threads, and what Clang makes of a program with function pointers.
const TEXTS: [&str; 2] = [
    include_str!("data/threads.ptx"),
    include_str!("../../ptx/tests/data/function-pointers.ptx"),
];

/// How many launches of undamaged kernels end well.
#[test]
fn undamaged_kernels_run() {
    assert!(run(TEXTS[0], Schedule::Converging) > 15);
}

/// Launches each kernel of a text that can be decoded; how many ended well.
fn run(text: &str, schedule: Schedule) -> usize {
    let memory = Memory::new(&[64 << 20]);
    let Ok(module) = offloom_ptx::parse("hostile.ptx", text.as_bytes()) else {
        return 0;
    };
    let Ok(program) = Program::new(&module, &DeviceProperties::new(0, (8, 0)), &memory) else {
        return 0;
    };
    let output = memory.allocate(512, Owner::Device(0)).unwrap();
    let options = LaunchOptions {
        workers: 1,
        schedule,
        poison: Poison::Report,
        instruction_limit: Some(20_000),
        ..LaunchOptions::default()
    };
    let mut well = 0;
    for kernel in program.kernels() {
        let mut parameters = output.to_le_bytes().to_vec();
        parameters.resize(parameters.len().max(kernel.parameter_bytes.min(4096) as usize), 0);
        let shape = Launch {
            kernel: &kernel.name,
            grid: [2, 1, 1],
            block: [40, 1, 1],
            dynamic_shared_bytes: 64,
            parameters: &parameters,
        };
        match launch(&program, &shape, &options) {
            Ok(_) => well += 1,
            Err(fault) => assert!(!fault.text.contains("has a mistake"), "{fault}\n{text}"),
        }
    }
    well
}

/// Replaces words of a text by others of it.
fn damaged(text: &'static str) -> impl Strategy<Value = String> {
    let words: Vec<&str> = text
        .split_inclusive(|letter: char| !(letter.is_alphanumeric() || "_%$.".contains(letter)))
        .collect();
    let count = words.len();
    let change = (0..count, 0..count, 0..4_u8, any::<prop::sample::Index>());
    prop::collection::vec(change, 1..5).prop_map(move |changes| {
        let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        for (at, from, kind, number) in changes {
            words[at] = match kind {
                0 => String::new(),
                1 => words[from].clone(),
                // The end of the word stays.
                2 => {
                    let end = words[at].chars().last().unwrap_or(' ');
                    let start = words[from].trim_end_matches(|letter: char| !letter.is_alphanumeric());
                    format!("{start}{end}")
                }
                _ => NUMBERS[number.index(NUMBERS.len())].to_owned() + ",",
            };
        }
        words.concat()
    })
}

/// Operands that a careless interpreter would take as they are.
const NUMBERS: [&str; 8] = [
    "-1",
    "0",
    "32",
    "0x7FFFFFFF",
    "0x8000000000000000",
    "18446744073709551615",
    "%r99",
    "%tid.x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_kernels_about_threads(text in damaged(TEXTS[0]), seed in 0..3_u64) {
        run(&text, if seed == 0 { Schedule::Converging } else { Schedule::Random { seed } });
    }

    #[test]
    fn damaged_kernels_of_a_compiler(text in damaged(TEXTS[1])) {
        run(&text, Schedule::Converging);
    }
}

#[test]
fn a_shared_variable_that_no_block_has_room_for_is_refused() {
    let text = |bytes: u64| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 large[{bytes}];\n\
             .visible .entry k() {{ ret; }}\n"
        )
    };
    let memory = Memory::new(&[64 << 20]);
    let properties = DeviceProperties::new(0, (8, 0));
    let most = u64::from(properties.max_shared_bytes);
    for (bytes, is_refused) in [(most, false), (most + 1, true), (0x7FFF_FFFF, true)] {
        let module = offloom_ptx::parse("large.ptx", text(bytes).as_bytes()).unwrap();
        let refused = Program::new(&module, &properties, &memory)
            .map(drop)
            .map_err(|error| error.to_string());
        assert_eq!(
            refused.err(),
            is_refused.then(|| format!(
                "large.ptx:4: `large` has {bytes} bytes of shared memory, a block at most {most}"
            ))
        );
    }
}
