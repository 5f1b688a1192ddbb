//! Code objects before they are loaded.

use std::ffi::c_char;
use std::sync::Arc;

use super::arguments::{In, Out};
use crate::abi::{Handle, Status};
use crate::code_object::CodeObject;
use crate::runtime::Failure;

super::exports! {
    fn hsa_code_object_deserialize(runtime;
        bytes: In<u8>,
        size: usize,
        _options: *const c_char,
        object: Out<Handle>,
    ) {
        object.check()?;
        let parsed = CodeObject::parse(&bytes.list(size)?);
        let parsed = parsed.map_err(|fault| Failure::fault(Status::ERROR_INVALID_CODE_OBJECT, fault.to_string()))?;
        let mut tables = runtime.executables.write();
        let handle = tables.handle();
        tables.objects.insert(handle, Arc::new(parsed));
        object.set(handle)
    }

    fn hsa_code_object_destroy(runtime; object: Handle) {
        match runtime.executables.write().objects.remove(&object) {
            Some(_) => Ok(()),
            None => {
                let text = format!("{object:#x} is no code object");
                Err(Failure::fault(Status::ERROR_INVALID_CODE_OBJECT, text))
            }
        }
    }

    fn hsa_code_object_reader_create_from_memory(runtime; bytes: In<u8>, size: usize, reader: Out<Handle>) {
        reader.check()?;
        let bytes = bytes.list(size)?;
        let mut tables = runtime.executables.write();
        let handle = tables.handle();
        tables.readers.insert(handle, bytes);
        reader.set(handle)
    }

    fn hsa_code_object_reader_destroy(runtime; reader: Handle) {
        match runtime.executables.write().readers.remove(&reader) {
            Some(_) => Ok(()),
            None => {
                let text = format!("{reader:#x} is no code object reader");
                Err(Failure::fault(Status::ERROR_INVALID_CODE_OBJECT_READER, text))
            }
        }
    }
}
