//! Beginning, end, and what is asked of the whole.

use std::ffi::{c_char, c_void};

use super::arguments::Out;
use crate::abi::Status;
use crate::abi::attribute::system;
use crate::runtime::{self, ticks};
use crate::tools;

/// `hsa_init`.
#[unsafe(no_mangle)]
extern "C" fn hsa_init() -> u32 {
    super::guard_alone("hsa_init", || {
        if runtime::open()? {
            tools::load();
        }
        Ok(())
    })
}

/// `hsa_shut_down`.
#[unsafe(no_mangle)]
extern "C" fn hsa_shut_down() -> u32 {
    super::guard_alone("hsa_shut_down", runtime::close)
}

/// `hsa_status_string`, which may be called without the runtime.
#[unsafe(no_mangle)]
extern "C" fn hsa_status_string(status: u32, text: Out<*const c_char>) -> u32 {
    super::guard_alone("hsa_status_string", || match Status(status).text() {
        Some(found) => text.set(found.as_ptr()),
        None => Err(Status::ERROR_INVALID_ARGUMENT.into()),
    })
}

super::exports! {
    fn hsa_system_get_info(_runtime; attribute: u32, value: Out<c_void>) {
        let bytes = match attribute {
            // The interface's version 1.1, as AMD's runtime has it.
            system::VERSION_MAJOR | system::VERSION_MINOR => Some(1_u16.to_le_bytes().to_vec()),
            system::TIMESTAMP => Some(ticks().to_le_bytes().to_vec()),
            system::TIMESTAMP_FREQUENCY => Some(1_000_000_000_u64.to_le_bytes().to_vec()),
            system::SIGNAL_MAX_WAIT => Some(u64::MAX.to_le_bytes().to_vec()),
            // Little endian, large model.
            system::ENDIANNESS => Some(0_u32.to_le_bytes().to_vec()),
            system::MACHINE_MODEL => Some(1_u32.to_le_bytes().to_vec()),
            system::EXTENSIONS => Some(vec![0; 128]),
            _ => None,
        };
        value.set_attribute(attribute, bytes)
    }

    fn hsa_amd_register_system_event_handler(_runtime; _handler: *const c_void, _data: *mut c_void) {
        // It is for what a device meets while it executes.
        Ok(())
    }
}

/// Called when the process ends, after all exit handlers.
extern "C" fn end() {
    runtime::end_of_process();
}

/// Where the dynamic linker looks for functions of a library's end.
#[used]
// SAFETY: the section holds addresses of such functions.
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = end;
