//! The library. Source: `nvJitLink.h`.
#![expect(unsafe_code, reason = "nvJitLink has a C interface")]

use std::ffi::{CString, OsStr, c_char, c_int, c_uint, c_void};
use std::fs;
use std::path::PathBuf;
use std::ptr;

use libloading::{Library, Symbol};

use crate::error::NvJitLinkError;

/// `NVJITLINK_INPUT_ANY`: the library finds out what an input is.
const ANY: c_int = 10;

/// A handle of nvJitLink.
type Handle = *mut c_void;

/// One input: PTX, which ends with a NUL, or a cubin.
#[derive(Debug, Clone)]
pub struct Input {
    /// For messages.
    pub name: CString,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What comes out.
#[derive(Debug, Clone)]
pub struct Linked {
    /// The cubin.
    pub cubin: Vec<u8>,
    /// What the library says of it, if it was asked to.
    pub said: String,
}

/// The library. Each of its functions answers 0 when it could do what it was asked.
#[derive(Debug)]
pub struct NvJitLink {
    library: Library,
}

impl NvJitLink {
    /// Loads the library of this path, or of this name where the loader finds it.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn load(library: &OsStr) -> Result<Self, NvJitLinkError> {
        // SAFETY: this is NVIDIA's library; loading it runs constructors that ask nothing of us.
        match unsafe { Library::new(library) } {
            Ok(library) => Ok(Self { library }),
            Err(error) => Err(NvJitLinkError::Load {
                library: library.to_string_lossy().into_owned(),
                error,
            }),
        }
    }

    /// Its version: major and minor number, which are those of CUDA.
    ///
    /// # Errors
    /// When it does not say.
    pub fn version(&self) -> Result<[u32; 2], NvJitLinkError> {
        type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int;
        let [mut major, mut minor] = [0; 2];
        let version: Symbol<'_, Version> = self.function("Version")?;
        // SAFETY: both numbers are written.
        match unsafe { version(&raw mut major, &raw mut minor) } {
            0 => Ok([major, minor]),
            code => Err(NvJitLinkError::Silent {
                what: "version".to_owned(),
                code,
            }),
        }
    }

    /// The file that it was loaded from. `None` where the system does not say.
    pub fn file() -> Option<PathBuf> {
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        // The path is the last field, and may hold spaces.
        let mut paths = maps
            .lines()
            .filter_map(|line| line.find('/').map(|at| &line[at..]));
        let is_it = |path: &&str| {
            path.rsplit('/')
                .next()
                .is_some_and(|name| name.starts_with("libnvJitLink"))
        };
        paths.find(is_it).map(PathBuf::from)
    }

    /// Makes one cubin of the inputs.
    ///
    /// # Errors
    /// When the library does not take the options or an input, or finds errors in them.
    pub fn link(&self, options: &[CString], inputs: &[Input]) -> Result<Linked, NvJitLinkError> {
        type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
        let create: Symbol<'_, Create> = self.function("Create")?;
        let destroy: Symbol<'_, Destroy> = self.function("Destroy")?;
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let mut handle = ptr::null_mut();
        // SAFETY: the options are strings that outlive the call.
        let code = unsafe { create(&raw mut handle, pointers.len() as u32, pointers.as_ptr()) };
        if code != 0 {
            return Err(NvJitLinkError::Options {
                options: options.to_vec(),
                code,
            });
        }
        let linked = self.link_with(handle, inputs);
        // SAFETY: the handle is the library's and is not used again.
        unsafe { destroy(&raw mut handle) };
        linked
    }

    fn link_with(&self, handle: Handle, inputs: &[Input]) -> Result<Linked, NvJitLinkError> {
        type AddData = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
        type Complete = unsafe extern "C" fn(Handle) -> c_int;
        let add: Symbol<'_, AddData> = self.function("AddData")?;
        let complete: Symbol<'_, Complete> = self.function("Complete")?;
        for Input { name, bytes } in inputs {
            // SAFETY: the library copies the bytes; the names, which it may print later, outlive the link.
            let code = unsafe { add(handle, ANY, bytes.as_ptr().cast(), bytes.len(), name.as_ptr()) };
            if code != 0 {
                let (name, log) = (name.clone(), self.log(handle, "ErrorLog")?);
                return Err(NvJitLinkError::Input { name, code, log });
            }
        }
        // SAFETY: the handle is the library's.
        let code = unsafe { complete(handle) };
        if code != 0 {
            let log = self.log(handle, "ErrorLog")?;
            return Err(NvJitLinkError::Complete { code, log });
        }
        Ok(Linked {
            cubin: self.bytes(handle, "LinkedCubin")?,
            said: self.log(handle, "InfoLog")?,
        })
    }

    /// A function, of the newest interface or of that of version 12.0, which it has too.
    fn function<F>(&self, name: &str) -> Result<Symbol<'_, F>, NvJitLinkError> {
        let plain = format!("nvJitLink{name}");
        let first = format!("__{plain}_12_0");
        // SAFETY: the callers name types that are those of nvJitLink.h.
        let found = unsafe { self.library.get(plain.as_bytes()) };
        // SAFETY: as above.
        let found = found.or_else(|_| unsafe { self.library.get(first.as_bytes()) });
        found.map_err(|_| NvJitLinkError::Function(plain))
    }

    fn log(&self, handle: Handle, what: &str) -> Result<String, NvJitLinkError> {
        let mut bytes = self.bytes(handle, what)?;
        bytes.retain(|&byte| byte != 0);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What a pair of functions of nvJitLink hands out, one for the size and one for the bytes.
    fn bytes(&self, handle: Handle, what: &str) -> Result<Vec<u8>, NvJitLinkError> {
        type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
        let size_of: Symbol<'_, Size> = self.function(&format!("Get{what}Size"))?;
        let get: Symbol<'_, Get> = self.function(&format!("Get{what}"))?;
        let silent = |code| NvJitLinkError::Silent {
            what: what.to_owned(),
            code,
        };
        let mut size = 0;
        // SAFETY: the handle is the library's.
        match unsafe { size_of(handle, &raw mut size) } {
            0 => {}
            code => return Err(silent(code)),
        }
        let mut bytes = vec![0_u8; size];
        if size == 0 {
            return Ok(bytes);
        }
        // SAFETY: there is room for as many bytes as the library asked for.
        match unsafe { get(handle, bytes.as_mut_ptr().cast()) } {
            0 => Ok(bytes),
            code => Err(silent(code)),
        }
    }
}
