//! Compiles the code of an image for the processor that is really there, where the image's ABI allows it.
//!
//! Every definition gets `target-cpu` and `target-features` of the device, and loses `tune-cpu`. What the
//! image was compiled with limits that:
//!
//! | target | rule |
//! | --- | --- |
//! | x86 | a feature the image has stays; one it switched off stays off; none that changes how a vector is passed in or out of the module; no access is promised more than 16 bytes of alignment; a module whose bits must stay ([`match_bits`](crate::match_bits)) and that makes vectors of small integers of numbers stays as it is |
//! | AArch64 | as x86, but vectors cross the module's boundary in the same registers whatever the processor, no alignment is too much, and every module is compiled for the device |
//! | NVPTX | the processor must be the image's or a later one; a PTX version too old for it goes, and LLVM takes the oldest that fits |
//! | AMDGPU | features of the old processor go, since code generation for the new one fails on them; wavefront size, XNACK, SRAM ECC and the like are part of the image's ABI and stay |

use std::cell::LazyCell;

use offloom_abi::{HostProcessor, Triple};
use offloom_ir::alignment::limit_alignment;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::processor::{Processor, is_unknown_processor};
use offloom_ir::symbol::{Symbol, functions};
use offloom_ir::vector_abi::widest_vector_at_boundary;

use crate::match_bits::is_bound_to_processor;

pub(crate) mod aarch64;
mod amdgpu;
mod features;
mod nvptx;
mod x86;

use features::Features;

/// The processor to compile for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device<'a> {
    /// LLVM's name of the processor; `native`: the one that this process runs on, with all of its features.
    pub cpu: &'a str,
    /// More features, as in `target-features`: `+avx2,-avx512f`.
    pub features: &'a str,
    /// What means the same for this processor in fewer words ([`Processor::brief_features`]); empty: not
    /// known.
    pub brief_features: &'a str,
    /// Bits of the vectors that the vectoriser should choose on x86 (`prefer-vector-width`); `None`: what the
    /// processor's tuning says.
    pub vector_width: Option<u32>,
}

impl Device<'_> {
    /// The same features; in fewer words, where they begin with the device's.
    fn abridge(&self, features: String) -> String {
        match features.strip_prefix(self.features) {
            Some(rest) if !self.brief_features.is_empty() && (rest.is_empty() || rest.starts_with(',')) => {
                format!("{}{rest}", self.brief_features)
            }
            _ => features,
        }
    }
}

/// Why an image cannot be compiled for a processor. The image's own code is good for it or not; nothing was
/// changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetargetError {
    /// A feature that the code was compiled for and the device does not have.
    #[error("`{function}` was compiled for the feature `{feature}`, which `{cpu}` is said not to have")]
    MissingFeature {
        /// The function.
        function: String,
        /// The feature.
        feature: String,
        /// The processor.
        cpu: String,
    },
    /// Vectors cross the module's boundary, and wider registers would pass them otherwise than the other side
    /// does.
    #[error(
        "`{function}` passes a vector of {bits} bits in or out of the module, which code for `{cpu}` passes in other registers: \
         leave the processor as it is"
    )]
    VectorAtBoundary {
        /// The function whose code calls, or that is called.
        function: String,
        /// Width of the vector.
        bits: u32,
        /// The processor.
        cpu: String,
    },
    /// An NVIDIA processor older than the one the code was compiled for, or one that cannot be compared with
    /// it.
    #[error("`{function}` was compiled for `{image}`, and its code may not run on `{cpu}`")]
    OlderProcessor {
        /// The function.
        function: String,
        /// The processor the image was compiled for.
        image: String,
        /// The processor asked for.
        cpu: String,
    },
    /// An AMD processor without the image's wavefront size.
    #[error("`{function}` was compiled for wavefronts of {size}, which `{cpu}` does not have")]
    WavefrontSize {
        /// The function.
        function: String,
        /// Threads of a wavefront.
        size: u32,
        /// The processor asked for.
        cpu: String,
    },
    /// LLVM does not know the processor. It would only print a line, and generate code for the oldest one.
    #[error(
        "LLVM knows no processor `{cpu}` for `{triple}`: name one that it knows, which `llc -mtriple={triple} -mcpu=help` lists"
    )]
    UnknownProcessor {
        /// The processor asked for.
        cpu: String,
        /// The module's triple.
        triple: String,
    },
    /// `native` for a module that this machine's processor cannot run.
    #[error("`native` is this machine's processor, and the module is for `{triple}`: name a processor")]
    NotNative {
        /// The module's triple.
        triple: String,
    },
}

/// Stands for the processor that this process runs on.
pub const NATIVE: &str = "native";

/// Attribute keys, as Clang writes them.
const TARGET_CPU: &str = "target-cpu";
const TARGET_FEATURES: &str = "target-features";
const TUNE_CPU: &str = "tune-cpu";
const PREFER_VECTOR_WIDTH: &str = "prefer-vector-width";

/// What libomptarget's memory on an x86 device is aligned to, as an exponent of 2: 16 bytes, whatever the
/// type of what is mapped asks for, since it is `malloc`'s. Code for a processor with vectors of 16 bytes
/// needs no more. With wider ones it does, and would fault where the image's code runs.
const MAPPED_MEMORY_ALIGNMENT_LOGARITHM: u8 = 4;

/// Why code for a processor cannot run here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableProcessor {
    /// LLVM does not know it.
    #[error("LLVM knows no processor of that name")]
    Unknown,
    /// It is one of x86 that is older than x86_64.
    #[error("it has no 64-bit mode")]
    NotX86_64,
    /// It has what this machine's processor has not.
    #[error("it has {0}, which this machine's processor has not")]
    Missing(String),
}

/// The name of the processor that this process runs on, and the features to compile variants with.
pub fn native_processor() -> (String, String) {
    for_variants(TargetMachine::get_host_cpu_name().to_string(), host_features())
}

/// The features to compile variants with for the processor of that name, of this machine's kind, so that they
/// run here.
///
/// # Errors
/// When it is unknown, or this machine's processor cannot run its code.
pub fn host_processor(name: &str) -> Result<(String, String), UnusableProcessor> {
    if name == NATIVE {
        return Ok(native_processor());
    }
    let processor = processor_with_64_bits(name)?;
    let here = host_features();
    let missing = here
        .iter()
        .find(|&(feature, here)| !here && processor.has(feature));
    if let Some((missing, _)) = missing {
        return Err(UnusableProcessor::Missing(missing.to_owned()));
    }
    Ok(for_variants(name.to_owned(), Features::default()))
}

/// As [`host_processor`], for variants that may be for another machine to run.
///
/// # Errors
/// When it is unknown, or has no 64-bit mode.
pub fn host_processor_anywhere(name: &str) -> Result<(String, String), UnusableProcessor> {
    if name == NATIVE {
        return Ok(native_processor());
    }
    processor_with_64_bits(name)?;
    Ok(for_variants(name.to_owned(), Features::default()))
}

fn processor_with_64_bits(name: &str) -> Result<Processor, UnusableProcessor> {
    let processor = Processor::named(name).ok_or(UnusableProcessor::Unknown)?;
    match HostProcessor::NATIVE.name != "x86_64" || processor.has("64bit") {
        true => Ok(processor),
        false => Err(UnusableProcessor::NotX86_64),
    }
}

/// What LLVM finds that the processor has and has not.
fn host_features() -> Features {
    Features::parse(&TargetMachine::get_host_cpu_features().to_string())
}

fn for_variants(cpu: String, mut features: Features) -> (String, String) {
    features.override_by(&Features::parse(match HostProcessor::NATIVE.name {
        "aarch64" => aarch64::FOR_VARIANTS,
        _ => x86::FOR_VARIANTS,
    }));
    (cpu, features.to_string())
}

/// What a target's rules decide for one function.
type Rule = fn(&Request<'_>, &str) -> Result<Features, RetargetError>;

/// One function's way from the image's processor to the device's.
struct Request<'a> {
    /// The function's name, for messages.
    function: &'a str,
    /// The image's processor; empty if the function names none.
    image_cpu: &'a str,
    image_features: Features,
    features: &'a Features,
}

/// Retargets every definition of the module.
///
/// # Errors
/// When the image's ABI does not allow it; the module is unchanged then.
pub fn retarget(module: &Module<'_>, device: &Device<'_>) -> Result<(), RetargetError> {
    let triple = module.get_triple();
    let triple = triple.as_str().to_string_lossy().into_owned();
    let (cpu, features) = resolve(device, &triple)?;
    let architecture = Triple(&triple).architecture();
    let is_x86 = matches!(architecture, "x86_64" | "i386" | "i686");
    let rule: Rule = match architecture {
        "amdgcn" => amdgpu::features,
        "nvptx" | "nvptx64" => nvptx::features,
        _ if is_x86 => x86::features,
        _ => features::grown,
    };
    if is_x86 && is_bound_to_processor(module) {
        return Ok(());
    }
    if is_x86 {
        refuse_vectors(module, &cpu, &features)?;
    }
    let definitions: Vec<Symbol<'_>> = functions(module)
        .into_iter()
        .filter(|function| !function.is_declaration())
        .collect();
    let mut decided = Vec::with_capacity(definitions.len());
    for &function in &definitions {
        let name = function.name();
        let attribute = |key| function.string_attribute(key).unwrap_or_default();
        let request = Request {
            function: &name,
            image_cpu: &attribute(TARGET_CPU),
            image_features: Features::parse(&attribute(TARGET_FEATURES)),
            features: &features,
        };
        decided.push(device.abridge(rule(&request, &cpu)?.to_string()));
    }
    for (function, features) in definitions.into_iter().zip(decided) {
        function.set_string_attribute(TARGET_CPU, &cpu);
        function.remove_string_attribute(TUNE_CPU);
        if features.is_empty() {
            function.remove_string_attribute(TARGET_FEATURES);
        } else {
            function.set_string_attribute(TARGET_FEATURES, &features);
        }
        if let Some(bits) = device.vector_width {
            function.set_string_attribute(PREFER_VECTOR_WIDTH, &bits.to_string());
        }
    }
    if is_x86 {
        limit_alignment(module, MAPPED_MEMORY_ALIGNMENT_LOGARITHM);
    }
    Ok(())
}

/// The processor's name and features, with `native` looked up.
fn resolve(device: &Device<'_>, triple: &str) -> Result<(String, Features), RetargetError> {
    let asked = Features::parse(device.features);
    if device.cpu != NATIVE {
        if is_unknown_processor(triple, device.cpu) {
            return Err(RetargetError::UnknownProcessor {
                cpu: device.cpu.to_owned(),
                triple: triple.to_owned(),
            });
        }
        return Ok((device.cpu.to_owned(), asked));
    }
    let host = TargetMachine::get_default_triple();
    if Triple(triple).architecture() != Triple(&host.as_str().to_string_lossy()).architecture() {
        return Err(RetargetError::NotNative {
            triple: triple.to_owned(),
        });
    }
    let mut features = host_features();
    features.override_by(&asked);
    Ok((TargetMachine::get_host_cpu_name().to_string(), features))
}

/// Vectors of 256 bits are passed in one register with AVX and in two without, and so on; the other side of a
/// call keeps the image's features.
fn refuse_vectors(module: &Module<'_>, cpu: &str, features: &Features) -> Result<(), RetargetError> {
    // Hardly any code has such vectors, and LLVM takes its time to go through all features.
    let device = LazyCell::new(|| x86::register_bits(cpu, features).unwrap_or(x86::WIDEST_REGISTER));
    for symbol in functions(module) {
        let bits = widest_vector_at_boundary(&symbol);
        if bits <= x86::NARROWEST_REGISTER {
            continue;
        }
        let attribute = |key| symbol.string_attribute(key).unwrap_or_default();
        let image_features = Features::parse(&attribute(TARGET_FEATURES));
        let image = x86::register_bits(&attribute(TARGET_CPU), &image_features);
        let image = image.unwrap_or(x86::NARROWEST_REGISTER);
        if bits > image && *device > image {
            return Err(RetargetError::VectorAtBoundary {
                function: symbol.name(),
                bits,
                cpu: cpu.to_owned(),
            });
        }
    }
    Ok(())
}
