//! What is attached and announced for one kind of device: the state that lives as long as the process.

use std::collections::HashMap;
use std::sync::Mutex;

use offloom_abi::jit_bundle::{Bundle, BundleId};
use offloom_jit_cache::stats::{self, subjects};

use crate::backend::{Backend, LoadFailure};
use crate::bundle::AttachedBundle;
use crate::image::ImageCopy;
use crate::kernel::Kernel;
use crate::kernel_on_device::KernelOnDevice;
use crate::process::exit_gate;
use crate::process::fork_gate;
use crate::process::lock::lock;
use crate::process::queue;
use crate::process::report;
use crate::remote;

/// The bundles and image copies of one kind of device.
pub struct Registry<B: Backend>(Mutex<Contents<B>>);

struct Contents<B: Backend> {
    bundles: HashMap<BundleId, Attached<B>>,
    images: Vec<AnnouncedImage<B>>,
}

/// A bundle and its kernels, by index.
pub struct Attached<B: Backend> {
    /// The bundle.
    pub bundle: &'static AttachedBundle,
    /// Its kernels, in its order.
    pub kernels: &'static [Kernel<B>],
}

/// An image copy that is loaded.
struct AnnouncedImage<B: Backend> {
    image: &'static ImageCopy<B>,
    kernels: Vec<&'static KernelOnDevice<B>>,
}

impl<B: Backend> Clone for Attached<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Attached<B> {}

impl<B: Backend> Default for Registry<B> {
    fn default() -> Self {
        Self(Mutex::new(Contents {
            bundles: HashMap::new(),
            images: Vec::new(),
        }))
    }
}

impl<B: Backend> Registry<B> {
    /// Keeps a copy of a bundle for ever. `None`: it is attached already, or no bundle. A caller has entered
    /// the [fork gate](fork_gate).
    pub fn attach(&self, id: BundleId, bytes: &[u8]) -> Option<Attached<B>> {
        let mut contents = lock(&self.0);
        if contents.bundles.contains_key(&id) {
            return None;
        }
        let copy: &'static [u8] = Box::leak(bytes.into());
        let (parsed, _) = Bundle::parse(copy).ok()?;
        let bundle: &'static AttachedBundle = Box::leak(Box::new(AttachedBundle::new::<B>(id, copy, parsed)));
        let kernels = bundle.contents.kernels.iter();
        let kernels: Vec<_> = kernels.map(|kernel| Kernel::new(bundle, kernel)).collect();
        let attached = Attached {
            bundle,
            kernels: Vec::leak(kernels),
        };
        contents.bundles.insert(id, attached);
        Some(attached)
    }

    /// The bundle with this id, if it is attached.
    pub fn attached(&self, id: BundleId) -> Option<Attached<B>> {
        lock(&self.0).bundles.get(&id).copied()
    }

    /// Takes note of an image copy and its kernels, before they are launched.
    pub fn announce(&self, image: &'static ImageCopy<B>, kernels: Vec<&'static KernelOnDevice<B>>) {
        for kernel in &kernels {
            kernel.kernel.history.add_slot(&kernel.launches);
        }
        if remote::is_wanted()
            && let Some(device) = B::model(image)
        {
            remote::expect_verdicts(image.bundle.key_of_start().hash(), device);
        }
        lock(&self.0).images.push(AnnouncedImage { image, kernels });
    }

    /// The image copy that was announced last.
    pub fn last_image(&self) -> Option<&'static ImageCopy<B>> {
        lock(&self.0).images.last().map(|announced| announced.image)
    }

    /// Forgets the image copy for which `is_it` is true, and has what was made for it freed.
    ///
    /// # Safety
    /// Nothing runs its kernels, or will.
    pub unsafe fn withdraw(&self, is_it: impl Fn(&ImageCopy<B>) -> bool) {
        // When the process ends there is nothing to be gained.
        if exit_gate::is_closed() {
            return;
        }
        let Some(_change) = fork_gate::enter() else { return };
        let mut contents = lock(&self.0);
        let images = &mut contents.images;
        let Some(place) = images.iter().position(|announced| is_it(announced.image)) else {
            return;
        };
        let announced = images.swap_remove(place);
        announced.image.withdraw();
        for kernel in &announced.kernels {
            kernel.withdraw();
            log_launches(kernel);
            kernel.kernel.history.remove_slot(&kernel.launches);
        }
        drop(contents);
        // The background thread may be making variants for it, and the backend loading them.
        queue::add(move || B::after_loads(Box::new(move || announced.free())));
    }

    /// What every kernel has come to, each with the id of its bundle.
    pub fn statistics(&self) -> Vec<stats::Kernel> {
        let contents = lock(&self.0);
        let mut bundles: Vec<_> = contents.bundles.values().collect();
        bundles.sort_by_key(|attached| attached.bundle.id.0);
        let kernels = bundles
            .into_iter()
            .flat_map(|attached| attached.kernels.iter().map(|kernel| (attached.bundle, kernel)));
        let kernels = kernels.map(|(bundle, kernel)| {
            let (mut progress, now) = kernel.history.progress();
            progress.push(now);
            let (specializations, subjects) = subjects(&kernel.tracker, |subject| kernel.uses(subject));
            stats::Kernel {
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

    /// Logs what launches of the kernels that are loaded ran.
    pub fn log_launches(&self) {
        for announced in &lock(&self.0).images {
            for kernel in &announced.kernels {
                log_launches(kernel);
            }
        }
    }
}

impl<B: Backend> AnnouncedImage<B> {
    /// Frees it. Nothing launches its kernels any more, and no thread makes variants for it.
    fn free(self) {
        let Some(_change) = fork_gate::enter() else { return };
        let number = self.image.number;
        let log = move |freed: Result<(), LoadFailure>| {
            report::log(format_args!(
                "image copy {number} was unloaded: {}",
                freed.map_or_else(
                    |failure| failure.to_string(),
                    |()| "its variants are freed".to_owned()
                )
            ));
        };
        // SAFETY: only launches, work that was queued before this, and the registry knew of these, which were
        // boxes.
        unsafe {
            for kernel in self.kernels {
                drop(Box::from_raw((&raw const *kernel).cast_mut()));
            }
            Box::from_raw((&raw const *self.image).cast_mut()).free(Box::new(log));
        }
    }
}

fn log_launches<B: Backend>(kernel: &KernelOnDevice<B>) {
    let launches = kernel.launches.of_variants();
    if launches > 0 {
        report::log(format_args!(
            "{}: image copy {}: {launches} {} ran a variant",
            kernel.kernel.name,
            kernel.image.number,
            if launches == 1 { "launch" } else { "launches" }
        ));
    }
}
