//! Executables and their symbols.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::arguments::{In, Out, Text, function};
use crate::abi::attribute::symbol;
use crate::abi::{Handle, Status};
use crate::code_object::{CodeObject, CodeObjectFault};
use crate::executable::{Executable, FoundSymbol, place};
use crate::memory::Kind;
use crate::runtime::{Failure, Result, Runtime};

/// What is called for each symbol: executable, symbol, data of the program.
type SymbolCallback = extern "C" fn(Handle, Handle, *mut c_void) -> u32;

/// A fault of a handle that is no executable's.
fn unknown(executable: Handle) -> Failure {
    let text = format!("{executable:#x} is no executable");
    Failure::fault(Status::ERROR_INVALID_EXECUTABLE, text)
}

/// Makes an executable.
fn create(executable: Out<Handle>, runtime: &Runtime) -> Result<()> {
    executable.check()?;
    let mut tables = runtime.executables.write();
    let handle = tables.handle();
    tables.executables.insert(handle, Executable::default());
    executable.set(handle)
}

/// Loads a code object for an agent.
fn load(executable: Handle, agent: Handle, code: Arc<CodeObject>, runtime: &Runtime) -> Result<()> {
    let device = runtime.device(agent)?;
    let is_frozen = runtime
        .executables
        .read()
        .executables
        .get(&executable)
        .map(|found| found.is_frozen);
    if is_frozen.ok_or_else(|| unknown(executable))? {
        let text = "the executable is frozen";
        return Err(Failure::fault(Status::ERROR_FROZEN_EXECUTABLE, text));
    }
    if !device.runs(&code.target) {
        let fault = CodeObjectFault::OtherDevice {
            code: code.target.to_string(),
            device: device.to_string(),
        };
        return Err(Failure::fault(
            Status::ERROR_INCOMPATIBLE_ARGUMENTS,
            fault.to_string(),
        ));
    }
    let pages = place(&code).map_err(|fault| {
        let status = match fault {
            CodeObjectFault::Undefined(_) => Status::ERROR_VARIABLE_UNDEFINED,
            _ => Status::ERROR_OUT_OF_RESOURCES,
        };
        Failure::fault(status, fault.to_string())
    })?;
    let (kernels, hash) = (code.kernels.len(), code.hash.clone());
    // Copies name the device, or the host for what it reads and writes there.
    let base = runtime
        .memory
        .areas()
        .add_pages(pages, Kind::Code { agent }, None);
    let number = runtime.executables.write().add(executable, agent, code, base);
    runtime.journal.line(format_args!(
        "image: number={number} agent={device} kernels={kernels} hash={hash} executable={executable:#x}"
    ));
    Ok(())
}

super::exports! {
    fn hsa_executable_create(runtime;
        _profile: u32,
        _state: u32,
        _options: *const c_char,
        executable: Out<Handle>,
    ) {
        create(executable, runtime)
    }

    fn hsa_executable_create_alt(runtime;
        _profile: u32,
        _rounding: u32,
        _options: *const c_char,
        executable: Out<Handle>,
    ) {
        create(executable, runtime)
    }

    fn hsa_executable_load_code_object(runtime;
        executable: Handle,
        agent: Handle,
        object: Handle,
        _options: *const c_char,
    ) {
        let code = runtime.executables.read().objects.get(&object).cloned();
        let text = || format!("{object:#x} is no code object");
        let code = code.ok_or_else(|| Failure::fault(Status::ERROR_INVALID_CODE_OBJECT, text()))?;
        load(executable, agent, code, runtime)
    }

    fn hsa_executable_load_agent_code_object(runtime;
        executable: Handle,
        agent: Handle,
        reader: Handle,
        _options: *const c_char,
        loaded: Out<Handle>,
    ) {
        let bytes = runtime.executables.read().readers.get(&reader).cloned();
        let text = || format!("{reader:#x} is no code object reader");
        let bytes = bytes.ok_or_else(|| Failure::fault(Status::ERROR_INVALID_CODE_OBJECT_READER, text()))?;
        let code = CodeObject::parse(&bytes);
        let code = code.map_err(|fault| Failure::fault(Status::ERROR_INVALID_CODE_OBJECT, fault.to_string()))?;
        load(executable, agent, Arc::new(code), runtime)?;
        loaded.set_if_wanted(runtime.executables.write().handle());
        Ok(())
    }

    fn hsa_executable_freeze(runtime; executable: Handle, _options: *const c_char) {
        let mut tables = runtime.executables.write();
        let found = tables.executables.get_mut(&executable).ok_or_else(|| unknown(executable))?;
        if found.is_frozen {
            return Err(Failure::fault(Status::ERROR_FROZEN_EXECUTABLE, "the executable is frozen already"));
        }
        found.is_frozen = true;
        Ok(())
    }

    fn hsa_executable_validate(runtime; executable: Handle, result: Out<u32>) {
        let exists = runtime.executables.read().executables.contains_key(&executable);
        // What is loaded was checked.
        if exists { result.set(0) } else { Err(unknown(executable)) }
    }

    fn hsa_executable_destroy(runtime; executable: Handle) {
        let destroyed = runtime.executables.write().remove(executable).ok_or_else(|| unknown(executable))?;
        let mut areas = runtime.memory.areas();
        for image in destroyed.images {
            areas.unload(image.base);
        }
        Ok(())
    }

    fn hsa_executable_get_symbol_by_name(runtime;
        executable: Handle,
        name: Text,
        agent: In<Handle>,
        symbol: Out<Handle>,
    ) {
        symbol.check()?;
        let mut tables = runtime.executables.write();
        if !tables.executables.contains_key(&executable) {
            return Err(unknown(executable));
        }
        // Programs ask for what may not be there: no fault.
        let found = tables.symbol_named(executable, agent.get(), &name.get()?);
        symbol.set(found.ok_or(Status::ERROR_INVALID_SYMBOL_NAME)?)
    }

    fn hsa_executable_iterate_symbols(runtime;
        executable: Handle,
        callback: Option<SymbolCallback>,
        data: *mut c_void,
    ) {
        let callback = function(callback)?;
        let symbols = runtime.executables.write().symbols_of(executable);
        for symbol in symbols {
            let status = Status(callback(executable, symbol, data));
            if status != Status::SUCCESS {
                return Err(status.into());
            }
        }
        Ok(())
    }

    fn hsa_executable_symbol_get_info(runtime; symbol: Handle, attribute: u32, value: Out<c_void>) {
        let found = runtime.executables.read().symbol(symbol);
        let text = || format!("{symbol:#x} is no symbol, or its executable was destroyed");
        let found = found.ok_or_else(|| Failure::fault(Status::ERROR_INVALID_EXECUTABLE_SYMBOL, text()))?;
        value.set_attribute(attribute, info(&found, attribute))
    }
}

/// What is written for an attribute of a symbol.
fn info(found: &FoundSymbol, attribute: u32) -> Option<Vec<u8>> {
    let word = |word: u32| Some(word.to_le_bytes().to_vec());
    let address = found.image.address(found.symbol.address).to_le_bytes().to_vec();
    let kernel = found.kernel.as_ref().map(|kernel| &kernel.metadata);
    match (attribute, kernel) {
        (symbol::TYPE, kernel) => word(u32::from(kernel.is_some())),
        (symbol::NAME_LENGTH, _) => word(found.symbol.name.len() as u32),
        (symbol::NAME, _) => Some(found.symbol.name.clone().into_bytes()),
        (symbol::AGENT, _) => Some(found.image.agent.to_le_bytes().to_vec()),
        // Of the program, defined.
        (symbol::LINKAGE, _) => word(1),
        (symbol::IS_DEFINITION, _) => Some(vec![1]),
        (symbol::VARIABLE_ADDRESS, None) => Some(address),
        (symbol::VARIABLE_SIZE, None) => word(u32::try_from(found.symbol.size).ok()?),
        (symbol::VARIABLE_ALLOCATION, None) => word(0),
        (symbol::VARIABLE_SEGMENT, None) => word(u32::from(found.symbol.is_constant)),
        (symbol::VARIABLE_IS_CONST, None) => Some(vec![u8::from(found.symbol.is_constant)]),
        (symbol::KERNEL_OBJECT, Some(_)) => Some(address),
        (symbol::KERNEL_KERNARG_SEGMENT_SIZE, Some(kernel)) => word(kernel.kernarg_size),
        (symbol::KERNEL_KERNARG_SEGMENT_ALIGNMENT, Some(kernel)) => word(kernel.kernarg_align.max(16)),
        (symbol::KERNEL_GROUP_SEGMENT_SIZE, Some(kernel)) => word(kernel.group_size),
        (symbol::KERNEL_PRIVATE_SEGMENT_SIZE, Some(kernel)) => word(kernel.private_size),
        (symbol::KERNEL_DYNAMIC_CALLSTACK, Some(kernel)) => Some(vec![u8::from(kernel.uses_dynamic_stack)]),
        _ => None,
    }
}
