//! `offload-specialize<descriptor=…>`: a kernel for the launches that a descriptor describes.
//!
//! Before: `define void @kernel(ptr %dyn_ptr, i64 %n, ptr %x)`, `br i1 %many, …` in the region
//! After: the region's body has 4 in place of `n`, and knows that `x` is aligned to 64 bytes
//!
//! The descriptor is a file or the text itself, with `;` between its items:
//! `descriptor=kernel=k;arch=x86-64;1=i32:4;2=align:64`. It is the last parameter. `mode=match`, the default,
//! keeps floating-point results as they are without constants (`offload-match-bits`); `mode=source` gives
//! those of the constants in the source. Each transform alone: `offload-specialize-args`,
//! `offload-specialize-align`, `offload-specialize-contents`, `offload-specialize-launch`. Only functions of
//! the module's own are looked into: run `offload-internalize` before. Since LLVM 23, kernels for processors
//! have their arguments in a list; the descriptor's numbers are those of the list's elements, from 1.

use crate::error::PassError;
use crate::offload_match_bits::PIPELINE;
use crate::parameters::{Parameters, TAKES_THE_REST as DESCRIPTOR};
use crate::registry::Pass;
use llvm_plugin::PreservedAnalyses;
use offloom_descriptor::Descriptor;
use offloom_ir::inkwell::module::Module;
use offloom_ir::symbol::{Symbol, find};
use offloom_jit_passes::argument_list::as_parameters;
use offloom_jit_passes::match_bits::match_bits;
use offloom_jit_passes::specialize::{Transforms, specialize};
use std::fs;

/// Which floating-point results the kernel has.
const MODE: &str = "mode";

pub(crate) const PASS: Pass = Pass {
    name: "offload-specialize",
    parameters: &[MODE, DESCRIPTOR],
    run: |module, parameters| {
        with_descriptor(module, parameters, |descriptor| {
            match_mode(module, parameters, descriptor)?;
            Ok(specialize(module, descriptor, Transforms::ALL)?)
        })
    },
    unasked: None,
};

pub(crate) const ALIGN: Pass = Pass {
    name: "offload-specialize-align",
    parameters: &[DESCRIPTOR],
    run: |module, parameters| {
        let transforms = Transforms {
            alignment: true,
            ..Transforms::NONE
        };
        run(module, parameters, transforms)
    },
    unasked: None,
};

pub(crate) const ARGS: Pass = Pass {
    name: "offload-specialize-args",
    parameters: &[DESCRIPTOR],
    run: |module, parameters| {
        let transforms = Transforms {
            arguments: true,
            ..Transforms::NONE
        };
        run(module, parameters, transforms)
    },
    unasked: None,
};

pub(crate) const CONTENTS: Pass = Pass {
    name: "offload-specialize-contents",
    parameters: &[DESCRIPTOR],
    run: |module, parameters| {
        let transforms = Transforms {
            contents: true,
            ..Transforms::NONE
        };
        run(module, parameters, transforms)
    },
    unasked: None,
};

pub(crate) const LAUNCH: Pass = Pass {
    name: "offload-specialize-launch",
    parameters: &[DESCRIPTOR],
    run: |module, parameters| {
        let transforms = Transforms {
            launch: true,
            ..Transforms::NONE
        };
        run(module, parameters, transforms)
    },
    unasked: None,
};

/// Keeps the bits of the module as it is, if that is the mode.
fn match_mode(
    module: &Module<'_>,
    parameters: &Parameters,
    descriptor: &Descriptor,
) -> Result<(), PassError> {
    match parameters.value(MODE)?.unwrap_or("match") {
        "match" => {
            let kernel = find(module, &descriptor.kernel).and_then(Symbol::as_function);
            Ok(match_bits(module, kernel, PIPELINE)?)
        }
        "source" => Ok(()),
        other => Err(PassError::UnknownMode(other.to_owned())),
    }
}

fn run(
    module: &Module<'_>,
    parameters: &Parameters,
    transforms: Transforms,
) -> Result<PreservedAnalyses, PassError> {
    with_descriptor(module, parameters, |descriptor| {
        Ok(specialize(module, descriptor, transforms)?)
    })
}

/// Does some work with the descriptor that the parameter holds or names, while its kernel has parameters.
fn with_descriptor(
    module: &Module<'_>,
    parameters: &Parameters,
    work: impl FnOnce(&Descriptor) -> Result<(), PassError>,
) -> Result<PreservedAnalyses, PassError> {
    let descriptor = descriptor(parameters)?;
    as_parameters(module, &descriptor, || work(&descriptor))?;
    Ok(PreservedAnalyses::None)
}

/// The descriptor that the parameter holds or names.
fn descriptor(parameters: &Parameters) -> Result<Descriptor, PassError> {
    let missing = PassError::MissingValue { key: DESCRIPTOR };
    let given = parameters.value(DESCRIPTOR)?.ok_or(missing)?;
    let is_text = given.contains("kernel=");
    let file = (!is_text).then(|| given.to_owned());
    let text = if is_text {
        given.to_owned()
    } else {
        fs::read_to_string(given).map_err(|problem| PassError::DescriptorFile {
            file: given.to_owned(),
            problem,
        })?
    };
    text.parse()
        .map_err(|problem| PassError::Descriptor { file, problem })
}
