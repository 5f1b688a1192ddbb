//! One kernel of an attached bundle, for all devices: what of its launches is specialised, and the objects compiled so far.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use offloom_abi::jit_bundle::{self, Bundle, ParameterKind};
use offloom_abi::jit_compile::{Phases, Request};
use offloom_jit_cache::descriptor::ScalarType;
use offloom_jit_cache::signature::{Parameter, Signature};
use offloom_jit_cache::tracker::{LaunchKey, Limits, Tracker};
use offloom_jit_passes::compile::Compiled;

use crate::compile::compile;
use crate::report;
use crate::settings::{COMPILE_DEADLINE, settings};

/// The architecture that descriptors name.
const ARCHITECTURE: &str = "x86-64";

/// An object that is made by the first who asks while others wait; `None`: it cannot be made.
type Object = OnceLock<Option<Vec<u8>>>;

/// A kernel, for as long as the process lives.
pub(crate) struct Kernel {
    /// The name of its stub and of its code.
    pub(crate) name: &'static str,
    /// How many parameters it has, the implicit ones included.
    pub(crate) parameter_count: u32,
    /// What of its launches is specialised.
    pub(crate) tracker: Tracker,
    objects: Mutex<HashMap<LaunchKey, Arc<Object>>>,
}

impl Kernel {
    /// A kernel that was never launched.
    pub(crate) fn new(kernel: &jit_bundle::Kernel<'static>) -> Self {
        let limits = Limits {
            threshold: settings().threshold,
            ratio: settings().ratio,
        };
        let parameters = kernel.parameters.iter().map(what_can_be_specialized).collect();
        Self {
            name: kernel.name,
            parameter_count: kernel.parameters.len() as u32,
            // On x86_64 the numbers of teams and threads are decided inside libomp.
            tracker: Tracker::new(Signature::new(parameters, false), limits),
            objects: Mutex::new(HashMap::new()),
        }
    }

    /// Calls `use_object` with the relocatable object for launches with this key, compiled if no device has asked for it yet.
    /// `None` when it cannot be compiled, which is said once and not tried again.
    pub(crate) fn with_object<T>(
        &self,
        bundle: &Bundle<'static>,
        key: &LaunchKey,
        use_object: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        let object = {
            let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(objects.entry(key.clone()).or_default())
        };
        let object = object.get_or_init(|| self.compile(bundle, key));
        object.as_deref().map(use_object)
    }

    fn compile(&self, bundle: &Bundle<'static>, key: &LaunchKey) -> Option<Vec<u8>> {
        let name = self.name;
        let descriptor = self.tracker.descriptor(key, name, ARCHITECTURE).to_string();
        let request = Request {
            target_triple: bundle.target_triple,
            optimization_level: bundle.optimization_level,
            processor: "",
            features: "",
            kernel: name,
            descriptor: &descriptor,
            match_floating_point: true,
            deadline: COMPILE_DEADLINE,
            bitcode: bundle.bitcode,
        };
        match compile(&request) {
            Ok(Compiled { object, phases }) => {
                report::log(format_args!(
                    "{name}: compiled in {}, {} bytes, for {descriptor}",
                    in_milliseconds(phases),
                    object.len()
                ));
                Some(object)
            }
            Err(reason) => {
                report::failure(format_args!(
                    "{name}: stays ahead of time for {descriptor}: {reason}"
                ));
                None
            }
        }
    }
}

fn what_can_be_specialized(parameter: &jit_bundle::Parameter) -> Parameter {
    let wanted = settings().specialize;
    let matters = !parameter.uses.is_empty();
    match parameter.kind {
        ParameterKind::Scalar if wanted.arguments && matters => {
            ScalarType::integer(8 * u32::from(parameter.size)).map_or(Parameter::Unused, Parameter::Scalar)
        }
        ParameterKind::Pointer => Parameter::Pointer {
            declared_alignment: (wanted.alignments && matters).then_some(1),
            contents: vec![
                true;
                if wanted.contents {
                    parameter.contents as usize
                } else {
                    0
                }
            ],
        },
        ParameterKind::LaunchEnvironment | ParameterKind::Scalar => Parameter::Unused,
    }
}

fn in_milliseconds(phases: Phases) -> String {
    let Phases {
        parse,
        specialize,
        optimize,
        generate,
    } = phases;
    let ms = |microseconds: u32| f64::from(microseconds) / 1e3;
    format!(
        "{:.1} ms (parse {:.1}, specialise {:.1}, optimise {:.1}, generate {:.1})",
        ms(parse) + ms(specialize) + ms(optimize) + ms(generate),
        ms(parse),
        ms(specialize),
        ms(optimize),
        ms(generate)
    )
}
