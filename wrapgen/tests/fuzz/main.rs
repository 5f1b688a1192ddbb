//! Every parser of foreign bytes against mutations of small real files: whatever comes in, it answers or
//! reports an error, and neither panics nor aborts.
//!
//! Without further words each target runs for a fixed number of inputs from a fixed seed, so a test run is
//! repeatable. With `OFFLOOM_FUZZ_SECONDS` set (`cargo xtask fuzz` does) each runs for that long from a new
//! seed. An input that breaks a parser is put into the target's folder under `corpus/`, where every later run
//! starts with it.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed step of a test ends the test"
)]

mod mutation;
mod run;
mod targets;

use run::fuzz;

macro_rules! targets {
    ($($name:ident: $target:path;)*) => {$(
        #[test]
        fn $name() {
            fuzz(stringify!($name), $target);
        }
    )*};
}

targets! {
    offload_binary: targets::offload_binary;
    entry_table: targets::entry_table;
    fat_binary: targets::fat_binary;
    kernel_name: targets::kernel_name;
    jit_bundle: targets::jit_bundle;
    image_argument: targets::image_argument;
    linker_script: targets::linker_script;
    response_file: targets::response_file;
    elf: targets::input;
    archive: targets::input;
    bitcode: targets::input;
    coff: targets::input;
    mach_o: targets::input;
}
