//! The JIT bundle: what `wrapgen link --jit` leaves in a host program so that `liboffloom_jit.so` can compile
//! kernels.
//!
//! The bundle lies in a read-only section of the executable or shared library and is handed over, with its
//! size, before the library's images are registered with libomptarget. All numbers are little-endian; strings
//! are a 32-bit length followed by that many bytes of UTF-8, without a terminating NUL.
//!
//! | field | size | written by the link, read by the runtime |
//! | --- | --- | --- |
//! | magic | 8 | [`MAGIC`] |
//! | format version | 4 | [`VERSION`]; another version is refused |
//! | LLVM major version | 4 | the LLVM whose bitcode this is; a runtime of another LLVM refuses it |
//! | id | 16 | first bytes of BLAKE3 over everything behind this field; equal to the id that the base image announces |
//! | size | 8 | bytes of the whole bundle, this header included |
//! | optimisation level | 4 | 0 to 3: the pipeline the ahead-of-time code went through |
//! | target triple | string | of the device |
//! | kernels | 4 + kernels | the kernels that have a stub; the position is the kernel index of a [`Slot`] |
//! | anchors | 4 + strings | names by which variants refer to the base image; the position is the index in the image's anchor table |
//! | kernels left | 4 + pairs of strings | kernels that stay ahead of time, each with the reason |
//! | for a GPU | 1 (0 or 1) + fields | what compiling for the GPU takes ([`Gpu`]): processor (string), features (string), arguments of the assembler (4 + strings), the size of the device runtime's bitcode (8), and that bitcode |
//! | bitcode size | 8 | |
//! | bitcode | | the variant module, from which variants with the bits of the source are made |
//! | matched bitcode size | 8 | |
//! | matched bitcode | | the same after the early half of the ahead-of-time pipeline, for variants with its bits; ends the bundle |
//!
//! A kernel is its name, what its source says of it (a string, [`kernel_source`](crate::kernel_source)),
//! whether it has fast-math flags (1 byte: 0 or 1), the number of its parameters (4 bytes), and for each
//! [`Parameter`]: its kind (1), the size of its value (1), its uses (2), whether all of its contents are
//! there at every launch (1: 0 or 1), the number of bytes of its contents (4, at most [`MAX_CONTENTS`]), and
//! a bit for each of them, the first byte's the lowest, in as many whole bytes as that takes. After the
//! parameters follows whether the kernel says something of its launch (1: 0 or 1), and if so [`LaunchFacts`]:
//! the execution mode (1), and the other fields, 4 bytes each.
//!
//! [`Slot`]: crate::jit_image::Slot

mod section;

pub use section::{SECTION, SECTION_ALIGNMENT, bundles_in};

use crate::wire::{Damage, Fields, put_string, put_strings};

/// The first eight bytes of a bundle.
pub const MAGIC: [u8; 8] = *b"OFFLOOMJ";
/// The format version written and read by this crate.
pub const VERSION: u32 = 8;
/// The most bytes of an object that a parameter may say something of: what a launch has to read is bounded by
/// it.
pub const MAX_CONTENTS: usize = 256;
/// Bytes before the field that the id is computed over.
const ID_END: usize = 32;

/// Identity of a bundle: a hash of its contents, so that equal content has equal identity in every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct BundleId(pub [u8; 16]);

impl BundleId {
    /// The id that stands for device code whose bundle has yet to be made.
    pub fn of_bitcode(bitcode: &[u8]) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(bitcode).as_bytes()[..16]);
        Self(id)
    }
}

/// A bundle, either about to be written or read in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle<'a> {
    /// Major version of the LLVM that wrote the bitcode.
    pub llvm_major: u32,
    /// Optimisation level of the ahead-of-time code, 0 to 3.
    pub optimization_level: u32,
    /// Target triple of the device.
    pub target_triple: &'a str,
    /// Kernels that may have variants, by kernel index.
    pub kernels: Vec<Kernel<'a>>,
    /// Names by which variants refer to the base image, by anchor index.
    pub anchors: Vec<&'a str>,
    /// Kernels that stay ahead of time, each with the reason, for people.
    pub left_ahead_of_time: Vec<(&'a str, &'a str)>,
    /// What compiling for a GPU takes; `None` for a device of the host's kind.
    pub gpu: Option<Gpu<'a>>,
    /// The variant module's bitcode, as the ahead-of-time pipeline got it.
    pub bitcode: &'a [u8],
    /// The variant module's bitcode with everything decided that the bits of the ahead-of-time code depend
    /// on.
    pub matched_bitcode: &'a [u8],
}

/// What compiling variants for a GPU takes beyond the bitcode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu<'a> {
    /// The processor that the base image is for, as LLVM names it: `sm_80`. The triple stands in the bundle.
    pub processor: &'a str,
    /// Features that the base image was compiled with, in LLVM's form: `+ptx83`.
    pub features: &'a str,
    /// Arguments that the user gave for the assembler (`ptxas`), and those that debug information asks for,
    /// one word each.
    pub assembler_arguments: Vec<&'a str>,
    /// Bitcode of what the kernels call of the device runtime; to be linked to a variant once it is
    /// specialised. Empty: nothing.
    pub device_runtime: &'a [u8],
}

/// What a GPU kernel says of its launch: the fields of its environment (`KernelEnvironmentTy` of the device
/// runtime), and what the source gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchFacts {
    /// Which threads execute what.
    pub mode: ExecutionMode,
    /// The fewest threads of a team.
    pub min_threads: i32,
    /// The most threads of a team; below 1: nothing is said.
    pub max_threads: i32,
    /// The fewest teams.
    pub min_teams: i32,
    /// The most teams; below 1: nothing is said.
    pub max_teams: i32,
    /// Bytes that one team's reduction takes of the buffer that comes with a launch.
    pub reduction_data_size: i32,
    /// For how many teams there is room in that buffer; 0 where libomptarget makes room for those of the
    /// launch.
    pub reduction_buffer_length: i32,
    /// The number that the compiler notes for a `thread_limit` clause; 0: none, or one that is not known
    /// before the launch. Clang notes the target's default (128) where there is no clause.
    pub thread_limit: u32,
    /// The number of a `num_teams` clause; 0: none, or one that is not known before the launch.
    pub num_teams: u32,
}

/// Which threads of a team execute a kernel: `OMPTgtExecModeFlags` of
/// `llvm/Frontend/OpenMP/OMPDeviceConstants.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExecutionMode {
    /// One thread executes it, and has workers for parallel regions. The hardware starts a warp more than the
    /// team has threads.
    Generic = 1,
    /// All threads execute it.
    Spmd = 2,
    /// It was written for one thread, and the compiler has all threads execute it.
    GenericSpmd = 3,
}

impl ExecutionMode {
    /// The one that has this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Generic),
            2 => Some(Self::Spmd),
            3 => Some(Self::GenericSpmd),
            _ => None,
        }
    }
}

/// A kernel that may have variants. On the host it has a stub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel<'a> {
    /// Its name in the base image (on the host its stub's) and in the bitcode.
    pub name: &'a str,
    /// What its source says of it, in the text form of [`KernelSource`](crate::kernel_source::KernelSource).
    pub source: &'a str,
    /// Whether its code has instructions that LLVM may compute in more than one way (fast-math flags). Their
    /// results depend on how they are compiled, so no variant can be held to those of the ahead-of-time code.
    pub has_fast_math: bool,
    /// Its parameters, the implicit one (`dyn_ptr`) included. Each is one 8-byte word.
    pub parameters: Vec<Parameter>,
    /// What it says of its launch, on a GPU.
    pub launch: Option<LaunchFacts>,
}

/// What the link knows about one parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// What the word holds.
    pub kind: ParameterKind,
    /// Bytes of the word that the kernel looks at, 1 to 8; what lies past them is unspecified at launch.
    pub size: u8,
    /// What the kernel does with the value or, for a pointer, with what it loads from the object behind it.
    /// Specialising a parameter without uses that matter buys nothing.
    pub uses: ParameterUses,
    /// For each byte from the start of the object behind a pointer, whether the kernel provably only reads
    /// it, and makes use of it where a constant matters, so that a variant may hold it as a constant. Past
    /// the end: no.
    pub contents: Vec<bool>,
    /// Whether the kernel reads all of these bytes at every launch. If not, some may be in no memory at a
    /// launch that does not come to read them: a program may map a part of an object.
    pub contents_are_there: bool,
}

/// What a kernel's parameter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ParameterKind {
    /// The implicit parameter, the launch environment: the first, on GPUs since LLVM 23 the last. All ones on
    /// x86_64, never looked at.
    LaunchEnvironment = 0,
    /// A device pointer.
    Pointer = 1,
    /// A scalar by value.
    Scalar = 2,
}

/// What a kernel does with a parameter's value where a constant can make better code: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParameterUses(pub u16);

impl ParameterUses {
    /// Not analysed: it may be any of them.
    pub const UNKNOWN: Self = Self(u16::MAX);
    /// None that a constant would change.
    pub const NONE: Self = Self(0);
    /// It bounds a loop within the kernel's parallel loops: the trip count becomes known.
    pub const LOOP_BOUND: Self = Self(1);
    /// It is multiplied into an address, or is the step of a loop.
    pub const ADDRESS_STRIDE: Self = Self(1 << 1);
    /// It decides a branch or a selection within a loop, alone or with other arguments.
    pub const BRANCH: Self = Self(1 << 2);
    /// Integers are divided by it, or values taken modulo it, within a loop.
    pub const DIVISION: Self = Self(1 << 3);
    /// It is the number of bits of a shift within a loop.
    pub const SHIFT: Self = Self(1 << 4);
    /// It decides a `switch` within a loop.
    pub const SWITCH: Self = Self(1 << 5);
    /// It is an argument of a function of the mathematics library that is called within a loop.
    pub const MATH_CALL: Self = Self(1 << 6);
    /// Memory behind it is accessed piece by piece, and more at a time were it known to be aligned: of
    /// pointers, on NVIDIA GPUs.
    pub const WIDER_ACCESSES: Self = Self(1 << 7);

    const NAMES: [(Self, &str); 8] = [
        (Self::LOOP_BOUND, "loop bound"),
        (Self::ADDRESS_STRIDE, "address stride"),
        (Self::BRANCH, "branch"),
        (Self::DIVISION, "division or modulo"),
        (Self::SHIFT, "shift"),
        (Self::SWITCH, "switch"),
        (Self::MATH_CALL, "math call"),
        (Self::WIDER_ACCESSES, "wider accesses"),
    ];

    /// Whether a constant can make no difference.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `uses` are among these.
    pub const fn contains(self, uses: Self) -> bool {
        self.0 & uses.0 == uses.0
    }

    /// These uses and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These uses but for those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The name of each, for people.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = Self::NAMES.into_iter();
        named.filter_map(move |(one, name)| self.contains(one).then_some(name))
    }

    /// What is among these uses and those of `other` too.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Why bytes are not a bundle that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The magic bytes are missing.
    #[error("not a JIT bundle: its magic bytes are missing")]
    BadMagic,
    /// Written by another release of Offloom.
    #[error("JIT bundle format {found} is not supported, only {VERSION} is")]
    UnsupportedVersion {
        /// The version found.
        found: u32,
    },
    /// The bytes end inside a field, or go on behind the last.
    #[error("the JIT bundle is damaged: {what} at offset {offset:#x} does not fit")]
    Damaged {
        /// The field.
        what: &'static str,
        /// Its offset in the bundle, in bytes.
        offset: usize,
    },
    /// A string that is not UTF-8.
    #[error("the JIT bundle is damaged: {what} at offset {offset:#x} is not UTF-8")]
    NotUtf8 {
        /// The field.
        what: &'static str,
        /// Its offset in the bundle, in bytes.
        offset: usize,
    },
    /// The contents do not have the id that the bundle gives.
    #[error("the JIT bundle is damaged: its contents do not match its id")]
    IdMismatch,
}

impl Bundle<'_> {
    /// Writes the bundle and returns its bytes with its id.
    ///
    /// # Panics
    /// Never: lengths of strings and tables that do not fit 32 bits cannot come from a module LLVM has in
    /// memory.
    pub fn encode(&self) -> (Vec<u8>, BundleId) {
        let mut bytes = Vec::with_capacity(self.bitcode.len() + self.matched_bitcode.len() + 4096);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.llvm_major.to_le_bytes());
        bytes.extend_from_slice(&[0; 16]);
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&self.optimization_level.to_le_bytes());
        put_string(&mut bytes, self.target_triple);
        bytes.extend_from_slice(&(self.kernels.len() as u32).to_le_bytes());
        for kernel in &self.kernels {
            put_kernel(&mut bytes, kernel);
        }
        put_strings(&mut bytes, &self.anchors);
        bytes.extend_from_slice(&(self.left_ahead_of_time.len() as u32).to_le_bytes());
        for (kernel, reason) in &self.left_ahead_of_time {
            put_string(&mut bytes, kernel);
            put_string(&mut bytes, reason);
        }
        bytes.push(u8::from(self.gpu.is_some()));
        if let Some(gpu) = &self.gpu {
            put_gpu(&mut bytes, gpu);
        }
        for bitcode in [self.bitcode, self.matched_bitcode] {
            bytes.extend_from_slice(&(bitcode.len() as u64).to_le_bytes());
            bytes.extend_from_slice(bitcode);
        }
        let size = bytes.len() as u64;
        bytes[ID_END..ID_END + 8].copy_from_slice(&size.to_le_bytes());
        let id = id_of(&bytes);
        bytes[16..ID_END].copy_from_slice(&id.0);
        (bytes, id)
    }
}

impl<'a> Bundle<'a> {
    /// What variants are compiled from: `match_floating_point` asks for the bits that the ahead-of-time code
    /// gives.
    pub const fn bitcode_of_variants(&self, match_floating_point: bool) -> &'a [u8] {
        if match_floating_point {
            self.matched_bitcode
        } else {
            self.bitcode
        }
    }

    /// Reads a bundle in place. Nothing is copied but the two tables of names. The id is not checked against
    /// the contents (see [`verify`](Self::verify)): that would read all of the bitcode at every start of a
    /// program.
    ///
    /// # Errors
    /// When the bytes are not a whole bundle of this format version. The LLVM version is the caller's to
    /// compare.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, BundleId), BundleError> {
        let mut fields = Fields::new(bytes);
        if fields.array::<8>("the magic").ok() != Some(MAGIC) {
            return Err(BundleError::BadMagic);
        }
        let found = fields.u32("the format version")?;
        if found != VERSION {
            return Err(BundleError::UnsupportedVersion { found });
        }
        let llvm_major = fields.u32("the LLVM version")?;
        let id = BundleId(fields.array("the id")?);
        let size_offset = fields.offset();
        if fields.u64("the size")? != bytes.len() as u64 {
            return Err(Damage::at("the size", size_offset).into());
        }
        let optimization_level = fields.u32("the optimisation level")?;
        if optimization_level > 3 {
            return Err(Damage::at("the optimisation level", fields.offset() - 4).into());
        }
        let target_triple = fields.string("the target triple")?;
        let kernels = fields.table("the kernels", |fields| {
            Ok(Kernel {
                name: fields.string("a kernel name")?,
                source: fields.string("a kernel's source")?,
                has_fast_math: flag(fields, "whether a kernel has fast-math flags")?,
                parameters: fields.table("a kernel's parameters", parameter)?,
                launch: optional(
                    fields,
                    "whether a kernel says something of its launch",
                    launch_facts,
                )?,
            })
        })?;
        let anchors = fields.strings("an anchor name")?;
        let left_ahead_of_time = fields.table("the kernels left ahead of time", |fields| {
            Ok((
                fields.string("a kernel left ahead of time")?,
                fields.string("why a kernel is left ahead of time")?,
            ))
        })?;
        let gpu = optional(&mut fields, "whether it is for a GPU", gpu)?;
        let bitcode = sized(&mut fields, "the bitcode")?;
        let matched_bitcode = sized(&mut fields, "the matched bitcode")?;
        if !fields.rest().is_empty() {
            return Err(Damage::at("the end", fields.offset()).into());
        }
        let bundle = Self {
            llvm_major,
            optimization_level,
            target_triple,
            kernels,
            anchors,
            left_ahead_of_time,
            gpu,
            bitcode,
            matched_bitcode,
        };
        Ok((bundle, id))
    }

    /// Reads a bundle and checks that its contents have its id.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and [`BundleError::IdMismatch`].
    pub fn verify(bytes: &'a [u8]) -> Result<(Self, BundleId), BundleError> {
        let (bundle, id) = Self::parse(bytes)?;
        if id_of(bytes) != id {
            return Err(BundleError::IdMismatch);
        }
        Ok((bundle, id))
    }
}

fn id_of(bytes: &[u8]) -> BundleId {
    // The LLVM version stands before the id and is part of what makes bundles differ.
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[12..16]);
    hasher.update(&bytes[ID_END..]);
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    BundleId(id)
}

/// Bytes with their number, in 8 bytes, before them.
fn sized<'a>(fields: &mut Fields<'a>, what: &'static str) -> Result<&'a [u8], Damage> {
    let offset = fields.offset();
    let size = fields.u64(what)?;
    let size = usize::try_from(size).map_err(|_| Damage::at(what, offset))?;
    fields.take(size, what)
}

fn put_kernel(bytes: &mut Vec<u8>, kernel: &Kernel<'_>) {
    put_string(bytes, kernel.name);
    put_string(bytes, kernel.source);
    bytes.push(u8::from(kernel.has_fast_math));
    bytes.extend_from_slice(&(kernel.parameters.len() as u32).to_le_bytes());
    for parameter in &kernel.parameters {
        bytes.extend_from_slice(&[parameter.kind as u8, parameter.size]);
        bytes.extend_from_slice(&parameter.uses.0.to_le_bytes());
        bytes.push(u8::from(parameter.contents_are_there));
        let contents = &parameter.contents[..parameter.contents.len().min(MAX_CONTENTS)];
        bytes.extend_from_slice(&(contents.len() as u32).to_le_bytes());
        let bits = |eight: &[bool]| (0..).zip(eight).map(|(bit, &on)| u8::from(on) << bit).sum::<u8>();
        bytes.extend(contents.chunks(8).map(bits));
    }
    bytes.push(u8::from(kernel.launch.is_some()));
    if let Some(launch) = &kernel.launch {
        put_launch_facts(bytes, launch);
    }
}

fn put_launch_facts(bytes: &mut Vec<u8>, launch: &LaunchFacts) {
    bytes.push(launch.mode as u8);
    for number in [
        launch.min_threads,
        launch.max_threads,
        launch.min_teams,
        launch.max_teams,
        launch.reduction_data_size,
        launch.reduction_buffer_length,
    ] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [launch.thread_limit, launch.num_teams] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn launch_facts(fields: &mut Fields<'_>) -> Result<LaunchFacts, Damage> {
    let offset = fields.offset();
    let [mode] = fields.array("a kernel's execution mode")?;
    let mode = ExecutionMode::from_number(mode).ok_or(Damage::at("a kernel's execution mode", offset))?;
    let mut signed = || {
        let bytes = fields.array("a number of a kernel's launch")?;
        Ok(i32::from_le_bytes(bytes))
    };
    Ok(LaunchFacts {
        mode,
        min_threads: signed()?,
        max_threads: signed()?,
        min_teams: signed()?,
        max_teams: signed()?,
        reduction_data_size: signed()?,
        reduction_buffer_length: signed()?,
        thread_limit: fields.u32("a kernel's thread limit")?,
        num_teams: fields.u32("a kernel's number of teams")?,
    })
}

fn put_gpu(bytes: &mut Vec<u8>, gpu: &Gpu<'_>) {
    put_string(bytes, gpu.processor);
    put_string(bytes, gpu.features);
    put_strings(bytes, &gpu.assembler_arguments);
    bytes.extend_from_slice(&(gpu.device_runtime.len() as u64).to_le_bytes());
    bytes.extend_from_slice(gpu.device_runtime);
}

fn gpu<'a>(fields: &mut Fields<'a>) -> Result<Gpu<'a>, Damage> {
    Ok(Gpu {
        processor: fields.string("the processor")?,
        features: fields.string("the features")?,
        assembler_arguments: fields.strings("an argument of the assembler")?,
        device_runtime: sized(fields, "the device runtime")?,
    })
}

/// What is there or not, as the byte before it says.
fn optional<'a, T>(
    fields: &mut Fields<'a>,
    what: &'static str,
    read: impl FnOnce(&mut Fields<'a>) -> Result<T, Damage>,
) -> Result<Option<T>, Damage> {
    match flag(fields, what)? {
        true => read(fields).map(Some),
        false => Ok(None),
    }
}

fn flag(fields: &mut Fields<'_>, what: &'static str) -> Result<bool, Damage> {
    let offset = fields.offset();
    match fields.array(what)? {
        [0] => Ok(false),
        [1] => Ok(true),
        [_] => Err(Damage::at(what, offset)),
    }
}

fn parameter(fields: &mut Fields<'_>) -> Result<Parameter, Damage> {
    let offset = fields.offset();
    let [kind, size, uses @ ..] = fields.array::<4>("a parameter")?;
    let kind = match kind {
        0 => ParameterKind::LaunchEnvironment,
        1 => ParameterKind::Pointer,
        2 => ParameterKind::Scalar,
        _ => return Err(Damage::at("a parameter's kind", offset)),
    };
    if !(1..=8).contains(&size) {
        return Err(Damage::at("a parameter's size", offset + 1));
    }
    let contents_are_there = flag(fields, "whether a parameter's contents are there")?;
    let count = fields.u32("the size of a parameter's contents")? as usize;
    if count > MAX_CONTENTS {
        return Err(Damage::at("the size of a parameter's contents", offset + 5));
    }
    let bits = fields.take(count.div_ceil(8), "a parameter's contents")?;
    Ok(Parameter {
        kind,
        size,
        uses: ParameterUses(u16::from_le_bytes(uses)),
        contents: (0..count)
            .map(|byte| bits[byte / 8] >> (byte % 8) & 1 == 1)
            .collect(),
        contents_are_there,
    })
}

impl From<Damage> for BundleError {
    fn from(damage: Damage) -> Self {
        let Damage { what, offset, .. } = damage;
        if damage.not_utf8 {
            Self::NotUtf8 { what, offset }
        } else {
            Self::Damaged { what, offset }
        }
    }
}

#[cfg(test)]
mod tests;
