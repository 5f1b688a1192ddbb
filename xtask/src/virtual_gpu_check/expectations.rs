//! What a program's output is measured by.

/// The measure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measure {
    /// What it prints on the x86_64 device.
    Host,
    /// What it prints when LLVM's tools have built it, for this reason.
    Llvm(#[expect(dead_code, reason = "for who reads the table")] &'static str),
    /// It cannot be right on the GPU, by whichever tools it was built.
    Fault(&'static Fault),
}

/// A program that cannot be right.
#[derive(Debug)]
pub(super) struct Fault {
    program: &'static str,
    /// The versions of LLVM with the fault.
    majors: &'static [u32],
    /// Whose fault it is, and which.
    pub(super) reason: &'static str,
    /// What the program and the runtime write then.
    written: &'static [&'static str],
}

impl Fault {
    /// What is missing in what a program wrote.
    pub(super) fn difference(&self, written: &str) -> Option<&'static str> {
        self.written.iter().copied().find(|text| !written.contains(text))
    }
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

/// Programs that are wrong on the GPU. `test/virtual-gpu/lit/faults-of-llvm.test` shows the causes of those
/// that are LLVM's faults.
const FAULTS: [Fault; 4] = [
    Fault {
        program: "begin_declare_variant.cpp",
        majors: &[19, 21, 22, 23],
        reason: "it asks for the variants of processors, and the device takes those of GPUs",
        written: &["kind 1 1 named 1005 13"],
    },
    Fault {
        program: "declare_mapper.c",
        majors: &[19],
        reason: "LLVM 19's libomptarget overwrites a pointer on the device with that of the host, and leaves it so",
        written: &["illegal address: 4 bytes at"],
    },
    Fault {
        program: "indirect_vtables.cpp",
        majors: &[22],
        reason: "the device runtime of LLVM 19, which stands in for LLVM 22's, finds functions by the host's pointers, and no tables of them",
        written: &["illegal address: 8 bytes at"],
    },
    Fault {
        program: "teams_distribute.cpp",
        majors: &[19, 21, 22, 23],
        reason: "Clang gives each thread a `lastprivate` variable of its own, and has all threads copy theirs",
        written: &[
            "uninitialised bytes are stored to global memory",
            "a 64890 c 42945 teams 1 last ",
        ],
    },
];

/// Programs whose kernels read memory of the host where it is (`requires unified_shared_memory`).
pub(super) const UNIFIED: [&str; 1] = ["requires_shared_memory.c"];

/// The measure of a program that LLVM `major` has compiled.
pub(super) fn measure_of(name: &str, major: u32) -> Measure {
    let has = |fault: &&Fault| fault.program == name && fault.majors.contains(&major);
    if let Some(fault) = FAULTS.iter().find(has) {
        return Measure::Fault(fault);
    }
    let found = OF_DEVICE.iter().find(|(program, _)| *program == name);
    found.map_or(Measure::Host, |(_, reason)| Measure::Llvm(reason))
}
