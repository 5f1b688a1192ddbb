//! `nvlink` of a CUDA folder for tests, on the library nvJitLink of the same folder.
//!
//! NVIDIA offers nvlink 12 in no package for Python, and nvlink 13 writes ELF marks that the libomptarget of
//! LLVM 19 refuses. It takes what `clang-nvlink-wrapper` and `clang-linker-wrapper` pass: `-o`, `-arch`,
//! `-L`, `-g`, `-v` and cubins.
#![expect(unsafe_code, reason = "nvJitLink has a C interface")]

use std::env;
use std::ffi::{CString, OsString, c_char, c_int, c_void};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::ptr;

use anyhow::{Context as _, Result, bail, ensure};
use libloading::{Library, Symbol};

/// The library, in the CUDA folder.
const LIBRARY: &str = "lib64/libnvJitLink.so.12";

/// `NVJITLINK_INPUT_ANY`: the library finds out what an input is.
const ANY: c_int = 10;

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
    let linker = Linker::load(&library)?;
    let cubin = linker.link(&job)?;
    let folder = job
        .output
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(&cubin)?;
    file.persist(&job.output)
        .with_context(|| format!("cannot write `{}`", job.output.display()))?;
    Ok(())
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

/// A handle of nvJitLink.
type Handle = *mut c_void;

/// The functions of nvJitLink. Each answers 0 when it could do what it was asked.
struct Linker {
    library: Library,
}

impl Linker {
    fn load(path: &Path) -> Result<Self> {
        // SAFETY: this is NVIDIA's library; loading it runs constructors that ask nothing of us.
        let library = unsafe { Library::new(path) }.with_context(|| {
            format!(
                "cannot load `{}`: `cargo xtask setup` installs it",
                path.display()
            )
        })?;
        Ok(Self { library })
    }

    /// A function of the interface of version 12.0, which each later version has too.
    fn function<F>(&self, name: &str) -> Result<Symbol<'_, F>> {
        let symbol = format!("__nvJitLink{name}_12_0");
        // SAFETY: the callers name types that are those of nvJitLink.h.
        unsafe { self.library.get(symbol.as_bytes()) }.with_context(|| format!("nvJitLink has no `{symbol}`"))
    }

    fn link(&self, job: &Job) -> Result<Vec<u8>> {
        type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
        let create: Symbol<'_, Create> = self.function("Create")?;
        let destroy: Symbol<'_, Destroy> = self.function("Destroy")?;
        let options: Vec<_> = job.options.iter().map(|option| option.as_ptr()).collect();
        let mut handle = ptr::null_mut();
        // SAFETY: the options are strings that outlive the call.
        let code = unsafe { create(&raw mut handle, u32::try_from(options.len())?, options.as_ptr()) };
        ensure!(
            code == 0,
            "nvJitLink does not take {:?} (error {code})",
            job.options
        );
        let linked = self.link_with(handle, job);
        // SAFETY: the handle is the library's and is not used again.
        unsafe { destroy(&raw mut handle) };
        linked
    }

    fn link_with(&self, handle: Handle, job: &Job) -> Result<Vec<u8>> {
        type AddData = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
        type Complete = unsafe extern "C" fn(Handle) -> c_int;
        let add: Symbol<'_, AddData> = self.function("AddData")?;
        let complete: Symbol<'_, Complete> = self.function("Complete")?;
        // The library keeps the pointers to names, for what it says when it completes the link.
        let names = job
            .inputs
            .iter()
            .map(|input| CString::new(input.as_os_str().as_bytes()))
            .collect::<Result<Vec<_>, _>>()?;
        for (input, name) in job.inputs.iter().zip(&names) {
            let bytes = fs::read(input).with_context(|| format!("cannot read `{}`", input.display()))?;
            // SAFETY: the library copies the bytes, and the name outlives its last call here.
            let code = unsafe { add(handle, ANY, bytes.as_ptr().cast(), bytes.len(), name.as_ptr()) };
            if code != 0 {
                bail!(
                    "`{}` (error {code}): {}",
                    input.display(),
                    self.log(handle, "ErrorLog")?
                );
            }
        }
        // SAFETY: the handle is the library's.
        let code = unsafe { complete(handle) };
        if code != 0 {
            bail!("{}(error {code})", self.log(handle, "ErrorLog")?);
        }
        let _ = write!(std::io::stderr(), "{}", self.log(handle, "InfoLog")?);
        self.bytes(handle, "LinkedCubin")
    }

    fn log(&self, handle: Handle, what: &str) -> Result<String> {
        let mut bytes = self.bytes(handle, what)?;
        bytes.retain(|&byte| byte != 0);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What a pair of functions of nvJitLink hands out, one for the size and one for the bytes.
    fn bytes(&self, handle: Handle, what: &str) -> Result<Vec<u8>> {
        type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
        let size_of: Symbol<'_, Size> = self.function(&format!("Get{what}Size"))?;
        let get: Symbol<'_, Get> = self.function(&format!("Get{what}"))?;
        let mut size = 0;
        // SAFETY: the handle is the library's.
        let code = unsafe { size_of(handle, &raw mut size) };
        ensure!(
            code == 0,
            "nvJitLink does not say how large its {what} is (error {code})"
        );
        let mut bytes = vec![0_u8; size];
        if size == 0 {
            return Ok(bytes);
        }
        // SAFETY: there is room for as many bytes as the library asked for.
        let code = unsafe { get(handle, bytes.as_mut_ptr().cast()) };
        ensure!(code == 0, "nvJitLink does not hand out its {what} (error {code})");
        Ok(bytes)
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
