//! What a program's output is measured by.

/// The measure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Measure {
    /// What it prints on the x86_64 device.
    Host,
    /// What it prints when LLVM's tools have built it, for this reason.
    Llvm(&'static str),
}

/// Why programs that call the mathematical library differ.
const MATHEMATICS: &str = "CUDA's mathematical functions round otherwise than those of the C library";

/// Programs whose output depends on the device, with the reason.
const OF_DEVICE: [(&str, &str); 9] = [
    ("changing-scalar", MATHEMATICS),
    ("docking", MATHEMATICS),
    ("flags", MATHEMATICS),
    ("fmm", MATHEMATICS),
    ("multipole", MATHEMATICS),
    ("phase-field", MATHEMATICS),
    ("pow-square", MATHEMATICS),
    (
        "raii.cpp",
        "Clang copies objects with destructors that are passed by value to a function for nvptx64",
    ),
    ("transport", MATHEMATICS),
];

/// The measure of a program.
pub(super) fn measure_of(name: &str) -> Measure {
    let found = OF_DEVICE.iter().find(|(program, _)| *program == name);
    found.map_or(Measure::Host, |(_, reason)| Measure::Llvm(reason))
}
