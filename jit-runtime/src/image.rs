//! One copy of a device image: its anchors, and the code linked against them.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use offloom_abi::jit_image::{ImageAnnouncement, Slot};
use offloom_ir::orc::{Dylib, OrcError, Session};

use crate::bundle::AttachedBundle;
use crate::exit_gate;
use crate::lock::lock;
use crate::perf_map;
use crate::report;
use crate::settings::settings;
use crate::variant::{LinkedCode, Variant};

/// One copy of a base image: what libomptarget loaded for one device.
pub(crate) struct ImageCopy {
    /// The bundle it was linked with.
    pub(crate) bundle: &'static AttachedBundle,
    /// Its number among the copies of this image, from 0.
    pub(crate) number: u32,
    /// Where its announcement is: nothing else is there as long as it is loaded.
    pub(crate) announcement: usize,
    /// Addresses of what variants share with this copy, by anchor index. In memory of our own: the copy may be unloaded while a
    /// variant is made for it.
    anchors: Vec<*const c_void>,
    /// The variants linked against this copy.
    dylib: OnceLock<Result<Dylib<'static>, OrcError>>,
    /// All of them, retired ones too.
    variants: Mutex<Vec<&'static Variant>>,
    withdrawn: AtomicBool,
}

// SAFETY: the anchors are only read, and never change after the image's relocation.
unsafe impl Send for ImageCopy {}
// SAFETY: as above.
unsafe impl Sync for ImageCopy {}

impl ImageCopy {
    /// Describes a copy that was just announced.
    pub(crate) fn new(
        bundle: &'static AttachedBundle,
        announcement: usize,
        anchors: Vec<*const c_void>,
    ) -> Self {
        Self {
            bundle,
            announcement,
            number: bundle.number_copy(),
            anchors,
            dylib: OnceLock::new(),
            variants: Mutex::default(),
            withdrawn: AtomicBool::new(false),
        }
    }

    /// Does what asks the loader, and what the first link would do else. In a constructor, which holds the loader's lock: where launches
    /// link, one in another library's constructor may come to wait for a link that has begun, and that must not wait for the loader.
    pub(crate) fn prepare(&self) {
        if let Some(_work) = exit_gate::enter() {
            // What fails is said by the first link.
            let _ = self.dylib();
        }
    }

    /// Links the object of a kernel's variant against this copy and returns its code. `variant` tells the kernel's variants on this
    /// copy apart.
    ///
    /// # Errors
    /// What ORC or JITLink says.
    pub(crate) fn link(
        &'static self,
        name: &str,
        variant: usize,
        object: &[u8],
    ) -> Result<LinkedCode, OrcError> {
        let start = Instant::now();
        let dylib = self.dylib()?;
        // Of its own: every variant defines the kernel's name.
        let dylib = session()?.create_dylib_over(
            &format!("{name}, variant {variant}, image copy {}", self.number),
            dylib,
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
            let label = format!(" [variant {variant}, image copy {}]", self.number);
            perf_map::add(object, name, address as u64, &label);
        }
        report::log(format_args!(
            "{name}: linked into image copy {} in {:.2} ms",
            self.number,
            start.elapsed().as_secs_f64() * 1e3
        ));
        Ok(LinkedCode { address, dylib })
    }

    /// The addresses of its kernels' slots.
    pub(crate) fn slots(&self) -> Range<u64> {
        // SAFETY: the copy is loaded, as its kernels are launched; its announcement was checked when it was announced.
        let announcement = unsafe { &*(self.announcement as *const ImageAnnouncement) };
        let start = announcement.slots.addr() as u64;
        start..start + u64::from(announcement.slot_count) * size_of::<Slot>() as u64
    }

    /// Notes that a variant was linked against this copy.
    pub(crate) fn add_variant(&self, variant: &'static Variant) {
        lock(&self.variants).push(variant);
    }

    /// Notes that the copy is being unloaded.
    pub(crate) fn withdraw(&self) {
        self.withdrawn.store(true, Ordering::Relaxed);
    }

    /// Whether the copy is gone, or about to be.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.withdrawn.load(Ordering::Relaxed)
    }

    /// Frees the code that was linked against this copy.
    ///
    /// # Safety
    /// No thread runs it, and none links more or uses the variants after this.
    ///
    /// # Errors
    /// What ORC says.
    pub(crate) unsafe fn free(self) -> Result<(), OrcError> {
        let mut result = Ok(());
        for variant in self.variants.into_inner().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: as the caller promises; it was a box when it was made.
            unsafe {
                result = result.and(variant.free_code());
                drop(Box::from_raw((&raw const *variant).cast_mut()));
            }
        }
        match self.dylib.into_inner() {
            // SAFETY: it holds nothing but addresses, and what was linked over it is freed.
            Some(Ok(dylib)) => result.and(unsafe { dylib.remove() }),
            _ => result,
        }
    }

    fn dylib(&self) -> Result<&Dylib<'static>, OrcError> {
        let dylib = self.dylib.get_or_init(|| self.create_dylib());
        dylib.as_ref().map_err(Clone::clone)
    }

    fn create_dylib(&self) -> Result<Dylib<'static>, OrcError> {
        let dylib = session()?.create_dylib(&format!("image copy {} of {:p}", self.number, self.bundle))?;
        dylib.define_absolute(
            self.bundle
                .contents
                .anchors
                .iter()
                .copied()
                .zip(self.anchors.iter().copied()),
        )?;
        Ok(dylib)
    }
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
