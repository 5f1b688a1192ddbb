//! What the command line says about compiling and linking for one device target.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use offloom_abi::version::DeviceLinkDriver;

use super::super::command_line::{Options, TargetArgument};
use crate::LLVM;

/// The options that concern one target, sorted by the tool that they are for.
#[derive(Debug, Default)]
pub struct DeviceOptions {
    /// The number behind `-O`, with the sizes and `fast` as the device linkers take them; `None`: nothing was
    /// said.
    pub level: Option<u8>,
    /// Device code keeps its debug information.
    pub debug: bool,
    /// `-flto` in any form.
    pub lto: bool,
    /// `-flto=thin`.
    pub thin_lto: bool,
    /// For LLVM, as behind `-mllvm`.
    pub llvm: Vec<OsString>,
    /// For `ptxas`.
    pub ptxas: Vec<OsString>,
    /// For the device linker.
    pub linker: Vec<OsString>,
    /// Everything for the device compiler, as given.
    pub compiler: Vec<OsString>,
    /// What of that is none of the above, so that only Clang can say what it means.
    pub for_clang: Vec<OsString>,
}

impl DeviceOptions {
    /// What of `options` is for the target `triple`.
    pub fn new(options: &Options, triple: &str) -> Self {
        let mut device = Self {
            level: options.opt_level.as_deref().and_then(level),
            debug: options.device_debug,
            llvm: options.llvm_arguments.clone(),
            ptxas: options.ptxas_arguments.clone(),
            ..Self::default()
        };
        let mut for_linker = values(&options.device_linker, triple);
        while let Some(word) = for_linker.next() {
            device.note_for_linker(word, &mut for_linker);
        }
        let mut for_compiler = values(&options.device_compiler, triple);
        while let Some(word) = for_compiler.next() {
            device.note_for_compiler(word, &mut for_compiler);
        }
        device
    }

    /// The level of the link, whether it was told one or not, as the driver of each release passes it.
    pub fn level_of_link(&self) -> u8 {
        self.level.unwrap_or(DEFAULT_LEVEL)
    }

    /// What code for a GPU that is made at run time is assembled with, as far as the image's code is.
    pub fn assembler_arguments(&self) -> Vec<OsString> {
        let debug = self.debug.then(|| OsString::from("-lineinfo"));
        self.ptxas.iter().cloned().chain(debug).collect()
    }

    /// Whether only Clang can say what some option means.
    pub fn needs_clang(&self) -> bool {
        !self.for_clang.is_empty()
    }

    /// Whether the linker is told how to compile bitcode, so that it has to do so itself.
    pub fn linker_compiles(&self) -> bool {
        let of_lto = |word: &OsString| LTO_WORDS.iter().any(|start| word.as_bytes().starts_with(start));
        !self.llvm.is_empty() || self.linker.iter().any(of_lto)
    }

    /// How lld is to compile bitcode, in its own words.
    pub fn lto_words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(level) = self.level {
            words.push(format!("-plugin-opt=O{level}").into());
            words.push(format!("--lto-CGO{level}").into());
        }
        if self.thin_lto {
            words.push("-plugin-opt=thinlto".into());
        }
        for option in &self.llvm {
            match own_word_of_lld(option) {
                Some(word) => words.push(word),
                None => words.extend(["-mllvm".into(), option.clone()]),
            }
        }
        words
    }

    /// Notes one word for the linker.
    fn note_for_linker<'a>(&mut self, word: &OsStr, rest: &mut impl Iterator<Item = &'a OsStr>) {
        match word.as_bytes() {
            b"-mllvm" => self.llvm.extend(rest.next().map(OsStr::to_owned)),
            // LLVM 19 hands these words to Clang, so that people spell them for it.
            bytes if bytes.starts_with(b"-Wl,") => {
                let words = bytes[4..].split(|&byte| byte == b',');
                self.linker
                    .extend(words.map(|word| OsStr::from_bytes(word).to_owned()));
            }
            b"-Xlinker" => self.linker.extend(rest.next().map(OsStr::to_owned)),
            bytes if LLVM.device_links == DeviceLinkDriver::Wrapper && is_for_clang_alone(bytes) => {
                self.note_for_compiler(word, rest);
            }
            _ => self.linker.push(word.to_owned()),
        }
    }

    /// Notes one word for the compiler.
    fn note_for_compiler<'a>(&mut self, word: &OsStr, rest: &mut impl Iterator<Item = &'a OsStr>) {
        self.compiler.push(word.to_owned());
        let mut value = || {
            let value = rest.next().map(OsStr::to_owned);
            self.compiler.extend(value.clone());
            value
        };
        match word.to_str() {
            Some("-g") => self.debug = true,
            // Forms of debug information are up to the compiler, and CUDA's folder is an option of ours, too.
            Some(text) if text.starts_with("-gdwarf") || text.starts_with("--cuda-path=") => {}
            // What is run is printed and kept by options of our own.
            Some("-v" | "-save-temps" | "-save-temps=cwd" | "-save-temps=obj" | "-fno-lto") => {}
            Some("-flto" | "-flto=full") => self.lto = true,
            Some("-flto=thin") => (self.lto, self.thin_lto) = (true, true),
            Some("-Xcuda-ptxas") => self.ptxas.extend(value()),
            Some("-mllvm") => self.llvm.extend(value()),
            Some(text) => {
                let remarks = text.strip_prefix("-Rpass").and_then(|text| text.split_once('='));
                match (text.strip_prefix("-O"), remarks) {
                    (Some(text), _) if level(text).is_some() => self.level = level(text),
                    (_, Some((kind @ ("" | "-missed" | "-analysis"), pattern))) => {
                        self.llvm.push(format!("-pass-remarks{kind}={pattern}").into());
                    }
                    _ => self.for_clang.push(word.to_owned()),
                }
            }
            None => self.for_clang.push(word.to_owned()),
        }
    }
}

/// The level of a link that is told none.
const DEFAULT_LEVEL: u8 = 2;

/// The arguments that are for the target `triple`.
fn values<'a>(arguments: &'a [TargetArgument], triple: &str) -> impl Iterator<Item = &'a OsStr> {
    arguments
        .iter()
        .filter(move |argument| argument.is_for(triple))
        .map(|argument| argument.value.as_os_str())
}

/// How options of linkers start that say how bitcode is compiled.
const LTO_WORDS: [&[u8]; 9] = [
    b"-plugin-opt",
    b"--plugin-opt",
    b"--lto-",
    b"-lto-",
    b"--load-pass-plugin",
    b"-load-pass-plugin",
    b"--opt-remarks-",
    b"-opt-remarks-",
    b"--mllvm",
];

/// Options that LLVM 19's linker wrapper defines beside those of LLVM's libraries, and what lld calls the
/// same.
const OPTIONS_OF_THE_WRAPPER: [(&str, &str); 8] = [
    ("load-pass-plugin=", "--load-pass-plugin="),
    ("passes=", "--lto-newpm-passes="),
    ("p=", "--lto-newpm-passes="),
    ("pass-remarks-output=", "-plugin-opt=opt-remarks-filename="),
    ("pass-remarks-filter=", "-plugin-opt=opt-remarks-passes="),
    ("pass-remarks-format=", "-plugin-opt=opt-remarks-format="),
    (
        "pass-remarks-with-hotness",
        "-plugin-opt=opt-remarks-with-hotness",
    ),
    (
        "pass-remarks-hotness-threshold=",
        "-plugin-opt=opt-remarks-hotness-threshold=",
    ),
];

fn own_word_of_lld(option: &OsStr) -> Option<OsString> {
    let text = option.to_str()?;
    let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-'))?;
    OPTIONS_OF_THE_WRAPPER.iter().find_map(|(own, word)| {
        let value = name.strip_prefix(own)?;
        Some(format!("{word}{value}").into())
    })
}

/// Whether a word, spelled for Clang, is none that Clang hands on to the linker as it is.
fn is_for_clang_alone(word: &[u8]) -> bool {
    matches!(
        word,
        [
            b'-',
            b'f' | b'g' | b'm' | b'n' | b'O' | b'R' | b'v' | b'W' | b'X',
            ..
        ]
    ) || word.starts_with(b"-static")
        || word.starts_with(b"-shared")
        || word.starts_with(b"-save-temps")
}

/// The number for what stands behind `-O`, with or without the letter itself.
fn level(text: &str) -> Option<u8> {
    match text.trim_start_matches('O') {
        "0" => Some(0),
        "" | "1" | "g" => Some(1),
        "2" | "s" | "z" => Some(2),
        "3" | "4" | "fast" => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::command_line::CommandLine;
    use super::*;

    fn device<R>(words: &[&str], check: impl FnOnce(DeviceOptions) -> R) -> R {
        let line = CommandLine::parse(words.iter().map(OsString::from).collect()).unwrap();
        check(DeviceOptions::new(&line.options, "nvptx64-nvidia-cuda"))
    }

    #[test]
    fn options_go_to_the_tool_they_are_for() {
        let words = [
            "--device-compiler=nvptx64-nvidia-cuda=-Os",
            "--device-compiler=amdgcn-amd-amdhsa=-O0",
            "--device-compiler=-flto=thin",
            "--device-compiler=-Xcuda-ptxas",
            "--device-compiler=--maxrregcount=32",
            "--ptxas-arg=-v",
            "--device-compiler=-Rpass-missed=inline",
            "--pass-remarks=loop",
            "--device-linker=-Wl,-a,-b",
        ];
        device(&words, |device| {
            assert_eq!(device.level, Some(2));
            assert!(device.lto && device.thin_lto && !device.needs_clang() && !device.debug);
            assert_eq!(device.ptxas, ["-v", "--maxrregcount=32"]);
            assert_eq!(device.llvm, ["-pass-remarks=loop", "-pass-remarks-missed=inline"]);
            assert_eq!(device.linker, ["-a", "-b"]);
        });
        device(&["--opt-level=O1", "--device-debug"], |device| {
            assert_eq!((device.level, device.debug), (Some(1), true));
        });
        device(
            &["--device-compiler=-Xclang", "--device-compiler=-ffast-math"],
            |device| {
                assert_eq!(device.for_clang, ["-Xclang", "-ffast-math"]);
            },
        );
    }

    #[test]
    fn lld_is_told_how_to_compile_bitcode() {
        device(&["--device-linker=-Lfolder", "--opt-level=O3"], |device| {
            assert!(!device.linker_compiles());
            assert_eq!(device.lto_words(), ["-plugin-opt=O3", "--lto-CGO3"]);
        });
        let words = ["--device-linker=-mllvm", "--device-linker=-an-option"];
        device(&words, |device| {
            assert!(device.linker_compiles() && device.linker.is_empty());
            assert_eq!(device.lto_words(), ["-mllvm", "-an-option"]);
        });
        let words = [
            "--offload-opt=-load-pass-plugin=passes.so",
            "--offload-opt=--passes=x",
        ];
        device(&words, |device| {
            let expected = ["--load-pass-plugin=passes.so", "--lto-newpm-passes=x"];
            assert_eq!(device.lto_words(), expected);
        });
        device(&["--device-linker=--load-pass-plugin=passes.so"], |device| {
            assert!(device.linker_compiles());
        });
    }

    #[test]
    fn the_linkers_words_are_those_of_the_release() {
        device(
            &["--device-linker=-march=sm_80", "--device-linker=--trace"],
            |device| {
                let clang: &[&str] = if LLVM.device_links == DeviceLinkDriver::Wrapper {
                    &["-march=sm_80"]
                } else {
                    &[]
                };
                assert_eq!(device.for_clang, clang);
                assert_eq!(device.linker.last().unwrap(), "--trace");
            },
        );
    }
}
