//! What a program's output is measured by.

/// The measure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Measure {
    /// What it prints on the x86_64 device.
    Host,
    /// What it prints when LLVM's tools have built it, for this reason.
    Llvm(&'static str),
    /// Nothing: it does not run right on the GPU, by whichever tools it was built, for this reason.
    None(&'static str),
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

/// Programs that do not run right on the GPU, with the reason or what was seen.
const NOT_RIGHT: [(&str, &str); 4] = [
    (
        "begin_declare_variant.cpp",
        "it asks for the variants of processors, and the device takes those of GPUs",
    ),
    (
        "declare_mapper.c",
        "a kernel follows a pointer of the host, which the x86_64 device forgives; why it is not translated is not known",
    ),
    (
        "requires_shared_memory.c",
        "its kernels read memory of the host, which the virtual GPU does not reach",
    ),
    (
        "teams_distribute.cpp",
        "a kernel stores bytes that nothing has written as the `lastprivate` value; why is not known",
    ),
];

/// The measure of a program.
pub(super) fn measure_of(name: &str) -> Measure {
    let left_out = NOT_RIGHT.iter().find(|(program, _)| *program == name);
    if let Some((_, reason)) = left_out {
        return Measure::None(reason);
    }
    let found = OF_DEVICE.iter().find(|(program, _)| *program == name);
    found.map_or(Measure::Host, |(_, reason)| Measure::Llvm(reason))
}
