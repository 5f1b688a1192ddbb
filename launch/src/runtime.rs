//! The calls into libomptarget: the same in LLVM 19 to 23, but for the version of a launch's arguments.
//!
//! Source: `offload/libomptarget/interface.cpp` and `offload/include/omptarget.h` of LLVM.
#![expect(
    unsafe_code,
    reason = "calls C functions that read and write memory by its address"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use offloom_abi::kernel_arguments::{KernelArguments, MapType, VERSION, VERSION_WITH_LAUNCH_ENVIRONMENT};

use crate::device::Device;
use crate::error::LaunchError;
use crate::link::Link;
use crate::region::SourceLocation;

/// A function that libomptarget exports since LLVM 23.
const SINCE_LLVM_23: &CStr = c"omp_get_gprivate_limit";

/// The version of the arguments of launches that the program's libomptarget expects.
pub(crate) fn arguments_version() -> u32 {
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let version = if libomptarget_exports(SINCE_LLVM_23) {
                VERSION_WITH_LAUNCH_ENVIRONMENT
            } else {
                VERSION
            };
            KNOWN.store(version, Ordering::Relaxed);
            version
        }
        known => known,
    }
}

/// Whether the program's libomptarget, and not another library, is where it finds this function.
fn libomptarget_exports(function: &CStr) -> bool {
    let library_of = |name: &CStr| {
        let mut info = SymbolInfo {
            file: ptr::null(),
            base: ptr::null(),
            symbol: ptr::null(),
            address: ptr::null(),
        };
        // SAFETY: looks a name up, which ends with its zero, among all that the program has loaded; fills the
        // record.
        let found = unsafe {
            let symbol = dlsym(ptr::null_mut(), name.as_ptr());
            !symbol.is_null() && dladdr(symbol, &raw mut info) != 0
        };
        found.then_some(info.base)
    };
    let library = library_of(function);
    library.is_some() && library == library_of(c"__tgt_target_kernel")
}

/// `Dl_info` of the C library.
#[repr(C)]
struct SymbolInfo {
    file: *const c_char,
    base: *const c_void,
    symbol: *const c_char,
    address: *const c_void,
}

/// Begins, ends or updates the mapping of `count` objects.
type DataCall = unsafe extern "C" fn(
    location: *const SourceLocation,
    device: i64,
    count: i32,
    base_pointers: *mut *mut c_void,
    pointers: *mut *mut c_void,
    sizes: *mut i64,
    map_types: *mut i64,
    map_names: *mut *mut c_void,
    mappers: *mut *mut c_void,
);

unsafe extern "C" {
    /// Null: everything that is loaded.
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;

    /// Which library an address is in. 0: in none.
    fn dladdr(address: *const c_void, info: *mut SymbolInfo) -> c_int;

    /// Runs a kernel and waits for it. 0: it has run; otherwise nothing happened. Writes into `arguments`.
    pub(crate) fn __tgt_target_kernel(
        location: *const SourceLocation,
        device: i64,
        number_of_teams: i32,
        thread_limit: i32,
        region_id: *const u8,
        arguments: *mut KernelArguments,
    ) -> c_int;

    fn __tgt_target_data_begin_mapper(
        location: *const SourceLocation,
        device: i64,
        count: i32,
        base_pointers: *mut *mut c_void,
        pointers: *mut *mut c_void,
        sizes: *mut i64,
        map_types: *mut i64,
        map_names: *mut *mut c_void,
        mappers: *mut *mut c_void,
    );

    fn __tgt_target_data_end_mapper(
        location: *const SourceLocation,
        device: i64,
        count: i32,
        base_pointers: *mut *mut c_void,
        pointers: *mut *mut c_void,
        sizes: *mut i64,
        map_types: *mut i64,
        map_names: *mut *mut c_void,
        mappers: *mut *mut c_void,
    );

    fn __tgt_target_data_update_mapper(
        location: *const SourceLocation,
        device: i64,
        count: i32,
        base_pointers: *mut *mut c_void,
        pointers: *mut *mut c_void,
        sizes: *mut i64,
        map_types: *mut i64,
        map_names: *mut *mut c_void,
        mappers: *mut *mut c_void,
    );

    /// How many devices there are besides the host.
    pub(crate) safe fn omp_get_num_devices() -> c_int;
}

/// The mapping of one object on a device.
///
/// It does not keep the object's address: its owner, who lends the object out, derives it afresh for every
/// call.
#[derive(Debug)]
pub(crate) struct DataMap {
    device: Device,
    /// The device as libomptarget knows it; `None`: nothing was mapped, the data stays on the host.
    number: Option<i64>,
    /// The `link` variable it is, if it is one.
    link: Option<&'static Link>,
    bytes: usize,
    map_type: MapType,
}

impl DataMap {
    /// Maps `bytes` bytes at `address`, copying them if `map_type` says so. With `link` they are that
    /// variable.
    ///
    /// # Safety
    /// They can be read.
    pub(crate) unsafe fn begin(
        device: Device,
        link: Option<&'static Link>,
        address: *mut c_void,
        bytes: usize,
        map_type: MapType,
    ) -> Result<Self, LaunchError> {
        if let Some(link) = link
            && link.variable() != address
        {
            return Err(LaunchError::OtherVariable);
        }
        let map = Self {
            device,
            number: device.number()?,
            link,
            bytes,
            map_type,
        };
        // SAFETY: promised by the caller.
        unsafe { map.call_for_link(__tgt_target_data_begin_mapper, address) };
        Ok(map)
    }

    /// Copies all of it in the direction of `map_type`.
    ///
    /// # Safety
    /// `address` is the one it was mapped with, and can be read, or written where it is copied back.
    pub(crate) unsafe fn update(&self, address: *mut c_void, map_type: MapType) {
        // SAFETY: promised by the caller.
        unsafe { self.call(__tgt_target_data_update_mapper, address, address, map_type) };
    }

    /// Ends the mapping, copying back if its map type says so. To be called once.
    ///
    /// # Safety
    /// `address` is the one it was mapped with, and can be written where it is copied back.
    pub(crate) unsafe fn end(&self, address: *mut c_void) {
        // SAFETY: promised by the caller.
        unsafe { self.call_for_link(__tgt_target_data_end_mapper, address) };
    }

    /// Where it is mapped.
    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// Begins or ends the mapping; that of a `link` variable together with the device's pointer to it.
    ///
    /// # Safety
    /// As for `begin` and `end`.
    unsafe fn call_for_link(&self, data_call: DataCall, address: *mut c_void) {
        let (base, map_type) = match self.link {
            Some(link) => (
                link.reference(),
                MapType(self.map_type.0 | MapType::PTR_AND_OBJ.0),
            ),
            None => (address, self.map_type),
        };
        // SAFETY: promised by the caller; the runtime reads the pointer to a `link` variable, which lives as
        // long as the program.
        unsafe { self.call(data_call, base, address, map_type) };
    }

    unsafe fn call(
        &self,
        data_call: DataCall,
        mut base: *mut c_void,
        mut address: *mut c_void,
        map_type: MapType,
    ) {
        let Some(number) = self.number else { return };
        let mut size = self.bytes as i64;
        let mut map_type = map_type.0 as i64;
        // SAFETY: arrays of one element each; that the memory itself can be used was promised by the caller.
        unsafe {
            data_call(
                ptr::null(),
                number,
                1,
                &raw mut base,
                &raw mut address,
                &raw mut size,
                &raw mut map_type,
                ptr::null_mut(),
                ptr::null_mut(),
            );
        }
    }
}
