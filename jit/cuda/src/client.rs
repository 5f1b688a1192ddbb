//! What decides about launches: the JIT's policy, or a test.

use std::ffi::CStr;
use std::sync::OnceLock;

use crate::context::Current;
use crate::error::CudaError;
use crate::handles::StreamHandle;
use crate::image::{ImageCopy, Kernel};
use crate::variant::Variant;

/// A launch that is about to be made, on the launching thread.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel that the program launches.
    pub kernel: &'static Kernel,
    /// One word for each of its parameters, with zeros above the parameter's bytes.
    pub words: &'a [u64],
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Bytes of shared memory beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// Where it is launched.
    pub stream: StreamHandle,
}

/// What is launched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// A variant of this kernel in this image copy; none: the program's own.
    pub variant: Option<&'static Variant>,
    /// What [`Client::finished`] is told when it is known how long the launch took; 0: nothing is timed.
    pub ticket: u64,
}

impl Choice {
    /// The program's own kernel.
    pub const BASE: Self = Self {
        variant: None,
        ticket: 0,
    };
}

/// What a client keeps for a kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KernelData {
    /// What [`Kernel::data`] is to be.
    pub data: usize,
    /// How many parameters it has.
    pub parameters: usize,
}

/// What became of a launch with a ticket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The device took so many nanoseconds, from the end of what came before on its stream.
    Took(u64),
    /// As [`Took`](Self::Took), and launches on other streams of the context were timed at the same time: it
    /// may hold what those took.
    TookBesideOthers(u64),
    /// That is not known: no events were free, or the launch failed; or it was the first of its variant, and
    /// short, which is slower than later ones.
    NotTimed,
}

/// Decides about launches. All is called on threads of the program, unless it says otherwise.
pub trait Client: Sync {
    /// A module was loaded: whether it is one whose launches are to be asked about. Its context is current.
    /// `file` is what it was loaded from, if that is known.
    fn adopt(&self, image: &'static ImageCopy, file: Option<&[u8]>, current: &Current<'_>) -> bool;

    /// A kernel of an image copy that was adopted, when the program first asks for it: what is kept for it.
    /// `None`: its launches are not asked about.
    fn kernel(&self, image: &'static ImageCopy, name: &CStr) -> Option<KernelData>;

    /// What a launch runs, where that is decided for good: it is not timed, and its code stays as long as the
    /// image copy, also for a graph that the launch may become a part of. To be quick, and without locks.
    fn settled(&self, launch: &Launch<'_>) -> Option<Choice>;

    /// What a launch runs that is not [settled](Self::settled). It is no part of a graph.
    fn choose(&self, launch: &Launch<'_>) -> Choice;

    /// What became of a launch that was chosen with this ticket: once for each, on whatever thread.
    fn finished(&self, kernel: &'static Kernel, ticket: u64, outcome: Outcome);

    /// The driver refused to launch a variant, and has launched the program's own kernel in its place.
    fn refused(&self, kernel: &'static Kernel, variant: &'static Variant, error: CudaError);

    /// The program unloads an image copy. Nothing launches its kernels any more, and no variant of it is
    /// being loaded. They are all unloaded afterwards.
    fn withdraw(&self, image: &'static ImageCopy);
}

static CLIENT: OnceLock<&'static dyn Client> = OnceLock::new();

/// The client, once there is one.
#[inline]
pub(crate) fn client() -> Option<&'static dyn Client> {
    CLIENT.get().copied()
}

/// Sets the client. The first one stays.
pub(crate) fn set(client: &'static dyn Client) {
    CLIENT.get_or_init(|| client);
}
