//! The Rust program in `docs/user/launch.md` compiles, and runs on the device and on the host.
#![expect(
    unsafe_code,
    reason = "the program in the documentation promises that arguments fit its kernel"
)]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::process::Command;

use offloom_launch_test::{compile_image, kernels, register};

mod example {
    include!(concat!(env!("OUT_DIR"), "/example.rs"));

    pub(crate) fn run() {
        main().unwrap();
    }
}

#[test]
#[ignore = "run by the others"]
fn child() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Inputs/kernels.c");
    register(compile_image(env!("CLANG"), &source), &kernels!(saxpy));
    example::run();
}

/// What the program prints under an offload policy.
fn output(policy: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "child"])
        .env("OMP_TARGET_OFFLOAD", policy)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_program_runs_on_the_device() {
    let text = output("mandatory");
    assert!(text.contains("[12.0, 24.0, 36.0, 48.0], on the device"), "{text}");
}

#[test]
fn the_program_runs_on_the_host() {
    let text = output("disabled");
    assert!(text.contains("[12.0, 24.0, 36.0, 48.0], on the host"), "{text}");
}
