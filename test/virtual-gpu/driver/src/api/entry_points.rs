//! The functions by their names.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::arguments::{In, Out};
use super::{
    contexts, devices, events, functions, graphs, launches, memory, modules, occupancy, streams, transfers,
};
use crate::error::{CudaError, Result};

/// `CU_GET_PROC_ADDRESS_SUCCESS` and `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const FOUND: c_uint = 0;
const NOT_FOUND: c_uint = 1;

super::exports! {
    fn cuGetProcAddress(name: In<c_char>, function: Out<*const c_void>, _version: c_int, _flags: u64) {
        function.set(named(&name.string()?)?)
    }

    fn cuGetProcAddress_v2(
        name: In<c_char>,
        function: Out<*const c_void>,
        _version: c_int,
        _flags: u64,
        status: Out<c_uint>,
    ) {
        let found = named(&name.string()?);
        status.set_if_wanted(if found.is_ok() { FOUND } else { NOT_FOUND });
        function.set(*found.as_ref().unwrap_or(&std::ptr::null()))?;
        found.map(drop)
    }
}

/// The newest version of a function.
fn named(name: &str) -> Result<*const c_void> {
    let parts = [
        contexts::find,
        devices::find,
        find,
        events::find,
        functions::find,
        graphs::find,
        launches::find,
        memory::find,
        modules::find,
        occupancy::find,
        streams::find,
        transfers::find,
    ];
    let by_name = |name: &str| parts.iter().find_map(|find| find(name));
    let newest = by_name(&format!("{name}_v2")).or_else(|| by_name(name));
    newest.ok_or(CudaError::NOT_FOUND)
}
