//! The base image of a program that holds bitcode in its place: from the cache, or made now.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use offloom_abi::jit_base_image::{BaseImage, BaseImageRequest, GpuImageRequest};
use offloom_abi::jit_bundle::{self, BundleId};
use offloom_abi::jit_gpu_code::GpuCode;
use offloom_abi::jit_image;
use offloom_descriptor::Descriptor;
use offloom_jit_cache::store::{Claim, Record};
use offloom_jit_cuda::backend::Cuda;
use offloom_jit_cuda::backend::assembler;
use offloom_jit_cuda::devices;

use crate::attach::attach;
use crate::compile::{assembler_on_nvjitlink, compile_base_image, compiler};
use crate::host::Host;
use crate::host::libraries::{LoadedObject, identity};
use offloom_jit_policy::backend::{Backend, Failure};
use offloom_jit_policy::disk_cache::{self, Known};
use offloom_jit_policy::kernel::in_milliseconds;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::settings;

/// How much longer than one kernel all of the device code may take: without it the program has no image, and
/// LLVM takes a minute for 500 small kernels (`OpenMPOpt`, more than in proportion).
const PATIENCE: u32 = 60;
/// After how long it is said that it takes its time.
const WITHOUT_A_WORD: Duration = Duration::from_secs(20);
/// What keys of base images name in the place of a kernel.
const NAME: &str = "base image";

/// Device code that an image is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceCode<'a> {
    /// What stands in the image's place.
    pub(crate) bytes: &'a [u8],
    /// Its target triple.
    pub(crate) triple: &'a str,
    /// Of a GPU's: what is in the bytes, and the processor to compile for.
    pub(crate) gpu: Option<(GpuCode<'a>, &'a str)>,
}

impl DeviceCode<'_> {
    /// What tells its images apart; empty: it has one.
    fn processor(&self) -> &str {
        self.gpu.map_or("", |(_, processor)| processor)
    }
}

/// The base image of the device code, which is that of `object`, with its bundle attached; it stays in
/// memory. `None` when it cannot be made, which is said.
pub(crate) fn base_image(code: &DeviceCode<'_>, object: &LoadedObject) -> Option<&'static [u8]> {
    let id = BundleId::of_bitcode(code.bytes);
    let place = (id, code.processor().to_owned());
    if let Some(image) = made().get(&place) {
        return Some(image);
    }
    let bytes = match find_or_make(id, code, object) {
        Ok(bytes) => bytes,
        Err(reason) => {
            report::failure(format_args!(
                "the device code of {} has no image: {reason}",
                name(code, object)
            ));
            return None;
        }
    };
    let both = match BaseImage::parse(&bytes) {
        Ok(both) => both,
        Err(error) => {
            report::failure(format_args!("{}: {error}", object.name()));
            return None;
        }
    };
    if !both.bundle.is_empty() {
        attach(both.bundle);
    }
    Some(
        made()
            .entry(place)
            .or_insert_with(|| Box::leak(both.image.into())),
    )
}

type Made = HashMap<(BundleId, String), &'static [u8]>;

/// What was made already: a library may be opened again.
fn made() -> MutexGuard<'static, Made> {
    // Leaked, as all of this library's state.
    static MADE: OnceLock<&'static Mutex<Made>> = OnceLock::new();
    let made = MADE.get_or_init(|| Box::leak(Box::default()));
    lock(made)
}

fn find_or_make(id: BundleId, code: &DeviceCode<'_>, object: &LoadedObject) -> Result<Vec<u8>, String> {
    let assembler_arguments;
    let (libraries, gpu, made_with) = match code.gpu {
        None => {
            let libraries = object.libraries();
            let identities: Vec<_> = libraries.iter().map(|path| identity(path)).collect();
            (libraries, None, identities.join(" "))
        }
        Some((gpu, processor)) => {
            let assembler = assembler::find_now(assembler_on_nvjitlink, devices::driver_version())?;
            assembler_arguments = assembler.arguments(gpu.assembler_arguments);
            let request = GpuImageRequest {
                processor,
                assembler: &assembler.path,
                assembler_arguments: &assembler_arguments,
                device_runtime: gpu.device_runtime,
            };
            let made_with = format!("assembler={} processor={processor}", assembler.identity);
            (Vec::new(), Some(request), made_with)
        }
    };
    let options = format!(
        "bundle={} records={} {made_with}",
        jit_bundle::VERSION,
        jit_image::VERSION,
    );
    let architecture = match gpu {
        None => Host::ARCHITECTURE,
        Some(_) => Cuda::ARCHITECTURE,
    };
    let descriptor = Descriptor::unspecialized(NAME, architecture);
    let key = disk_cache::key(compiler(), id, code.triple, String::new(), options, descriptor);
    let deadline = settings().time_limit.saturating_mul(PATIENCE);
    let whose = name(code, object);
    let say_late = |what: &'static str| {
        let (whose, mut was_said) = (&whose, false);
        move |waited: Duration| {
            if waited >= WITHOUT_A_WORD && !std::mem::replace(&mut was_said, true) {
                report::line(format_args!(
                    "compiling the device code of {whose} takes longer than {} s: {what}",
                    WITHOUT_A_WORD.as_secs()
                ));
            }
        }
    };
    let mut waiting = say_late("another process does it, and this one waits");
    let claim = match disk_cache::wait_for_others(&key, deadline, &mut waiting) {
        Known::Object(bytes, _) => {
            report::log(format_args!(
                "the image of {} is in the cache",
                name(code, object)
            ));
            return Ok(bytes);
        }
        Known::Failure(reason) => return Err(format!("{reason} (remembered by the cache)")),
        Known::Nothing(claim) => claim,
    };
    let request = BaseImageRequest {
        deadline,
        libraries: libraries.iter().map(PathBuf::as_path).collect(),
        gpu,
        bitcode: code.gpu.map_or(code.bytes, |(gpu, _)| gpu.bitcode),
    };
    let mut making = say_late(match claim {
        Some(_) => "the cache keeps what comes of it",
        None => "each start does, without a cache that can be written",
    });
    let mut waiting = |waited: Duration| {
        if waited.is_zero() {
            return disk_cache::expect_publication(&key, None);
        }
        // Other processes that use the folder wait for what is claimed.
        claim.iter().for_each(Claim::renew);
        making(waited);
    };
    let record = match compile_base_image(&request, &mut waiting) {
        Ok(compiled) => {
            report::log(format_args!(
                "the image of {} was compiled in {}",
                name(code, object),
                in_milliseconds(compiled.phases)
            ));
            Record::Image(compiled.object)
        }
        Err(Failure::OfKernel(reason)) => disk_cache::failure(reason),
        Err(Failure::OfProcess(reason)) => return Err(reason),
        Err(Failure::TooLate) => return Err("the program is ending".to_owned()),
    };
    let record = disk_cache::publish(&key, record);
    drop(claim);
    match record {
        Record::Image(bytes) | Record::Timed(_, bytes) => Ok(bytes),
        Record::Failure(failure) => Err(failure.reason),
        Record::Megamorphic(_) => Err("the cache holds something else".to_owned()),
    }
}

/// Whose code it is, and for what, in messages.
fn name(code: &DeviceCode<'_>, object: &LoadedObject) -> String {
    match code.processor() {
        "" => object.name().to_string(),
        processor => format!("{} for {processor}", object.name()),
    }
}
