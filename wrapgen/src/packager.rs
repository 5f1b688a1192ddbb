//! The drop-in for `clang-offload-packager` (LLVM 19) and `llvm-offload-binary` (LLVM 22): their arguments,
//! and the same files as a result.
//!
//! LLVM's option syntax is looser than clap's: one dash or two, `-o X` or `-o=X`, the last `-o` counts.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use offloom_abi::ContainerFormat;

use crate::LLVM;
use crate::error::{Error, Result};
use crate::extract::extract;
use crate::image_argument::ImageArgument;
use crate::messages::say;
use crate::output::{self, write_file};
use crate::pack::pack;
use crate::response_file;

const HELP: &str = "\
Puts device images into one file of OffloadBinary members, or takes them out again.

USAGE: {name} -o <file> --image=file=<file>,triple=<triple>[,arch=<arch>][,kind=<kind>][,<key>=<value>]...
       {name} <file> --image=[file=<output>][,triple=<triple>][,arch=<arch>][,kind=<kind>]...

OPTIONS:
  --archive                   - Write extracted images to a static library
  --help                      - Show this text
  --image=<key>=<value>,...   - An image to pack, or which images to extract
  -o <file>                   - Pack into <file>
  --version                   - Show the version
";

/// Runs the drop-in called `name` with its whole command line, the program's own name first.
///
/// # Errors
/// What `wrapgen pack` and `wrapgen extract` report, and an unknown option.
pub fn run(name: &str, arguments: &[OsString]) -> Result<ExitCode> {
    let arguments = response_file::expand(arguments.iter().skip(1).cloned())?;
    match Options::parse(&arguments)? {
        Request::Help => output::print(&HELP.replace("{name}", name))?,
        Request::Version => {
            let version = env!("CARGO_PKG_VERSION");
            output::print(&format!(
                "{name} of wrapgen {version}, for LLVM {}\n",
                LLVM.major()
            ))?;
        }
        Request::Run(options) => options.run()?,
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, PartialEq, Eq)]
enum Request {
    Help,
    Version,
    Run(Options),
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    output: Option<PathBuf>,
    input: Option<PathBuf>,
    images: Vec<ImageArgument>,
    archive: bool,
}

impl Options {
    fn parse(arguments: &[OsString]) -> Result<Request> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        let mut only_files = false;
        while let Some(argument) = arguments.next() {
            let text = argument.display();
            let option = match argument.as_bytes().strip_prefix(b"-") {
                Some(option) if !option.is_empty() && !only_files => option,
                _ => {
                    if let Some(first) = options.input.replace(PathBuf::from(argument)) {
                        return Err(Error::Usage(format!(
                            "one input at a time: both '{}' and '{text}' are given",
                            first.display()
                        )));
                    }
                    continue;
                }
            };
            let option = option.strip_prefix(b"-").unwrap_or(option);
            // A value need not be text.
            let (key, value) = match option.iter().position(|&byte| byte == b'=') {
                Some(at) => (&option[..at], Some(OsStr::from_bytes(&option[at + 1..]))),
                None => (option, None),
            };
            let mut required_value = || match value {
                Some(value) => Ok(value.to_owned()),
                None => match arguments.next() {
                    Some(value) => Ok(value.clone()),
                    None => Err(Error::Usage(format!("option '{text}' needs a value"))),
                },
            };
            // No option is spelled in anything but text.
            let word = |bytes| str::from_utf8(bytes).unwrap_or("\u{fffd}");
            match (word(key), value.map(|value| word(value.as_bytes()))) {
                ("", None) => only_files = true,
                ("o", _) => options.output = Some(required_value()?.into()),
                ("image", _) => options.images.push(ImageArgument::from(required_value()?)),
                ("archive", None | Some("true" | "1")) => options.archive = true,
                ("archive", Some("false" | "0")) => options.archive = false,
                ("h" | "help" | "help-list" | "help-hidden" | "help-list-hidden", None) => {
                    return Ok(Request::Help);
                }
                // What LLVM's parser of command lines shows of itself.
                ("print-options" | "print-all-options", None) => {}
                ("version", None) => return Ok(Request::Version),
                _ => {
                    return Err(Error::Usage(format!(
                        "unknown option '{text}'; --help lists the known ones"
                    )));
                }
            }
        }
        Ok(if options.output.is_none() && options.input.is_none() {
            Request::Help
        } else {
            Request::Run(options)
        })
    }

    fn run(mut self) -> Result<()> {
        for image in &mut self.images {
            if let Some(kind) = image.drop_unknown_kind() {
                say(format_args!(
                    "warning: --image={}: the offload kind '{kind}' is unknown, so it is none",
                    image.text().display()
                ));
            }
        }
        match (&self.output, &self.input) {
            (Some(output), Some(input)) => Err(Error::Usage(format!(
                "either pack into '{}' or extract from '{}', not both",
                output.display(),
                input.display()
            ))),
            // The stock tools write an empty file, or a container of nothing.
            (Some(output), None)
                if self.images.is_empty() && LLVM.containers == ContainerFormat::Version1 =>
            {
                write_file(output, &[])
            }
            (Some(output), None) => pack(&self.images, output),
            (None, Some(input)) => self.extract(input),
            (None, None) => Ok(()),
        }
    }

    /// An image that is not there is no error to the stock tools. Since LLVM 23 they write all where none is
    /// asked for.
    fn extract(&self, input: &Path) -> Result<()> {
        let everything = [ImageArgument::from("")];
        let images = match LLVM.containers {
            ContainerFormat::Version2 if self.images.is_empty() => &everything[..],
            _ => &self.images,
        };
        let archive = self.archive && !self.images.is_empty();
        for argument in extract(input, images, archive)? {
            say(format_args!(
                "warning: '{}' holds no image that matches --image={}",
                input.display(),
                argument.display()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Request> {
        Options::parse(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn spellings_of_llvm_options() {
        let expected = Request::Run(Options {
            output: Some("m".into()),
            images: vec![ImageArgument::from("file=a.o,triple=t")],
            ..Options::default()
        });
        for arguments in [
            &["-o", "m", "--image=file=a.o,triple=t"][..],
            &["-o=m", "-image", "file=a.o,triple=t"],
            &["--image", "file=a.o,triple=t", "--o", "first", "--o", "m"],
        ] {
            assert_eq!(parse(arguments).unwrap(), expected, "{arguments:?}");
        }
        let Request::Run(options) = parse(&["--archive", "--", "-in"]).unwrap() else {
            panic!("not run")
        };
        assert_eq!(options.input, Some("-in".into()));
        assert!(options.archive);
    }

    #[test]
    fn files_need_not_have_names_that_are_text() {
        let word = |bytes| OsStr::from_bytes(bytes).to_owned();
        let expected = Request::Run(Options {
            output: Some(word(b"\xff/m").into()),
            images: vec![ImageArgument::from(word(b"file=\xff/a.o,triple=t"))],
            ..Options::default()
        });
        for arguments in [
            &[&b"-o"[..], b"\xff/m", b"--image=file=\xff/a.o,triple=t"][..],
            &[b"-o=\xff/m", b"--image", b"file=\xff/a.o,triple=t"],
        ] {
            let arguments: Vec<_> = arguments.iter().map(|bytes| word(bytes)).collect();
            assert_eq!(Options::parse(&arguments).unwrap(), expected);
        }
        let error = Options::parse(&[word(b"-\xff")]).unwrap_err().to_string();
        assert!(error.contains("unknown option '-\u{fffd}'"), "{error}");
    }

    #[test]
    fn refused_command_lines() {
        for arguments in [
            &["--bogus"][..],
            &["-om"],
            &["-o"],
            &["a", "b"],
            &["--archive=maybe", "a"],
        ] {
            assert!(matches!(parse(arguments), Err(Error::Usage(_))), "{arguments:?}");
        }
        assert_eq!(parse(&[]).unwrap(), Request::Help);
    }
}
