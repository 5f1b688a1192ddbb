//! `nvlink` of a CUDA folder for tests, on the library nvJitLink of the same folder.
//!
//! NVIDIA offers nvlink 12 in no package for Python, and nvlink 13 writes ELF marks that the libomptarget of
//! LLVM 19 refuses. It takes what `clang-nvlink-wrapper` and `clang-linker-wrapper` pass: `-o`, `-arch`,
//! `-L`, `-g`, `-v` and cubins.
#![forbid(unsafe_code)]

use std::env;
use std::ffi::{CString, OsString};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use offloom_nvjitlink::library::{Input, NvJitLink};

/// The library, in the CUDA folder.
const LIBRARY: &str = "lib64/libnvJitLink.so.12";

/// What `nvlink` writes where no option names an output.
const DEFAULT_OUTPUT: &str = "a.out";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where the error stream is closed, nobody reads it.
            let _ = writeln!(std::io::stderr(), "nvlink fatal   : {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let job = Job::parse(env::args_os().skip(1))?;
    let library = offloom_cuda_tools::cuda_folder()?.join(LIBRARY);
    let library = NvJitLink::load(library.as_os_str()).context("`cargo xtask setup` installs it")?;
    let inputs: Result<Vec<_>> = job.inputs.iter().map(|file| input(file)).collect();
    let linked = library.link(&job.options, &inputs?)?;
    let _ = write!(std::io::stderr(), "{}", linked.said);
    let folder = job
        .output
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(&linked.cubin)?;
    file.persist(&job.output)
        .with_context(|| format!("cannot write `{}`", job.output.display()))?;
    Ok(())
}

fn input(file: &Path) -> Result<Input> {
    let bytes = fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let name = CString::new(file.as_os_str().as_bytes())?;
    Ok(Input { name, bytes })
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Job {
    output: PathBuf,
    options: Vec<CString>,
    inputs: Vec<PathBuf>,
}

impl Job {
    fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self> {
        let mut arguments = arguments;
        let mut job = Self {
            output: PathBuf::from(DEFAULT_OUTPUT),
            options: Vec::new(),
            inputs: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let mut value = |what: &str| {
                arguments
                    .next()
                    .with_context(|| format!("option `{what}` needs a value"))
            };
            match text.as_str() {
                "-o" | "--output-file" => job.output = PathBuf::from(value(&text)?),
                "-arch" | "--arch" => {
                    let name = value(&text)?;
                    job.options
                        .push(CString::new(format!("-arch={}", name.to_string_lossy()))?);
                }
                "-g" | "--debug" => job.options.push(c"-g".to_owned()),
                "-v" | "--verbose" => job.options.push(c"-verbose".to_owned()),
                // Folders of libraries: those who call nvlink name members of libraries as files.
                "-L" | "--library-path" => drop(value(&text)?),
                "-m64" => {}
                _ if text.starts_with("-L") => {}
                _ if text.starts_with("-arch=") => job.options.push(CString::new(argument.as_bytes())?),
                _ if text.starts_with('-') => bail!("unknown option `{text}`"),
                _ => job.inputs.push(PathBuf::from(argument)),
            }
        }
        ensure!(!job.inputs.is_empty(), "no input files");
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Job> {
        Job::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_options_of_llvms_wrappers_are_taken() {
        let job = parse("-o out -arch sm_80 -L /folder -L/other -g -v a.cubin b.cubin").unwrap();
        assert_eq!(job.output, Path::new("out"));
        assert_eq!(
            job.options,
            [
                c"-arch=sm_80".to_owned(),
                c"-g".to_owned(),
                c"-verbose".to_owned()
            ]
        );
        assert_eq!(job.inputs, [Path::new("a.cubin"), Path::new("b.cubin")]);
    }

    #[test]
    fn what_cannot_be_done_is_an_error() {
        for line in ["", "-o out -arch sm_80", "-arch", "--relocatable a.cubin"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
