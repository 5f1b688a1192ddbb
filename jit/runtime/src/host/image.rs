//! One copy of a device image: its anchors, and the code linked against them.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use offloom_abi::jit_image::{ImageAnnouncement, Slot};
use offloom_ir::orc::{Dylib, OrcError, Session};
use offloom_jit_policy::backend::Code;
use offloom_jit_policy::image::ImageCopy;
use offloom_jit_policy::process::exit_gate;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::settings;

use super::{Address, Host, perf_map};

/// What is known of a copy of a base image, beside what policy knows.
pub(crate) struct HostImage {
    /// Where its announcement is: nothing else is there as long as it is loaded.
    pub(crate) announcement: usize,
    /// Addresses of what variants share with this copy, by anchor index. In memory of our own: the copy may
    /// be unloaded while a variant is made for it.
    anchors: Vec<*const c_void>,
    /// The variants linked against this copy.
    dylib: OnceLock<Result<Dylib<'static>, OrcError>>,
}

// SAFETY: the anchors are only read, and never change after the image's relocation.
unsafe impl Send for HostImage {}
// SAFETY: as above.
unsafe impl Sync for HostImage {}

impl HostImage {
    /// A copy that was just announced.
    pub(crate) const fn new(announcement: usize, anchors: Vec<*const c_void>) -> Self {
        Self {
            announcement,
            anchors,
            dylib: OnceLock::new(),
        }
    }

    /// What variants were linked over, if any was.
    pub(crate) fn into_dylib(self) -> Option<Dylib<'static>> {
        self.dylib.into_inner()?.ok()
    }

    /// The addresses of its kernels' slots.
    pub(crate) fn slots(&self) -> Range<u64> {
        // SAFETY: the copy is loaded, as its kernels are launched; its announcement was checked when it was
        // announced.
        let announcement = unsafe { &*(self.announcement as *const ImageAnnouncement) };
        let start = announcement.slots.addr() as u64;
        start..start + u64::from(announcement.slot_count) * size_of::<Slot>() as u64
    }
}

/// Does what asks the loader, and what the first link would do else. In a constructor, which holds the
/// loader's lock: where launches link, one in another library's constructor may come to wait for a link that
/// has begun, and that must not wait for the loader.
pub(crate) fn prepare(image: &ImageCopy<Host>) {
    if let Some(_work) = exit_gate::enter() {
        // What fails is said by the first link.
        let _ = dylib(image);
    }
}

/// Links the object of a kernel's variant against a copy and returns its code. `variant` tells the kernel's
/// variants on this copy apart.
///
/// # Errors
/// What ORC or JITLink says.
pub(crate) fn link(
    image: &'static ImageCopy<Host>,
    name: &str,
    variant: usize,
    object: &[u8],
) -> Result<Code<Host>, OrcError> {
    let start = Instant::now();
    // Of its own: every variant defines the kernel's name.
    let dylib = session()?.create_dylib_over(
        &format!("{name}, variant {variant}, image copy {}", image.number),
        dylib(image)?,
    )?;
    let linked = dylib.add_object(object, name).and_then(|()| dylib.look_up(name));
    let address = match linked {
        Ok(address) => address,
        Err(error) => {
            // SAFETY: nobody was told where its code is.
            let _ = unsafe { dylib.remove() };
            return Err(error);
        }
    };
    if settings().perf {
        let label = format!(" [variant {variant}, image copy {}]", image.number);
        perf_map::add(object, name, address as u64, &label);
    }
    report::log(format_args!(
        "{name}: linked into image copy {} in {:.2} ms",
        image.number,
        start.elapsed().as_secs_f64() * 1e3
    ));
    Ok(Code {
        entry: Address(NonNull::new(address.cast_mut()).unwrap_or(NonNull::dangling())),
        loaded: dylib,
        on_gpu: None,
    })
}

fn dylib(image: &ImageCopy<Host>) -> Result<&Dylib<'static>, OrcError> {
    let dylib = image.device.dylib.get_or_init(|| create_dylib(image));
    dylib.as_ref().map_err(Clone::clone)
}

fn create_dylib(image: &ImageCopy<Host>) -> Result<Dylib<'static>, OrcError> {
    let dylib = session()?.create_dylib(&format!("image copy {} of {:p}", image.number, image.bundle))?;
    dylib.define_absolute(
        image
            .bundle
            .contents
            .anchors
            .iter()
            .copied()
            .zip(image.device.anchors.iter().copied()),
    )?;
    Ok(dylib)
}

/// The process's only ORC session, started when it is first needed.
fn session() -> Result<&'static Session, OrcError> {
    static SESSION: Mutex<Option<&'static Session>> = Mutex::new(None);
    let mut session = lock(&SESSION);
    if let Some(session) = *session {
        return Ok(session);
    }
    let started: &'static Session = Box::leak(Box::new(Session::start()?));
    *session = Some(started);
    Ok(started)
}
