//! What is attached and announced: the state that lives as long as the process.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, Once, OnceLock};

use libc::atexit;
use offloom_abi::jit_bundle::{Bundle, BundleId};
use offloom_abi::jit_image::{ImageAnnouncement, Slot, VERSION};
use offloom_ir::expendable_thread::run_on_expendable_thread;
use offloom_jit_cache::settings::{CacheMode, Mode};
use offloom_jit_cache::stats::{self as stats_file, subjects};

use crate::bundle::AttachedBundle;
use crate::closed_libraries;
use crate::compile;
use crate::disk_cache;
use crate::dispatch::{dispatch_function, finished_function};
use crate::exit_gate;
use crate::fork_gate;
use crate::guard::guarded_interlude;
use crate::image::ImageCopy;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::processors;
use crate::queue;
use crate::report;
use crate::settings::settings;
use crate::slot::SlotState;
use crate::stats;
use crate::worker;

#[derive(Default)]
struct Registry {
    bundles: HashMap<BundleId, Attached>,
    images: Vec<AnnouncedImage>,
}

/// A bundle and its kernels, by index.
struct Attached {
    bundle: &'static AttachedBundle,
    kernels: &'static [Kernel],
}

/// An image copy that is loaded.
struct AnnouncedImage {
    image: &'static ImageCopy,
    slots: Vec<&'static SlotState>,
}

fn registry() -> MutexGuard<'static, Registry> {
    // Leaked, not a static by value: what waits on a static's mutex when `exit` destroys it hangs.
    static REGISTRY: OnceLock<&'static Mutex<Registry>> = OnceLock::new();
    let registry = REGISTRY.get_or_init(|| Box::leak(Box::default()));
    lock(registry)
}

/// Takes a copy of a bundle, if this library can use it.
pub(crate) fn attach(bytes: &[u8]) {
    if settings().mode == Mode::Off {
        return;
    }
    worker::locate();
    let Some(_change) = fork_gate::enter() else { return };
    closed_libraries::keep_readable(bytes);
    let id = match Bundle::parse(bytes) {
        Ok((bundle, id)) if bundle.llvm_major == offloom_ir::LLVM.major() => id,
        Ok((bundle, _)) => {
            return report::failure(format_args!(
                "this library is for LLVM {}, the program was linked with --jit for LLVM {}: kernels stay ahead of time",
                offloom_ir::LLVM.major(),
                bundle.llvm_major
            ));
        }
        Err(error) => return report::failure(format_args!("{error}: kernels stay ahead of time")),
    };
    let mut registry = registry();
    if registry.bundles.contains_key(&id) {
        return;
    }
    let copy: &'static [u8] = Box::leak(bytes.into());
    if let Ok((contents, _)) = Bundle::parse(copy) {
        processors::note();
        exit_gate::guard_exit();
        fork_gate::watch_forks();
        act_at_exit();
        report::log(format_args!(
            "attached {} kernels, {} anchors, {} bytes of bitcode",
            contents.kernels.len(),
            contents.anchors.len(),
            contents.bitcode.len()
        ));
        let bundle: &'static AttachedBundle = Box::leak(Box::new(AttachedBundle::new(id, copy, contents)));
        let kernels = bundle.contents.kernels.iter();
        let kernels: Vec<_> = kernels.map(|kernel| Kernel::new(bundle, kernel)).collect();
        let kernels = Vec::leak(kernels);
        registry.bundles.insert(id, Attached { bundle, kernels });
        drop(registry);
        // The worker starts while libomptarget does.
        if settings().mode == Mode::Sync
            && kernels.iter().any(|kernel| kernel.left_ahead_of_time.is_none())
            && disk_cache::note_start(&bundle.key_of_start())
        {
            compile::expect();
        }
    }
}

/// Fills the slots of an image copy whose bundle is attached.
///
/// # Safety
/// As [`offloom_jit_announce_image`](crate::offloom_jit_announce_image).
pub(crate) unsafe fn announce(announcement: *const ImageAnnouncement) {
    // SAFETY: as the caller promises, the version comes first in every version of the record.
    let version = unsafe { (&raw const (*announcement).version).read() };
    if version != VERSION {
        return report::failure(format_args!(
            "a device image uses version {version} of the JIT's records, this library {VERSION}: its kernels stay ahead of time"
        ));
    }
    // SAFETY: the version is ours, so the layout is; the image keeps the record.
    let announcement = unsafe { &*announcement };
    let Some(_change) = fork_gate::enter() else { return };
    let mut registry = registry();
    let Some(&Attached { bundle, kernels }) = registry.bundles.get(&announcement.bundle) else {
        return;
    };
    let contents = &bundle.contents;
    let slot_count = announcement.slot_count as usize;
    let anchor_count = announcement.anchor_count as usize;
    if slot_count != contents.kernels.len() || anchor_count != contents.anchors.len() {
        return report::failure("a device image does not match its bundle: its kernels stay ahead of time");
    }
    // SAFETY: as the caller promises. Other threads do not write slots, and kernels read them atomically.
    let (slots, anchors) = unsafe {
        (
            std::slice::from_raw_parts(announcement.slots, slot_count),
            slice_or_empty(announcement.anchors, anchor_count),
        )
    };
    let image: &'static ImageCopy = Box::leak(Box::new(ImageCopy::new(
        bundle,
        (&raw const *announcement).addr(),
        anchors.to_vec(),
    )));
    let filled = slots.iter().filter_map(|slot| {
        let kernel = kernels.get(slot.kernel as usize)?;
        // An empty slot is what costs a launch least.
        let is_dispatched =
            kernel.left_ahead_of_time.is_none() && kernel.parameter_count == slot.argument_count;
        is_dispatched.then(|| fill(slot, image, kernel))
    });
    let slots: Vec<_> = filled.collect();
    if settings().mode == Mode::Sync && !slots.is_empty() {
        image.prepare();
    }
    registry.images.push(AnnouncedImage { image, slots });
}

/// The image copy that was announced last.
pub(crate) fn last_image() -> Option<&'static ImageCopy> {
    registry().images.last().map(|announced| announced.image)
}

/// Forgets an image copy that was announced, and has what was made for it freed.
///
/// # Safety
/// As [`offloom_jit_withdraw_image`](crate::offloom_jit_withdraw_image).
pub(crate) unsafe fn withdraw(announcement: *const ImageAnnouncement) {
    // When the process ends there is nothing to be gained.
    if exit_gate::is_closed() {
        return;
    }
    let Some(_change) = fork_gate::enter() else { return };
    let mut registry = registry();
    let images = &mut registry.images;
    let Some(place) = images
        .iter()
        .position(|announced| announced.image.announcement == announcement.addr())
    else {
        return;
    };
    let announced = images.swap_remove(place);
    announced.image.withdraw();
    for slot in &announced.slots {
        slot.withdraw();
        log_launches(slot);
        slot.kernel.history.remove_slot(&slot.launches);
    }
    drop(registry);
    let image = WithdrawnImage(announced);
    // The background thread may be linking for it.
    queue::add(|| image.free());
}

/// An image copy that is no longer loaded, and what is left of it here.
pub(crate) struct WithdrawnImage(AnnouncedImage);

impl WithdrawnImage {
    /// Frees it. Nothing launches its kernels any more, and no thread makes variants for it.
    pub(crate) fn free(self) {
        let Some(_change) = fork_gate::enter() else { return };
        let _undivided = fork_gate::enter_undivided();
        let Some(_work) = exit_gate::enter() else { return };
        let number = self.0.image.number;
        // SAFETY: only launches, work that was queued before this, and the registry knew of these, which were boxes.
        let freed = unsafe {
            for slot in self.0.slots {
                drop(Box::from_raw((&raw const *slot).cast_mut()));
            }
            Box::from_raw((&raw const *self.0.image).cast_mut()).free()
        };
        report::log(format_args!(
            "image copy {number} was unloaded: {}",
            freed.map_or_else(
                |error| error.to_string(),
                |()| "its variants are freed".to_owned()
            )
        ));
    }
}

/// Has launches logged, statistics written, and uses of the cache counted when the process ends. Asked for when the first program or library is attached,
/// which is before most of their exit handlers are registered: those run first.
fn act_at_exit() {
    let says = settings().log || settings().stats.is_some();
    if !says && settings().cache_mode != CacheMode::ReadWrite {
        return;
    }
    static AT_EXIT: Once = Once::new();
    if says {
        stats::remember_process();
    }
    // SAFETY: the handler is a function of this library, which is never unloaded: images hold pointers into it.
    AT_EXIT.call_once(|| unsafe {
        atexit(at_exit);
    });
}

fn fill(slot: &'static Slot, image: &'static ImageCopy, kernel: &'static Kernel) -> &'static SlotState {
    let state: &'static SlotState = Box::leak(Box::new(SlotState::new(slot, image, kernel)));
    kernel.history.add_slot(&state.launches);
    slot.state
        .store((&raw const *state).cast_mut().cast::<c_void>(), Ordering::Relaxed);
    slot.finished
        .store(finished_function() as *mut c_void, Ordering::Relaxed);
    slot.dispatch
        .store(dispatch_function() as *mut c_void, Ordering::Release);
    state
}

/// # Safety
/// `start` points to `count` elements that live as long as the process may use them, or `count` is 0.
unsafe fn slice_or_empty<T>(start: *const T, count: usize) -> &'static [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start, count) }
}

/// What every kernel has come to.
fn statistics() -> Vec<stats_file::Kernel> {
    let registry = registry();
    let mut bundles: Vec<_> = registry.bundles.values().collect();
    bundles.sort_by_key(|attached| attached.bundle.id.0);
    let kernels = bundles
        .into_iter()
        .flat_map(|attached| attached.kernels.iter().map(|kernel| (attached.bundle, kernel)));
    let kernels = kernels.map(|(bundle, kernel)| {
        let (mut progress, now) = kernel.history.progress();
        progress.push(now);
        let (specializations, subjects) = subjects(&kernel.tracker, |parameter| kernel.uses(parameter));
        stats_file::Kernel {
            name: kernel.name.to_owned(),
            bundle: bundle.id.0.map(|byte| format!("{byte:02x}")).concat(),
            source: kernel.source.to_owned(),
            left_ahead_of_time: kernel.left_ahead_of_time,
            launches_ahead_of_time: now.launches_ahead_of_time,
            launches_of_variants: now.launches_of_variants,
            specializations,
            subjects,
            variants: kernel.history.variants(),
            progress,
        }
    });
    kernels.collect()
}

extern "C" fn at_exit() {
    guarded_interlude((), || {
        // A thread that this process does not have may have held the lock when it was forked.
        let Some(_change) = fork_gate::enter() else { return };
        registry()
            .images
            .iter()
            .flat_map(|image| &image.slots)
            .for_each(|slot| log_launches(slot));
    });
    guarded_interlude((), || stats::write(statistics));
    guarded_interlude((), || {
        // Not on a thread that may wait for a file server for ever.
        if disk_cache::has_uses() {
            let _ = run_on_expendable_thread(stats::PATIENCE, disk_cache::note_uses);
        }
    });
}

fn log_launches(slot: &SlotState) {
    let launches = slot.launches.of_variants();
    if launches > 0 {
        report::log(format_args!(
            "{}: image copy {}: {launches} launches ran a variant",
            slot.kernel.name, slot.image.number
        ));
    }
}
