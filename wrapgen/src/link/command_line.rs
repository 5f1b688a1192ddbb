//! Splits a linker wrapper's command line into the wrapper's own options and the host linker's command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use offloom_abi::OffloadKind;

use super::host_command::{HostArgument, HostCommand, Role};
use super::jobs::Jobs;
use super::options::{self, Meaning, Owner, Shape};
use crate::error::{Error, Result};

/// A command line, taken apart.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// What the wrapper was told.
    pub options: Options,
    /// What the host linker was told.
    pub host: HostCommand,
}

/// The wrapper's own options.
#[derive(Debug, Default)]
pub struct Options {
    /// `--device-linker=`, in order.
    pub device_linker: Vec<TargetArgument>,
    /// `--device-compiler=`, in order.
    pub device_compiler: Vec<TargetArgument>,
    /// `--override-image=`: programming model and file.
    pub override_images: Vec<(String, PathBuf)>,
    /// `--opt-level=`, such as `O2`.
    pub opt_level: Option<String>,
    /// `--should-extract=`.
    pub should_extract: Vec<String>,
    /// `-mllvm`, `--offload-opt=` and `--pass-remarks...=` as such, in order.
    pub llvm_arguments: Vec<OsString>,
    /// `--ptxas-arg=`, in order.
    pub ptxas_arguments: Vec<OsString>,
    /// `--cuda-path=`.
    pub cuda_path: Option<PathBuf>,
    /// `--dry-run`.
    pub dry_run: bool,
    /// `--wrapper-verbose`.
    pub verbose: bool,
    /// `--print-phases`.
    pub print_phases: bool,
    /// `--time`.
    pub time: bool,
    /// `--wrapper-time-trace=`: the file to write.
    pub time_trace: Option<PathBuf>,
    /// `--save-temps`.
    pub save_temps: bool,
    /// `--print-wrapped-module`.
    pub print_wrapped_module: bool,
    /// `--embed-bitcode`.
    pub embed_bitcode: bool,
    /// `--wrapper-jobs=`.
    pub jobs: Jobs,
    /// `--bitcode-library=` and `--builtin-bitcode=`, in order.
    pub bitcode_libraries: Vec<BitcodeLibrary>,
    /// `--emit-fatbin-only`.
    pub emit_fatbin_only: bool,
    /// `--compress`.
    pub compress: bool,
    /// `--compression-level=`.
    pub compression_level: Option<String>,
    /// `--device-debug`.
    pub device_debug: bool,
    /// `-r`.
    pub relocatable: bool,
    /// `--jit` or `--jit=only`, also behind `--device-linker=`.
    pub jit: Option<JitForm>,
    /// `--help`.
    pub help: bool,
    /// `--version`.
    pub version: bool,
}

/// What a program for the JIT holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitForm {
    /// An image, and bitcode to make variants of.
    WithImage,
    /// Bitcode alone: the image is made of it when the program starts.
    Only,
}

/// A file of device bitcode that an option names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitcodeLibrary {
    /// The programming model it belongs to; none for `--builtin-bitcode=`.
    pub kind: OffloadKind,
    /// Target triple.
    pub triple: String,
    /// Processor; `generic` for `--builtin-bitcode=`.
    pub arch: String,
    /// The file.
    pub path: PathBuf,
}

/// An argument for all device targets or for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetArgument {
    /// The target triple it is for, if it names one.
    pub triple: Option<String>,
    /// The argument.
    pub value: OsString,
}

impl CommandLine {
    /// Takes `arguments`, without the program's name and with response files expanded, apart.
    ///
    /// # Errors
    /// The last option lacks its value, or an option's value is not text.
    pub fn parse(arguments: Vec<OsString>) -> Result<Self> {
        let mut line = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(word) = arguments.next() {
            let Some(row) = options::find(word.as_bytes()) else {
                let role = match word.as_bytes().first() {
                    Some(b'-') => Role::Other,
                    _ => Role::Input(PathBuf::from(&word)),
                };
                line.host.arguments.push(HostArgument {
                    words: vec![word],
                    role,
                });
                continue;
            };
            let joined = &word.as_bytes()[row.spelling.len()..];
            let (value, words) = match row.shape {
                Shape::Flag => (OsString::new(), vec![word]),
                Shape::Joined => (OsString::from_vec(joined.to_vec()), vec![word]),
                Shape::JoinedOrSeparate if !joined.is_empty() => {
                    (OsString::from_vec(joined.to_vec()), vec![word])
                }
                Shape::Separate | Shape::JoinedOrSeparate => match arguments.next() {
                    Some(value) => (value.clone(), vec![word, value]),
                    // The host linker may know an option of this name without a value, or report it in its
                    // own words.
                    None if row.owner == Owner::HostLinker => (OsString::new(), vec![word]),
                    None => return Err(Error::Usage(format!("{} needs a value", row.spelling))),
                },
            };
            let role = line.apply(row.meaning, value)?;
            if row.owner != Owner::Wrapper {
                line.host.arguments.push(HostArgument { words, role });
            }
        }
        Ok(line)
    }

    /// Notes an option; returns what it means as an argument of the host linker.
    fn apply(&mut self, meaning: Meaning, value: OsString) -> Result<Role> {
        let options = &mut self.options;
        match meaning {
            Meaning::LinkerPath => self.host.linker = Some(value.into()),
            Meaning::HostTriple => self.host.triple = text(meaning, value)?,
            Meaning::CudaPath => options.cuda_path = Some(value.into()),
            Meaning::DeviceLinker => {
                let argument = TargetArgument::parse(&value);
                match argument.value.to_str() {
                    Some("--jit") => options.jit = Some(JitForm::WithImage),
                    Some("--jit=only") => options.jit = Some(JitForm::Only),
                    _ => options.device_linker.push(argument),
                }
            }
            Meaning::DeviceCompiler => options.device_compiler.push(TargetArgument::parse(&value)),
            Meaning::DryRun => options.dry_run = true,
            Meaning::Verbose => options.verbose = true,
            Meaning::PrintPhases => options.print_phases = true,
            Meaning::Time => options.time = true,
            Meaning::TimeTrace => options.time_trace = Some(value.into()),
            Meaning::SaveTemps => options.save_temps = true,
            Meaning::PrintWrappedModule => options.print_wrapped_module = true,
            Meaning::EmbedBitcode => options.embed_bitcode = true,
            Meaning::Jobs => options.jobs = Jobs::parse(&text(meaning, value)?)?,
            Meaning::BitcodeLibrary => {
                let library = BitcodeLibrary::parse(&text(meaning, value)?)?;
                options.bitcode_libraries.push(library);
            }
            Meaning::BuiltinBitcode => {
                let library = BitcodeLibrary::parse_builtin(&text(meaning, value)?)?;
                options.bitcode_libraries.push(library);
            }
            Meaning::EmitFatbinOnly => options.emit_fatbin_only = true,
            Meaning::Compress => options.compress = true,
            Meaning::CompressionLevel => options.compression_level = Some(text(meaning, value)?),
            Meaning::OverrideImage => {
                let text = text(meaning, value)?;
                let (kind, file) = text.split_once('=').ok_or_else(|| {
                    Error::Usage(format!(
                        "--override-image={text}: give <kind>=<file>, such as openmp=device.so"
                    ))
                })?;
                options.override_images.push((kind.to_owned(), file.into()));
            }
            Meaning::OptLevel => options.opt_level = Some(text(meaning, value)?),
            Meaning::DeviceDebug => options.device_debug = true,
            Meaning::Llvm | Meaning::OffloadOpt => options.llvm_arguments.push(value),
            Meaning::PtxasArgument => options.ptxas_arguments.push(value),
            Meaning::PassRemarks => options.llvm_option("-pass-remarks=", &value),
            Meaning::PassRemarksMissed => options.llvm_option("-pass-remarks-missed=", &value),
            Meaning::PassRemarksAnalysis => options.llvm_option("-pass-remarks-analysis=", &value),
            Meaning::ShouldExtract => options.should_extract.push(text(meaning, value)?),
            Meaning::Jit => options.jit = Some(JitForm::WithImage),
            Meaning::JitOnly => options.jit = Some(JitForm::Only),
            Meaning::Help => options.help = true,
            Meaning::Version | Meaning::ShortVersion => options.version = true,
            Meaning::Sysroot => self.host.sysroot = Some(value.into()),
            Meaning::Output => return Ok(Role::Output(value.into())),
            Meaning::LibraryPath => return Ok(Role::LibraryPath(value)),
            Meaning::Library => return Ok(Role::Library(value)),
            Meaning::RunPath => return Ok(Role::RunPath(value)),
            Meaning::WholeArchive => return Ok(Role::WholeArchive(true)),
            Meaning::NoWholeArchive => return Ok(Role::WholeArchive(false)),
            Meaning::Static => return Ok(Role::Static(true)),
            Meaning::WholeProgramStatic => return Ok(Role::WholeProgramStatic),
            Meaning::Dynamic => return Ok(Role::Static(false)),
            Meaning::AsNeeded => return Ok(Role::AsNeeded(true)),
            Meaning::NoAsNeeded => return Ok(Role::AsNeeded(false)),
            Meaning::PushState => return Ok(Role::PushState),
            Meaning::PopState => return Ok(Role::PopState),
            Meaning::StartLib => return Ok(Role::Lib(true)),
            Meaning::EndLib => return Ok(Role::Lib(false)),
            Meaning::StartGroup => return Ok(Role::Group(true)),
            Meaning::EndGroup => return Ok(Role::Group(false)),
            Meaning::Undefined => return Ok(Role::Undefined(value)),
            Meaning::Entry => return Ok(Role::Entry(value)),
            Meaning::ChangesSymbols => return Ok(Role::ChangesSymbols),
            Meaning::DependencyFile => return Ok(Role::DependencyFile(value.into())),
            Meaning::Relocatable => options.relocatable = true,
            Meaning::Ignored | Meaning::Host => {}
        }
        Ok(Role::Other)
    }
}

impl Options {
    fn llvm_option(&mut self, option: &str, value: &OsStr) {
        let mut word = OsString::from(option);
        word.push(value);
        self.llvm_arguments.push(word);
    }
}

fn text(meaning: Meaning, value: OsString) -> Result<String> {
    value.into_string().map_err(|value| {
        Error::Usage(format!(
            "the value of {meaning:?} is not UTF-8: {}",
            value.display()
        ))
    })
}

impl BitcodeLibrary {
    /// `<kind>-<triple>-<arch>=<file>`.
    fn parse(text: &str) -> Result<Self> {
        let parts = || {
            let (target, path) = text.split_once('=')?;
            let (target, arch) = target.rsplit_once('-')?;
            let (kind, triple) = target.split_once('-')?;
            Some(Self {
                kind: OffloadKind::ALL.into_iter().find(|known| known.name() == kind)?,
                triple: triple.to_owned(),
                arch: arch.to_owned(),
                path: path.into(),
            })
        };
        parts().ok_or_else(|| {
            Error::Usage(format!(
                "--bitcode-library={text}: give <kind>-<triple>-<arch>=<file>, such as \
                 openmp-nvptx64-nvidia-cuda-sm_80=device.bc"
            ))
        })
    }

    /// `<triple>=<file>`.
    fn parse_builtin(text: &str) -> Result<Self> {
        let (triple, path) = text.split_once('=').ok_or_else(|| {
            Error::Usage(format!(
                "--builtin-bitcode={text}: give <triple>=<file>, such as nvptx64-nvidia-cuda=libdevice.bc"
            ))
        })?;
        Ok(Self {
            kind: OffloadKind::None,
            triple: triple.to_owned(),
            arch: "generic".to_owned(),
            path: path.into(),
        })
    }
}

impl TargetArgument {
    /// `<triple>=<value>`, or just a value, which may hold `=` as well.
    fn parse(argument: &OsStr) -> Self {
        // The value need not be text.
        let bytes = argument.as_bytes();
        let split = bytes.iter().position(|&byte| byte == b'=').and_then(|at| {
            let triple = str::from_utf8(&bytes[..at]).ok()?;
            Some((triple, OsStr::from_bytes(&bytes[at + 1..])))
        });
        match split {
            Some((triple, value)) if is_triple(triple) && !value.is_empty() => Self {
                triple: Some(triple.to_owned()),
                value: value.to_owned(),
            },
            _ => Self {
                triple: None,
                value: argument.to_owned(),
            },
        }
    }

    /// Whether it is for the target `triple`.
    pub fn is_for(&self, triple: &str) -> bool {
        self.triple.as_deref().is_none_or(|own| own == triple)
    }
}

/// Whether a text starts as a target triple does: with the name of an architecture.
fn is_triple(text: &str) -> bool {
    const ARCHITECTURES: [&str; 16] = [
        "x86_64",
        "i386",
        "i686",
        "aarch64",
        "arm",
        "amdgcn",
        "nvptx",
        "nvptx64",
        "powerpc64",
        "powerpc64le",
        "ppc64le",
        "riscv64",
        "s390x",
        "spirv",
        "spirv64",
        "loongarch64",
    ];
    let name = text.split('-').next().unwrap_or_default();
    ARCHITECTURES.contains(&name)
}

#[cfg(test)]
mod tests;
