//! Leads calls of libomptarget's plugins here.
//!
//! A plugin keeps the addresses of the functions of its driver in a table of its own, in memory that it may
//! write to. Each address is there once; it is replaced by that of a function of a backend. Nothing else in
//! the process is changed: other users of the driver call it as they did.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::Mutex;

use rustix::param::page_size;

use crate::process::lock::lock;
use crate::process::segments::{self, Header};

/// A function of a driver, and what is called in its place.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    /// Its name.
    pub name: &'static CStr,
    /// Whether nothing is done where the plugin does not call it.
    pub role: Role,
    /// The driver's; 0: it has none.
    pub function: usize,
    /// In its place.
    pub replacement: usize,
}

/// A [`Hook`]: its [`Role`], the function's name, the driver's address of it, and the function in its place.
#[macro_export]
macro_rules! hook {
    ($role:ident $name:literal $function:expr => $replacement:ident) => {
        $crate::process::plugin_table::Hook {
            name: $name,
            role: $crate::process::plugin_table::Role::$role,
            function: $function,
            replacement: $replacement as *const () as usize,
        }
    };
}

/// What a hook is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// Launches: at least one of these is needed.
    Launch,
    /// Needed.
    Needed,
    /// Of use where the plugin calls it.
    Optional,
}

/// Why no calls are led here.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotLed {
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

/// Replaces the functions of the hooks in the library that `inside` is an address in, which has opened the
/// driver. `before` is called when all of them were found, before the first is replaced. Nothing is changed
/// that was done by an earlier call.
///
/// # Errors
/// When the calls cannot be led here. Nothing is changed then.
pub fn lead(inside: *const c_void, hooks: &[Hook], before: impl FnOnce()) -> Result<(), NotLed> {
    static LEADING: Mutex<()> = Mutex::new(());
    let _leading = lock(&LEADING);
    let memory = writable_memory(inside.addr()).ok_or(NotLed::NoLibrary)?;
    let hooks: Vec<_> = hooks.iter().filter(|hook| hook.function != 0).collect();
    let wanted: Vec<_> = hooks
        .iter()
        .flat_map(|hook| [hook.function, hook.replacement])
        .collect();
    // SAFETY: the memory is that of a library that is loaded, and whose code has called us.
    let found = unsafe { segments::find(&memory, &wanted) };
    let mut replace = Vec::new();
    let mut has_launches = false;
    for (hook, found) in hooks.iter().zip(found.chunks(2)) {
        let count = found[0].len() + found[1].len();
        match (hook.role, count) {
            (_, 1) => replace.extend(found[0].iter().map(|address| (*address, hook))),
            (Role::Launch | Role::Optional, 0) => {}
            (_, count) => {
                return Err(NotLed::Unfamiliar {
                    name: hook.name,
                    count,
                });
            }
        }
        has_launches |= hook.role == Role::Launch && count == 1;
    }
    if let (false, Some(launch)) = (has_launches, hooks.iter().find(|hook| hook.role == Role::Launch)) {
        return Err(NotLed::Unfamiliar {
            name: launch.name,
            count: 0,
        });
    }
    before();
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
