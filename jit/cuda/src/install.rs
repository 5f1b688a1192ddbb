//! Leads the calls of libomptarget's CUDA plugin here.
//!
//! The plugin keeps the addresses of the driver's functions in a table of its own, in memory that it may
//! write to. Each address is there once; it is replaced by that of a function of [`hooks`]. Nothing else in
//! the process is changed: other users of the driver call it as they did.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::Mutex;

use rustix::param::page_size;

use crate::client::{self, Client};
use crate::driver::{self, NoDriver};
use crate::hooks::{self, Role};
use crate::process;
use crate::segments::{self, Header};
use offloom_jit_policy::process::lock::lock;

/// Why no calls are led here.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotInstalled {
    /// No driver to work with.
    #[error(transparent)]
    NoDriver(#[from] NoDriver),
    /// The address is in no library.
    #[error("libomptarget is not to be found in this process")]
    NoLibrary,
    /// The plugin is made in another way than those of LLVM 19 and 22.
    #[error("libomptarget keeps the address of {} in {count} places where one is expected", .name.to_string_lossy())]
    Unfamiliar {
        /// The function.
        name: &'static CStr,
        /// How often its address was found.
        count: usize,
    },
}

/// Has the launches of libomptarget's CUDA plugin decided by `client` from here on. `inside` is an address in
/// libomptarget, which has opened the driver; nothing is changed that was done before.
///
/// # Errors
/// When the calls cannot be led here. Nothing is changed then.
pub fn install(inside: *const c_void, client: &'static dyn Client) -> Result<(), NotInstalled> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _installing = lock(&INSTALLING);
    let driver = driver::find()?;
    let memory = writable_memory(inside.addr()).ok_or(NotInstalled::NoLibrary)?;
    let hooks: Vec<_> = hooks::all(driver)
        .into_iter()
        .filter(|hook| hook.function != 0)
        .collect();
    let wanted: Vec<_> = hooks
        .iter()
        .flat_map(|hook| [hook.function, hook.replacement])
        .collect();
    // SAFETY: the memory is that of a library that is loaded, and whose code has called us.
    let found = unsafe { segments::find(&memory, &wanted) };
    let mut replace = Vec::new();
    let mut launches = None;
    for (hook, found) in hooks.iter().zip(found.chunks(2)) {
        let count = found[0].len() + found[1].len();
        match (hook.role, count) {
            (_, 1) => replace.extend(found[0].iter().map(|address| (*address, hook))),
            (Role::Launch | Role::Optional, 0) => {}
            (_, count) => {
                return Err(NotInstalled::Unfamiliar {
                    name: hook.name,
                    count,
                });
            }
        }
        if hook.role == Role::Launch && count == 1 {
            launches = Some(());
        }
    }
    launches.ok_or(NotInstalled::Unfamiliar {
        name: c"cuLaunchKernel",
        count: 0,
    })?;
    client::set(client);
    process::watch();
    for (address, hook) in replace {
        // SAFETY: the word was found there a moment ago, in memory that the library writes to.
        unsafe { segments::replace(address, hook.function, hook.replacement) };
    }
    Ok(())
}

/// What the library that an address is in may write to.
fn writable_memory(inside: usize) -> Option<Vec<Range<usize>>> {
    struct Search {
        inside: usize,
        found: Option<Vec<Range<usize>>>,
    }
    /// Called by the loader for each object; anything but 0 ends the search.
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        // SAFETY: a search is passed below, and the loader's record is valid during the call, with as many
        // headers as it says.
        let (info, search, headers) = unsafe {
            let info = &*info;
            let headers = match info.dlpi_phdr.is_null() {
                true => &[],
                false => std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)),
            };
            (info, &mut *search.cast::<Search>(), headers)
        };
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let headers = headers.iter().map(|header| Header {
            kind: header.p_type,
            flags: header.p_flags,
            address: number(header.p_vaddr),
            size: number(header.p_memsz),
        });
        let headers: Vec<_> = headers.collect();
        let base = number(info.dlpi_addr);
        if !segments::contains(&headers, search.inside.wrapping_sub(base)) {
            return 0;
        }
        let ranges = segments::writable(&headers, page_size()).into_iter();
        search.found = Some(ranges.map(|range| base + range.start..base + range.end).collect());
        1
    }
    let mut search = Search { inside, found: None };
    // SAFETY: the function gets the search, which lives until the call is back.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}
