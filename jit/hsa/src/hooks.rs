//! What libomptarget's plugin calls in place of the runtime's functions. Each does what the runtime does, and
//! sees it.

use std::ffi::{c_char, c_void};

use offloom_jit_policy::hook;
use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::guard::guarded_on_foreign_thread;
use offloom_jit_policy::process::plugin_table::Hook;

use crate::image;
use crate::intercept;
use crate::runtime::{Agent, Executable, Queue, QueueCallback, Reader, Runtime, Status, runtime};
use crate::tool;

/// All of them.
pub(crate) fn all(runtime: &Runtime) -> [Hook; 5] {
    let load = runtime
        .load_code_object
        .map_or(0, |function| function as *const () as usize);
    [
        hook!(Launch c"hsa_queue_create" runtime.queue_create as *const () as usize => queue_create),
        hook!(Needed c"hsa_executable_freeze" runtime.freeze as *const () as usize => executable_freeze),
        hook!(Needed c"hsa_executable_destroy" runtime.executable_destroy as *const () as usize => executable_destroy),
        hook!(Optional c"hsa_executable_load_code_object" load => load_code_object),
        hook!(Optional c"hsa_executable_load_agent_code_object"
            runtime.load_agent_code_object as *const () as usize => load_agent_code_object),
    ]
}

unsafe extern "C" fn queue_create(
    agent: Agent,
    size: u32,
    kind: u32,
    callback: QueueCallback,
    data: *mut c_void,
    private_segment: u32,
    group_segment: u32,
    queue: *mut *mut Queue,
) -> Status {
    let Some(runtime) = runtime() else {
        return Status::NOT_INITIALIZED;
    };
    if !device_gate::is_closed()
        && let Some((create, register)) = tool::intercept()
    {
        // SAFETY: the caller calls the runtime's function, which this one is in the place of.
        let status = unsafe {
            create(
                agent,
                size,
                kind,
                callback,
                data,
                private_segment,
                group_segment,
                queue,
            )
        };
        if status == Status::SUCCESS {
            // SAFETY: the runtime has written the queue's address.
            guarded_on_foreign_thread((), || unsafe {
                intercept::begin(runtime, agent, *queue, register);
            });
            return status;
        }
    }
    // SAFETY: as above.
    unsafe {
        (runtime.queue_create)(
            agent,
            size,
            kind,
            callback,
            data,
            private_segment,
            group_segment,
            queue,
        )
    }
}

unsafe extern "C" fn load_code_object(
    executable: Executable,
    agent: Agent,
    code_object: u64,
    options: *const c_char,
) -> Status {
    let Some(load) = runtime().and_then(|runtime| runtime.load_code_object) else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the runtime's function.
    let status = unsafe { load(executable, agent, code_object, options) };
    note_load(executable, agent, status);
    status
}

unsafe extern "C" fn load_agent_code_object(
    executable: Executable,
    agent: Agent,
    reader: Reader,
    options: *const c_char,
    loaded: *mut u64,
) -> Status {
    let Some(runtime) = runtime() else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the runtime's function.
    let status = unsafe { (runtime.load_agent_code_object)(executable, agent, reader, options, loaded) };
    note_load(executable, agent, status);
    status
}

fn note_load(executable: Executable, agent: Agent, status: Status) {
    if status == Status::SUCCESS && !device_gate::is_closed() {
        guarded_on_foreign_thread((), || image::note_load(executable, agent));
    }
}

unsafe extern "C" fn executable_freeze(executable: Executable, options: *const c_char) -> Status {
    let Some(runtime) = runtime() else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the runtime's function.
    let status = unsafe { (runtime.freeze)(executable, options) };
    if status == Status::SUCCESS && !device_gate::is_closed() {
        guarded_on_foreign_thread((), || image::met(runtime, executable));
    }
    status
}

unsafe extern "C" fn executable_destroy(executable: Executable) -> Status {
    let Some(runtime) = runtime() else {
        return Status::NOT_INITIALIZED;
    };
    if !device_gate::is_forked() {
        guarded_on_foreign_thread((), || image::withdraw(runtime, executable));
    }
    // SAFETY: the caller calls the runtime's function.
    unsafe { (runtime.executable_destroy)(executable) }
}
