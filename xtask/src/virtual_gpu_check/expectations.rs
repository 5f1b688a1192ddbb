//! What a program's output is measured by.

/// The measure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Measure {
    /// What it prints on the x86_64 device.
    Host,
    /// What it prints when LLVM's tools have built it, for this reason.
    Llvm(&'static str),
}

/// Programs whose output depends on the device, with the reason.
const OF_DEVICE: [(&str, &str); 0] = [];

/// The measure of a program.
pub(super) fn measure_of(name: &str) -> Measure {
    let found = OF_DEVICE.iter().find(|(program, _)| *program == name);
    found.map_or(Measure::Host, |(_, reason)| Measure::Llvm(reason))
}
