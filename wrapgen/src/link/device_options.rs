//! What the command line says about compiling and linking for one device target.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::command_line::Options;

/// The options that concern one target, sorted by the tool that they are for.
#[derive(Debug, Default)]
pub struct DeviceOptions<'a> {
    /// The number behind `-O`, with the sizes and `fast` as the device linkers take them.
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
    pub ptxas: Vec<&'a OsStr>,
    /// For the device linker.
    pub linker: Vec<OsString>,
    /// Everything for the device compiler, as given.
    pub compiler: Vec<&'a OsStr>,
    /// Whether some of that is none of the above, so that only Clang can say what it means.
    pub needs_clang: bool,
}

impl<'a> DeviceOptions<'a> {
    /// What of `options` is for the target `triple`.
    pub fn new(options: &'a Options, triple: &str) -> Self {
        let mut device = Self {
            level: options.opt_level.as_deref().and_then(level),
            debug: options.device_debug,
            llvm: options.llvm_arguments.clone(),
            ptxas: options.ptxas_arguments.iter().map(OsString::as_os_str).collect(),
            ..Self::default()
        };
        for argument in options
            .device_linker
            .iter()
            .filter(|argument| argument.is_for(triple))
        {
            // LLVM 19 hands these to Clang, so that people spell them for it.
            match argument.value.as_bytes().strip_prefix(b"-Wl,") {
                None => device.linker.push(argument.value.clone()),
                Some(words) => {
                    let words = words.split(|&byte| byte == b',');
                    device
                        .linker
                        .extend(words.map(|word| OsStr::from_bytes(word).to_owned()));
                }
            }
        }
        let arguments = options
            .device_compiler
            .iter()
            .filter(|argument| argument.is_for(triple));
        device.compiler = arguments.map(|argument| argument.value.as_os_str()).collect();
        let mut arguments = device.compiler.clone().into_iter();
        while let Some(argument) = arguments.next() {
            device.note(argument, &mut arguments);
        }
        device
    }

    /// Notes one option of the compiler.
    fn note(&mut self, argument: &OsStr, rest: &mut impl Iterator<Item = &'a OsStr>) {
        match argument.to_str() {
            Some("-g") => self.debug = true,
            // What is run is printed and kept by options of our own.
            Some("-v" | "-save-temps" | "-save-temps=cwd") => {}
            Some("-flto" | "-flto=full") => self.lto = true,
            Some("-flto=thin") => (self.lto, self.thin_lto) = (true, true),
            Some("-Xcuda-ptxas") => self.ptxas.extend(rest.next()),
            Some("-mllvm") => self.llvm.extend(rest.next().map(OsStr::to_owned)),
            Some(text) => {
                let remarks = text.strip_prefix("-Rpass").and_then(|text| text.split_once('='));
                match (text.strip_prefix("-O"), remarks) {
                    (Some(text), _) if level(text).is_some() => self.level = level(text),
                    (_, Some((kind @ ("" | "-missed" | "-analysis"), pattern))) => {
                        self.llvm.push(format!("-pass-remarks{kind}={pattern}").into());
                    }
                    _ => self.needs_clang = true,
                }
            }
            None => self.needs_clang = true,
        }
    }
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
    use super::super::command_line::CommandLine;
    use super::*;

    fn device<R>(words: &[&str], check: impl FnOnce(DeviceOptions<'_>) -> R) -> R {
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
            assert!(device.lto && device.thin_lto && !device.needs_clang && !device.debug);
            assert_eq!(device.ptxas, ["-v", "--maxrregcount=32"]);
            assert_eq!(device.llvm, ["-pass-remarks=loop", "-pass-remarks-missed=inline"]);
            assert_eq!(device.linker, ["-a", "-b"]);
        });
        device(&["--opt-level=O1", "--device-debug"], |device| {
            assert_eq!((device.level, device.debug), (Some(1), true));
        });
        device(&["--device-compiler=-ffast-math"], |device| {
            assert!(device.needs_clang);
        });
    }
}
