//! The base image of a program that holds bitcode in its place: from the cache, or made now.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock};

use offloom_abi::jit_base_image::{BaseImage, BaseImageRequest};
use offloom_abi::jit_bundle::{self, BundleId};
use offloom_abi::jit_image;
use offloom_descriptor::Descriptor;
use offloom_jit_cache::store::Record;

use crate::attach::attach;
use crate::compile::{compile_base_image, compiler};
use crate::host::Host;
use crate::host::libraries::{LoadedObject, identity};
use offloom_jit_policy::backend::{Backend, Failure};
use offloom_jit_policy::disk_cache::{self, Known};
use offloom_jit_policy::kernel::in_milliseconds;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::settings;

/// How much longer than one kernel all of the device code may take.
const PATIENCE: u32 = 6;
/// What keys of base images name in the place of a kernel.
const NAME: &str = "base image";

/// The base image of the device code in `object`, with its bundle attached; it stays in memory. `None` when it cannot be made, which is
/// said.
pub(crate) fn base_image(bitcode: &[u8], triple: &str, object: &LoadedObject) -> Option<&'static [u8]> {
    let id = BundleId::of_bitcode(bitcode);
    if let Some(image) = made().get(&id) {
        return Some(image);
    }
    let bytes = match find_or_make(id, bitcode, triple, object) {
        Ok(bytes) => bytes,
        Err(reason) => {
            report::failure(format_args!(
                "the device code of {} has no image: {reason}",
                object.name()
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
    Some(made().entry(id).or_insert_with(|| Box::leak(both.image.into())))
}

/// What was made already: a library may be opened again.
fn made() -> MutexGuard<'static, HashMap<BundleId, &'static [u8]>> {
    // Leaked, as all of this library's state.
    static MADE: OnceLock<&'static Mutex<HashMap<BundleId, &'static [u8]>>> = OnceLock::new();
    let made = MADE.get_or_init(|| Box::leak(Box::default()));
    lock(made)
}

fn find_or_make(
    id: BundleId,
    bitcode: &[u8],
    triple: &str,
    object: &LoadedObject,
) -> Result<Vec<u8>, String> {
    let libraries = object.libraries();
    let identities: Vec<_> = libraries.iter().map(|path| identity(path)).collect();
    let options = format!(
        "bundle={} records={} {}",
        jit_bundle::VERSION,
        jit_image::VERSION,
        identities.join(" ")
    );
    let descriptor = Descriptor::unspecialized(NAME, Host::ARCHITECTURE);
    let key = disk_cache::key(compiler(), id, triple, String::new(), options, descriptor);
    let deadline = settings().time_limit.saturating_mul(PATIENCE);
    let claim = match disk_cache::wait_for_others(&key, deadline) {
        Known::Object(bytes, _) => {
            report::log(format_args!("the image of {} is in the cache", object.name()));
            return Ok(bytes);
        }
        Known::Failure(reason) => return Err(format!("{reason} (remembered by the cache)")),
        Known::Nothing(claim) => claim,
    };
    let request = BaseImageRequest {
        deadline,
        libraries: libraries.iter().map(PathBuf::as_path).collect(),
        bitcode,
    };
    let record = match compile_base_image(&request, &mut || disk_cache::expect_publication(&key, None)) {
        Ok(compiled) => {
            report::log(format_args!(
                "the image of {} was compiled in {}",
                object.name(),
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
        Record::GivenUp(_) => Err("the cache holds something else".to_owned()),
    }
}
