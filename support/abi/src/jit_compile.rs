//! What `liboffloom_jit.so` and its worker process say to each other: compile requests and replies.
//!
//! Each message begins with a [`Header`]. A worker of other sources, where a package is replaced under a
//! running program, is recognised by what its replies say.

use std::ops::Add;

use crate::jit_base_image::BaseImageRequest;
use crate::jit_bundle::ExecutionMode;
use crate::jit_message::{BASE_IMAGE_REQUEST, Header, KERNEL_REQUEST, MessageError, put_header};
use crate::wire::{Damage, Fields, put_run, put_string};

/// How the worker process's file is called; it is installed in `libexec/offloom`.
pub const WORKER_NAME: &str = "offloom-jit-worker";

/// File name of the program that assembles by nvJitLink where there is no `ptxas`, which is called alike.
pub const ASSEMBLER_NAME: &str = "offloom-jit-ptxas";
/// How the linker of images is called; it is installed beside the worker.
pub const LINKER_NAME: &str = "wrapgen-lld";

/// Which processor time a worker process takes for its compiles. The process is started with the number of
/// one, and keeps it: who has no special rights can make a thread less urgent, and never more urgent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// As the program's threads: one of them waits.
    Program = 0,
    /// What nobody else wants (`SCHED_IDLE`). A compile that gets hardly any is given up
    /// ([`Reply::Starved`]).
    Idle = 1,
    /// A few per cent of a processor that others want as well, by niceness: however busy they are, the
    /// compile ends.
    Share = 2,
}

impl Priority {
    /// The one that has this number.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Program),
            1 => Some(Self::Idle),
            2 => Some(Self::Share),
            _ => None,
        }
    }

    /// How many times the deadline of a work fits into the real time that it may take. Beside the program the
    /// deadline is one of processor time. A compile that was starved is tried once more; a claim on what is
    /// compiled is good for longer than both tries (`Settings::claim_limit`).
    pub const fn patience(self) -> u32 {
        match self {
            Self::Program => 1,
            Self::Idle | Self::Share => 4,
        }
    }
}

/// What the worker is asked for: the 32-bit kind of a request, and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work<'a> {
    /// Code for one kernel.
    Kernel(Request<'a>),
    /// A base image and its bundle; the reply's object holds a
    /// [`BaseImage`](crate::jit_base_image::BaseImage).
    BaseImage(BaseImageRequest<'a>),
}

impl<'a> Work<'a> {
    /// Reads a request from the bytes behind its header.
    ///
    /// # Errors
    /// When a field does not fit.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let mut fields = Fields::new(bytes);
        match fields.u32("the kind of request")? {
            KERNEL_REQUEST => Ok(Self::Kernel(Request::read(&mut fields)?)),
            BASE_IMAGE_REQUEST => Ok(Self::BaseImage(BaseImageRequest::read(&mut fields)?)),
            _ => Err(Damage::at("the kind of request", 0).into()),
        }
    }

    /// How long it may take, in milliseconds (see [`Priority::patience`]).
    pub const fn deadline(&self) -> u32 {
        match self {
            Self::Kernel(request) => request.deadline,
            Self::BaseImage(request) => request.deadline,
        }
    }
}

/// What to compile, for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Target triple of the device.
    pub target_triple: &'a str,
    /// Optimisation level of the ahead-of-time code, 0 to 3.
    pub optimization_level: u32,
    /// The processor to compile for; empty: the one that the ahead-of-time code was made for.
    pub processor: &'a str,
    /// Features of that processor in LLVM's form (`+avx2,-avx512f`).
    pub features: &'a str,
    /// The kernel's name.
    pub kernel: &'a str,
    /// The launch descriptor in its text form: what the kernel is specialised to; empty: nothing.
    pub descriptor: &'a str,
    /// Whether the variant must give the bits that the ahead-of-time code gives.
    pub match_floating_point: bool,
    /// How long the compile may take, in milliseconds.
    pub deadline: u32,
    /// What compiling for a GPU takes more; `None`: the object is one for the host's kind of processor. The
    /// reply's object is a cubin.
    pub gpu: Option<GpuRequest<'a>>,
    /// The module to compile from.
    pub bitcode: &'a [u8],
}

/// What compiling a kernel for an NVIDIA GPU takes beyond the rest. Grid and block are the descriptor's
/// `teams` and `threads`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuRequest<'a> {
    /// Path of the program that assembles PTX, `ptxas`.
    pub assembler: &'a str,
    /// More arguments for it: words, each with a NUL behind it ([`words`], [`join_words`]).
    pub assembler_arguments: &'a str,
    /// The execution mode in the base image's environment of the kernel, by which it is launched
    /// ([`execution_mode_in`](crate::jit_device_image::execution_mode_in)): the variant has the same, or
    /// there is none.
    pub mode: ExecutionMode,
    /// The number of the bundle's anchors, which is that of the addresses in the variant's anchor table.
    pub anchor_count: u32,
    /// The device runtime's bitcode ([`Gpu::device_runtime`](crate::jit_bundle::Gpu::device_runtime)).
    pub device_runtime: &'a [u8],
}

/// Words as one string, each with a NUL behind it. A word ends at a NUL of its own.
pub fn join_words<'w>(all: impl IntoIterator<Item = &'w str>) -> String {
    let until_nul = |word: &'w str| word.split('\0').next().unwrap_or_default();
    all.into_iter().flat_map(|word| [until_nul(word), "\0"]).collect()
}

/// The words of such a string.
pub fn words(joined: &str) -> impl Iterator<Item = &str> {
    joined.split_terminator('\0')
}

/// What the assembler says of a GPU kernel's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuResources {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack frame, which is local memory.
    pub stack_frame: u32,
    /// Bytes stored to local memory for want of registers, summed over the code.
    pub spill_stores: u32,
    /// Bytes loaded back.
    pub spill_loads: u32,
    /// Bytes of a block's static shared memory.
    pub shared_memory: u32,
    /// Bytes of constant memory, the parameters included.
    pub constant_memory: u32,
}

/// How long each phase of a compile took, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases {
    /// Reading the bitcode and cutting it down to the kernel.
    pub parse: u32,
    /// Specialising the kernel.
    pub specialize: u32,
    /// LLVM's passes.
    pub optimize: u32,
    /// LLVM's code generator.
    pub generate: u32,
    /// The assembler, where it is a program of its own (`ptxas`).
    pub assemble: u32,
}

impl Add for Phases {
    type Output = Self;

    /// How long both took.
    fn add(self, other: Self) -> Self {
        Self {
            parse: self.parse.saturating_add(other.parse),
            specialize: self.specialize.saturating_add(other.specialize),
            optimize: self.optimize.saturating_add(other.optimize),
            generate: self.generate.saturating_add(other.generate),
            assemble: self.assemble.saturating_add(other.assemble),
        }
    }
}

/// How a compile ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// What was asked for.
    Object {
        /// The bytes: of a kernel, a relocatable object without addresses, or for a GPU a cubin.
        object: Vec<u8>,
        /// How long it took.
        phases: Phases,
        /// What the code takes of a GPU; `None` for the host's kind of processor.
        resources: Option<GpuResources>,
    },
    /// There is none, and would be none at another try.
    Failure {
        /// One line on why.
        reason: String,
        /// Whether the worker ends after this reply, because it lost a thread over the compile.
        last: bool,
    },
    /// The worker lacks what it takes to try: a thread, the linker.
    Unable {
        /// One line on what it lacks.
        reason: String,
    },
    /// The work was given up, and the worker ends: at [`Priority::Idle`] it got hardly any processor time.
    Starved,
}

impl<'a> Request<'a> {
    /// Header and bytes up to the bitcode; the bitcode itself follows. Apart, so that it need not be copied.
    pub fn encode_head(&self) -> Vec<u8> {
        let mut bytes = vec![0; Header::SIZE];
        bytes.extend_from_slice(&KERNEL_REQUEST.to_le_bytes());
        for string in [
            self.target_triple,
            self.processor,
            self.features,
            self.kernel,
            self.descriptor,
        ] {
            put_string(&mut bytes, string);
        }
        for number in [
            self.optimization_level,
            u32::from(self.match_floating_point),
            self.deadline,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&u32::from(self.gpu.is_some()).to_le_bytes());
        if let Some(gpu) = &self.gpu {
            put_string(&mut bytes, gpu.assembler);
            put_string(&mut bytes, gpu.assembler_arguments);
            for number in [gpu.mode as u32, gpu.anchor_count] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            put_run(&mut bytes, gpu.device_runtime);
        }
        put_header(&mut bytes, self.bitcode.len());
        bytes
    }

    /// Reads a request from the bytes behind its kind.
    fn read(fields: &mut Fields<'a>) -> Result<Self, MessageError> {
        Ok(Self {
            target_triple: fields.string("the target triple")?,
            processor: fields.string("the processor")?,
            features: fields.string("the features")?,
            kernel: fields.string("the kernel")?,
            descriptor: fields.string("the descriptor")?,
            optimization_level: fields.u32("the optimisation level")?,
            match_floating_point: fields.u32("the floating-point mode")? != 0,
            deadline: fields.u32("the deadline")?,
            gpu: match fields.u32("whether it is for a GPU")? {
                0 => None,
                _ => Some(GpuRequest::read(fields)?),
            },
            bitcode: fields.rest(),
        })
    }
}

impl<'a> GpuRequest<'a> {
    fn read(fields: &mut Fields<'a>) -> Result<Self, MessageError> {
        let assembler = fields.string("the assembler")?;
        let assembler_arguments = fields.string("the assembler's arguments")?;
        let offset = fields.offset();
        let mode = fields.u32("the execution mode")?;
        let mode = u8::try_from(mode).ok().and_then(ExecutionMode::from_number);
        Ok(Self {
            assembler,
            assembler_arguments,
            mode: mode.ok_or(Damage::at("the execution mode", offset))?,
            anchor_count: fields.u32("the number of anchors")?,
            device_runtime: fields.run("the device runtime")?,
        })
    }
}

impl GpuResources {
    /// The numbers, in the order in which a reply has them.
    const fn numbers(self) -> [u32; 6] {
        [
            self.registers,
            self.stack_frame,
            self.spill_stores,
            self.spill_loads,
            self.shared_memory,
            self.constant_memory,
        ]
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, Damage> {
        let mut number = || fields.u32("what the code takes of a GPU");
        Ok(Self {
            registers: number()?,
            stack_frame: number()?,
            spill_stores: number()?,
            spill_loads: number()?,
            shared_memory: number()?,
            constant_memory: number()?,
        })
    }
}

impl Reply {
    /// The whole message, from a worker that was built of the sources of this name.
    pub fn encode(&self, sources: &str) -> Vec<u8> {
        let mut bytes = vec![0; Header::SIZE];
        put_string(&mut bytes, sources);
        match self {
            Self::Object {
                object,
                phases,
                resources,
            } => {
                let Phases {
                    parse,
                    specialize,
                    optimize,
                    generate,
                    assemble,
                } = *phases;
                let times = [1, parse, specialize, optimize, generate, assemble];
                let of_gpu = resources.map(GpuResources::numbers);
                let is_of_gpu = u32::from(of_gpu.is_some());
                for number in times
                    .into_iter()
                    .chain([is_of_gpu])
                    .chain(of_gpu.into_iter().flatten())
                {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
                bytes.extend_from_slice(object);
            }
            Self::Failure { reason, last } => {
                bytes.extend_from_slice(&if *last { 2u32 } else { 0 }.to_le_bytes());
                bytes.extend_from_slice(reason.as_bytes());
            }
            Self::Unable { reason } => {
                bytes.extend_from_slice(&3u32.to_le_bytes());
                bytes.extend_from_slice(reason.as_bytes());
            }
            Self::Starved => bytes.extend_from_slice(&4u32.to_le_bytes()),
        }
        put_header(&mut bytes, 0);
        bytes
    }

    /// Reads a reply from the bytes behind its header, and the name of the sources that the worker was built
    /// of.
    ///
    /// # Errors
    /// When a field does not fit.
    pub fn parse(bytes: &[u8]) -> Result<(&str, Self), MessageError> {
        let mut fields = Fields::new(bytes);
        let sources = fields.string("the worker's sources")?;
        let reply = match fields.u32("the kind of reply")? {
            kind @ (0 | 2) => Self::Failure {
                reason: String::from_utf8_lossy(fields.rest()).into_owned(),
                last: kind == 2,
            },
            1 => {
                let phases = Phases {
                    parse: fields.u32("a time")?,
                    specialize: fields.u32("a time")?,
                    optimize: fields.u32("a time")?,
                    generate: fields.u32("a time")?,
                    assemble: fields.u32("a time")?,
                };
                let resources = match fields.u32("whether it is for a GPU")? {
                    0 => None,
                    _ => Some(GpuResources::read(&mut fields)?),
                };
                Self::Object {
                    object: fields.rest().to_vec(),
                    phases,
                    resources,
                }
            }
            3 => Self::Unable {
                reason: String::from_utf8_lossy(fields.rest()).into_owned(),
            },
            4 => Self::Starved,
            _ => return Err(Damage::at("the kind of reply", 0).into()),
        };
        Ok((sources, reply))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn behind_header(message: &[u8]) -> &[u8] {
        let mut header = [0; Header::SIZE];
        header.copy_from_slice(&message[..Header::SIZE]);
        let rest = &message[Header::SIZE..];
        assert_eq!(Header::parse(header).unwrap().length, rest.len() as u64);
        rest
    }

    proptest! {
        #[test]
        fn requests_are_read_as_written(
            strings in prop::array::uniform5(".{0,20}"),
            numbers in any::<(u32, bool, u32)>(),
            bitcode in prop::collection::vec(any::<u8>(), 0..100),
            gpu in prop::option::of((".{0,20}", prop::collection::vec("[^\0]{0,9}", 0..4), any::<(bool, u32)>())),
        ) {
            let arguments = gpu.iter().flat_map(|(_, arguments, _)| arguments).map(String::as_str);
            let joined = join_words(arguments.clone());
            prop_assert!(words(&joined).eq(arguments));
            let request = Request {
                target_triple: &strings[0],
                optimization_level: numbers.0,
                processor: &strings[1],
                features: &strings[2],
                kernel: &strings[3],
                descriptor: &strings[4],
                match_floating_point: numbers.1,
                deadline: numbers.2,
                gpu: gpu.as_ref().map(|(assembler, _, (is_spmd, anchor_count))| GpuRequest {
                    assembler,
                    assembler_arguments: &joined,
                    mode: if *is_spmd { ExecutionMode::Spmd } else { ExecutionMode::Generic },
                    anchor_count: *anchor_count,
                    device_runtime: &bitcode,
                }),
                bitcode: &bitcode,
            };
            let message = [request.encode_head(), bitcode.clone()].concat();
            prop_assert_eq!(Work::parse(behind_header(&message)), Ok(Work::Kernel(request)));
        }

        #[test]
        fn replies_are_read_as_written(
            object in prop::collection::vec(any::<u8>(), 0..100),
            times in any::<[u32; 5]>(),
            taken in prop::option::of(any::<[u32; 6]>()),
            reason in ".{0,40}",
            last in any::<bool>(),
            sources in "[0-9a-f]{16}",
        ) {
            let [parse, specialize, optimize, generate, assemble] = times;
            let phases = Phases { parse, specialize, optimize, generate, assemble };
            let resources = taken.map(|[registers, stack_frame, spill_stores, spill_loads, shared_memory, constant_memory]| GpuResources {
                registers, stack_frame, spill_stores, spill_loads, shared_memory, constant_memory,
            });
            let unable = Reply::Unable { reason: reason.clone() };
            for reply in [Reply::Object { object, phases, resources }, Reply::Failure { reason, last }, unable, Reply::Starved] {
                let message = reply.encode(&sources);
                prop_assert_eq!(Reply::parse(behind_header(&message)), Ok((sources.as_str(), reply)));
            }
        }

        #[test]
        fn hostile_bytes_give_errors(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // They must come back, whatever they answer.
            let _ = Work::parse(&bytes);
            let _ = Reply::parse(&bytes);
        }
    }
}
