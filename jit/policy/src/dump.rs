//! What `OFFLOOM_JIT_DUMP_DIR` asks for: the first launch of each variant, written so that it can be run by
//! itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Mutex;

use offloom_jit_cache::dump::{Device, DumpError, Launch, Region, Run, VERSION, Writer, is_openmp_variable};
use offloom_jit_cache::settings::FloatingPoint;
use offloom_jit_variants::tracker::LaunchKey;

use crate::backend::Backend;
use crate::image::ImageCopy;
use crate::kernel::{Form, Kernel};
use crate::process::guard::write_signals::without_write_signals;
use crate::process::lock::lock;
use crate::process::report;
use crate::process::settings::{from_first_folder, settings};

/// Launches that a process dumps at most.
const MOST_DUMPS: usize = 32;
/// Bytes of a kernel's name in that of a folder, which may have 255: numbers follow, and a name for the time
/// that it is written.
const MOST_OF_A_NAME: usize = 200;

/// What a launch finds, as [`Launch`] has it.
pub struct Found {
    /// What it runs on.
    pub device: Device,
    /// The device image, a file.
    pub image: Vec<u8>,
    /// The image's variables.
    pub variables: Vec<Run>,
    /// Memory that the launch may reach.
    pub regions: Vec<Region>,
}

/// Dumps a launch, if that is asked for: `find` finds out what it is to be run with, and writes memory. What
/// goes wrong is said, and the launch goes on.
pub fn dump<B: Backend, E: Display + From<DumpError>>(
    kernel: &Kernel<B>,
    image: &ImageCopy<B>,
    key: &LaunchKey,
    arguments: &[u64],
    find: impl FnOnce(&mut Writer) -> Result<Found, E>,
) {
    let Some(folder) = &settings().dump_directory else {
        return;
    };
    // When the process ends there is none.
    let Some(target) = B::target(image) else { return };
    // A variant that is not made now, since too much waits, is asked for again.
    static ASKED_FOR: Mutex<BTreeSet<(usize, String)>> = Mutex::new(BTreeSet::new());
    let descriptor = kernel.descriptor(key, Form::Full).to_string();
    let number = {
        let mut asked_for = lock(&ASKED_FOR);
        let number = asked_for.len();
        if number > MOST_DUMPS || !asked_for.insert(((&raw const *image).addr(), descriptor.clone())) {
            return;
        }
        number
    };
    if number == MOST_DUMPS {
        return report::log(format_args!("more launches than {MOST_DUMPS} are not dumped"));
    }
    let written = without_write_signals(|| {
        let mut writer = Writer::create(&from_first_folder(folder))?;
        let found = find(&mut writer)?;
        let launch = Launch {
            version: VERSION,
            offloom: env!("CARGO_PKG_VERSION").to_owned(),
            llvm: B::compiler().llvm.clone(),
            kernel: kernel.name.to_owned(),
            descriptor,
            arguments: arguments.to_vec(),
            processor: [target.processor.clone(), target.features.clone()],
            match_floating_point: settings().floating_point == FloatingPoint::Match,
            environment: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .filter(|(name, _)| is_openmp_variable(name))
                .collect(),
            device: found.device,
            variables: found.variables,
            regions: found.regions,
            checksums: BTreeMap::new(),
        };
        let beginning = &kernel.name[..kernel.name.floor_char_boundary(MOST_OF_A_NAME)];
        let name = format!("{beginning}-{}-{number}", std::process::id());
        writer
            .finish(launch, image.bundle.bytes, &found.image, &name)
            .map_err(E::from)
    });
    let name = kernel.name;
    match written {
        Ok(place) => report::log(format_args!("{name}: a launch is dumped to {}", place.display())),
        Err(error) => report::line(format_args!("{name}: a launch is not dumped: {error}")),
    }
}
