//! An attached bundle, and each of its kernels' object, compiled once for all devices.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use offloom_abi::jit_bundle::Bundle;
use offloom_abi::jit_compile::{Phases, Request};
use offloom_jit_passes::compile::Compiled;

use crate::compile::compile;
use crate::report;
use crate::settings::settings;

/// A bundle as the process keeps it, for ever.
pub(crate) struct AttachedBundle {
    /// Its contents, in memory of our own: the library that brought it may be closed.
    pub(crate) contents: Bundle<'static>,
    objects: Vec<OnceLock<Option<Vec<u8>>>>,
    copies: AtomicU32,
}

impl AttachedBundle {
    /// Takes over a parsed bundle.
    pub(crate) fn new(contents: Bundle<'static>) -> Self {
        let objects = contents.kernels.iter().map(|_| OnceLock::new()).collect();
        Self {
            contents,
            objects,
            copies: AtomicU32::new(0),
        }
    }

    /// The number of the next copy of the bundle's image to be loaded, from 0. libomptarget loads one copy per device, on the
    /// device's first use, and tells no copy which device it is for.
    pub(crate) fn number_copy(&self) -> u32 {
        self.copies.fetch_add(1, Ordering::Relaxed)
    }

    /// The kernel's object; compiled by the first who asks while others wait. `None`: it cannot be compiled, which has been
    /// said once, and is not tried again.
    pub(crate) fn object(&'static self, kernel: u32) -> Option<&'static [u8]> {
        let index = kernel as usize;
        let name = self.contents.kernels[index].name;
        let request = Request {
            target_triple: self.contents.target_triple,
            optimization_level: self.contents.optimization_level,
            processor: "",
            features: "",
            kernel: name,
            descriptor: "",
            match_floating_point: true,
            deadline: settings().deadline,
            bitcode: self.contents.bitcode,
        };
        let object = self.objects[index].get_or_init(|| match compile(request) {
            Ok(Compiled { object, phases }) => {
                report::log(format_args!(
                    "{name}: compiled in {}, {} bytes",
                    in_milliseconds(phases),
                    object.len()
                ));
                Some(object)
            }
            Err(reason) => {
                report::failure(format_args!("{name}: stays ahead of time: {reason}"));
                None
            }
        });
        object.as_deref()
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
