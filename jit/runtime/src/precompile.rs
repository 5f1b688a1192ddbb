//! Makes variants that a recorded run has asked for, and puts them into the cache, for later processes: of
//! this program, and of other processors than this machine has.
//!
//! Nothing of the program is run. Its bundles, and the device images that say how kernels are launched, are
//! read from its file; images of code for NVIDIA GPUs that is bitcode are made first.

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use object::{Object as _, ObjectSection as _};
use offloom_abi::jit_bundle::{self, Bundle, BundleId, bundles_in};
use offloom_abi::jit_gpu_code::{GpuCode, capability};
use offloom_abi::names::OFFLOADING_SECTION;
use offloom_abi::{Triple, offload_binary};
use offloom_descriptor::Descriptor;
use offloom_jit_cache::precompile::Order;
use offloom_jit_cuda::backend as cuda;
use offloom_jit_cuda::image_file::ImageFile;
use offloom_jit_hsa::backend as hsa;
use offloom_jit_policy::backend::{Backend, Target};
use offloom_jit_policy::kernel::Kernel;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::guard::guarded;

use crate::attach::{attach, join_process};
use crate::base_image::{DeviceCode, base_image};
use crate::compile::worker;
use crate::host::libraries::LoadedObject;
use crate::host::{Host, target};

/// How processors of NVIDIA's GPUs are named, and those of AMD's.
const NVIDIA: &str = "sm_";
const AMD: &str = "gfx";

/// Does what the [`Order`] in a file says. For a process of its own, with `OFFLOOM_JIT=sync`; what came of
/// each variant is in the statistics that it writes. Returns 0; or 1, and one line on the standard output,
/// when there was nothing to be made.
///
/// # Safety
/// `order` points to a string that ends with NUL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn offloom_jit_precompile(order: *const c_char) -> c_int {
    guarded(1, || {
        // SAFETY: as the caller promises.
        let path = unsafe { CStr::from_ptr(order) };
        match precompile(Path::new(OsStr::from_bytes(path.to_bytes()))) {
            Ok(()) => 0,
            Err(reason) => {
                // Whoever reads it says that there is nothing.
                let _ = writeln!(io::stdout(), "{reason}");
                1
            }
        }
    })
}

fn precompile(path: &Path) -> Result<(), String> {
    let order = Order::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let failed = |reason: &dyn std::fmt::Display| format!("`{}`: {reason}", order.program.display());
    let bytes = fs::read(&order.program).map_err(|error| failed(&error))?;
    let program = object::File::parse(&*bytes).map_err(|error| failed(&error))?;
    let section = |name| {
        let section = program.section_by_name(name);
        section
            .and_then(|section| section.data().ok())
            .unwrap_or_default()
    };
    join_process();
    worker::locate();
    let mut bundles = Vec::new();
    for bundle in bundles_in(section(jit_bundle::SECTION)) {
        let bytes = bundle.map_err(|error| failed(&error))?;
        let (_, id) = Bundle::parse(bytes).map_err(|error| failed(&error))?;
        attach(bytes);
        bundles.push(id);
    }
    let made = if order.processor.starts_with(NVIDIA) {
        let name = CString::new(order.program.as_os_str().as_bytes()).unwrap_or_default();
        for_nvidia(&order, &name, section(OFFLOADING_SECTION)).map_err(|reason| failed(&reason))?
    } else if order.processor.starts_with(AMD) {
        for_amd(&order, section(OFFLOADING_SECTION)).map_err(|reason| failed(&reason))?
    } else {
        for_host(&order, &bundles)?
    };
    match made {
        0 => Err(failed(&format_args!(
            "it has no kernel for `{}` of which the statistics have a variant",
            order.processor
        ))),
        _ => Ok(()),
    }
}

/// How many variants there are to be.
fn for_host(order: &Order, bundles: &[BundleId]) -> Result<usize, String> {
    let target =
        target::named(&order.processor).map_err(|reason| format!("for `{}`: {reason}", order.processor))?;
    let target = Box::leak(Box::new(target));
    let attached = bundles.iter().filter_map(|id| Host::registry().attached(*id));
    let kernels = attached.flat_map(|attached| attached.kernels);
    Ok(make_all(
        order,
        kernels.filter(|kernel| kernel.left_ahead_of_time.is_none()),
        target,
    ))
}

/// As [`for_host`]. `containers`: where the program has its device images.
fn for_nvidia(order: &Order, program: &CStr, containers: &[u8]) -> Result<usize, String> {
    let (mut images, mut codes, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for member in offload_binary::members(containers) {
        let member = member.map_err(|error| error.to_string())?;
        if !Triple(member.triple()).is_nvidia_gpu() {
            continue;
        }
        match GpuCode::parse(member.image()).map_err(|error| error.to_string())? {
            Some(code) => codes.push((member, code)),
            None if member.arch() == order.processor => images.push(member.image()),
            None => others.push(member.arch()),
        }
    }
    // The one that the program makes its image of on such a device.
    let best = capability(&order.processor)
        .and_then(|device| GpuCode::best_for(codes.iter().map(|(_, code)| *code), device));
    if let Some((number, processor)) = best
        && let Some(_change) = fork_gate::enter()
    {
        let (member, code) = codes[number];
        let object = LoadedObject::not_loaded(program.to_owned());
        let code = DeviceCode {
            bytes: member.image(),
            triple: member.triple(),
            gpu: Some((code, &processor)),
        };
        images.extend(base_image(&code, &object));
    } else {
        others.extend(codes.iter().map(|(member, _)| member.arch()));
    }
    if images.is_empty() {
        return Err(match others.as_slice() {
            [] => "it has no device code for NVIDIA GPUs that can be used".to_owned(),
            others => format!(
                "its device code is for {}: link it for {} too, or with --jit=only for the earliest",
                others.join(" and "),
                order.processor
            ),
        });
    }
    let without_device =
        |id, image: &ImageFile<'_>| cuda::without_device(id, |kernel| image.execution_mode(kernel));
    for_images(order, &images, without_device)
}

/// As [`for_host`]. `containers`: where the program has its device images.
fn for_amd(order: &Order, containers: &[u8]) -> Result<usize, String> {
    let (mut images, mut others) = (Vec::new(), Vec::new());
    for member in offload_binary::members(containers) {
        let member = member.map_err(|error| error.to_string())?;
        match Triple(member.triple()).is_amd_gpu() {
            true if member.arch() == order.processor => images.push(member.image()),
            true => others.push(member.arch()),
            false => {}
        }
    }
    if images.is_empty() {
        return Err(match others.as_slice() {
            [] => "it has no device code for AMD GPUs".to_owned(),
            others => format!(
                "its device code is for {}: link it for {} too",
                others.join(" and "),
                order.processor
            ),
        });
    }
    let without_device =
        |id, image: &ImageFile<'_>| hsa::without_device(id, |kernel| image.execution_mode(kernel));
    for_images(order, &images, without_device)
}

/// The kernels that variants can be made of, and what those are compiled for.
type Kernels<B> = (Vec<&'static Kernel<B>>, &'static Target);

/// Has the cache hold all that is wanted of the kernels of these images.
fn for_images<B: Backend>(
    order: &Order,
    images: &[&[u8]],
    without_device: impl Fn(BundleId, &ImageFile<'_>) -> Result<Kernels<B>, String>,
) -> Result<usize, String> {
    let mut made = 0;
    for image in images {
        let image = ImageFile::parse(image)?;
        let Some(id) = image.bundle()? else { continue };
        let (kernels, target) = without_device(id, &image)?;
        made += make_all(order, kernels.into_iter(), target);
    }
    Ok(made)
}

/// Has the cache hold all that is wanted of these kernels. How many variants that are.
fn make_all<B: Backend>(
    order: &Order,
    kernels: impl Iterator<Item = &'static Kernel<B>>,
    target: &'static Target,
) -> usize {
    let mut made = 0;
    for kernel in kernels {
        let wanted = order.kernels.get(kernel.name).into_iter().flatten();
        // Kernels of all devices have the same names.
        let wanted: Vec<Descriptor> = wanted
            .filter_map(|text| text.parse().ok())
            .filter(|descriptor: &Descriptor| descriptor.architecture == B::ARCHITECTURE)
            .collect();
        for descriptor in &wanted {
            // Which form is faster is up to the device: the other one is made there.
            if !wanted.iter().any(|full| is_other_form(descriptor, full)) {
                kernel.precompile(target, descriptor);
                made += 1;
            }
        }
    }
    made
}

/// Whether the one says of a launch what the other says, without its numbers of teams and threads.
fn is_other_form(descriptor: &Descriptor, full: &Descriptor) -> bool {
    let without = Descriptor {
        teams: None,
        threads: None,
        ..full.clone()
    };
    descriptor != full && *descriptor == without
}
