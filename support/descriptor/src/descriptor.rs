//! The descriptor of a launch, and what it says of an argument.

use crate::{Alignment, Contents, Scalar};

/// The most arguments that a descriptor may have. No kernel comes near; a hostile text must not reserve
/// memory.
pub const MAX_ARGUMENTS: usize = 1024;

/// What one variant of a kernel is specialised to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// The kernel's name as in the device image.
    pub kernel: String,
    /// The device architecture as LLVM names processors: `x86-64`, `sm_90`, `gfx90a`.
    pub architecture: String,
    /// What is known of each argument, in the order of the kernel's parameters (the implicit ones included).
    /// Parameters past the end are [`Argument::Any`].
    pub arguments: Vec<Argument>,
    /// Number of teams, where the code may rely on it.
    pub teams: Option<u32>,
    /// Number of threads in a team, where the code may rely on it.
    pub threads: Option<u32>,
}

/// What is known of one kernel argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Argument {
    /// Nothing: the code is right for every value.
    Any,
    /// A scalar has this value. Pointer parameters that carry a literal take it too, as
    /// [`ScalarType::Integer`](crate::ScalarType::Integer) of 64 bits.
    Value(Scalar),
    /// A small object passed by value has these bytes.
    Bytes(Vec<u8>),
    /// Something is known of a pointer.
    Pointer(Pointer),
}

/// What is known of a pointer: at least one of its two fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pointer {
    alignment: Option<Alignment>,
    contents: Option<Contents>,
}

impl Argument {
    /// A pointer argument of which this is known; [`Argument::Any`] where that is nothing.
    pub fn pointer(alignment: Option<Alignment>, contents: Option<Contents>) -> Self {
        let contents = contents.filter(|contents| !contents.is_unknown());
        if alignment.is_none() && contents.is_none() {
            return Self::Any;
        }
        Self::Pointer(Pointer { alignment, contents })
    }

    /// Whether anything is said of the argument.
    pub const fn is_specialized(&self) -> bool {
        !matches!(self, Self::Any)
    }

    /// Whether code specialised to `self` is right for a launch of which exactly `launch` is known.
    pub fn is_right_for(&self, launch: &Self) -> bool {
        match (self, launch) {
            (Self::Any, _) => true,
            (Self::Pointer(code), Self::Pointer(launch)) => {
                // `None` is below every alignment.
                let aligned = code.alignment <= launch.alignment;
                let same = code.contents.as_ref().is_none_or(|code| {
                    launch
                        .contents
                        .as_ref()
                        .is_some_and(|launch| code.is_right_for(launch))
                });
                aligned && same
            }
            _ => self == launch,
        }
    }
}

impl Pointer {
    /// The alignment the code may rely on; none beyond what the kernel declares.
    pub const fn alignment(&self) -> Option<Alignment> {
        self.alignment
    }

    /// What the object holds when the kernel starts, where that is known.
    pub const fn contents(&self) -> Option<&Contents> {
        self.contents.as_ref()
    }
}

impl Descriptor {
    /// The descriptor of code that is specialised to nothing.
    pub fn unspecialized(kernel: &str, architecture: &str) -> Self {
        Self {
            kernel: kernel.to_owned(),
            architecture: architecture.to_owned(),
            arguments: Vec::new(),
            teams: None,
            threads: None,
        }
    }

    /// What is known of the argument at `index`.
    pub fn argument(&self, index: usize) -> &Argument {
        self.arguments.get(index).unwrap_or(&Argument::Any)
    }

    /// Whether code made for `self` is right for the launch that `launch` describes: same kernel and
    /// architecture, and all that the code relies on holds (the JIT paper's conditions for reuse, widened to
    /// code that relies on less).
    pub fn is_right_for(&self, launch: &Self) -> bool {
        self.kernel == launch.kernel
            && self.architecture == launch.architecture
            && (self.teams.is_none() || self.teams == launch.teams)
            && (self.threads.is_none() || self.threads == launch.threads)
            && self
                .arguments
                .iter()
                .enumerate()
                .all(|(index, argument)| argument.is_right_for(launch.argument(index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(text: &str) -> Descriptor {
        format!("kernel=k;arch=x86-64;{text}").parse().unwrap()
    }

    #[test]
    fn pointers_that_differ_only_within_an_alignment_class_have_equal_descriptors() {
        let with = |address| Descriptor {
            arguments: vec![Argument::pointer(Alignment::of(address), None)],
            ..Descriptor::unspecialized("k", "x86-64")
        };
        assert_eq!(with(0x1230), with(0x4510));
        // The JIT paper's example: both are aligned to 16 bytes, though the second is aligned to 32 as well.
        assert_ne!(with(0x1230), with(0x4560));
        assert!(with(0x1230).is_right_for(&with(0x4560)));
        assert!(!with(0x4560).is_right_for(&with(0x1230)));
    }

    #[test]
    fn code_is_right_for_launches_of_which_at_least_as_much_is_known() {
        let launch = descriptor("0=i32:7;1=align:64+contents:0102;2=bytes:aa;teams=4;threads=2");
        for code in [
            "",
            "0=i32:7",
            "1=align:64",
            "1=align:8",
            "1=contents:0102",
            "1=contents:??02",
            "2=bytes:aa",
            "teams=4",
            "threads=2",
            "0=i32:7;1=align:64+contents:0102;2=bytes:aa;teams=4;threads=2",
        ] {
            assert!(descriptor(code).is_right_for(&launch), "{code}");
        }
        for code in [
            "0=i32:8",
            "0=i64:7",
            "0=align:8",
            "1=align:128",
            "1=contents:0103",
            "1=contents:010200",
            "1=i64:0",
            "2=bytes:ab",
            "3=i32:0",
            "teams=3",
            "threads=1",
        ] {
            assert!(!descriptor(code).is_right_for(&launch), "{code}");
        }
        let other_kernel = Descriptor::unspecialized("l", "x86-64");
        let other_architecture = Descriptor::unspecialized("k", "x86-64-v3");
        assert!(!other_kernel.is_right_for(&launch));
        assert!(!other_architecture.is_right_for(&launch));
    }

    #[test]
    fn a_pointer_of_which_nothing_is_known_is_any() {
        assert_eq!(Argument::pointer(None, None), Argument::Any);
        assert_eq!(
            Argument::pointer(None, Some(Contents::new([None, None]))),
            Argument::Any
        );
    }
}
