//! Agents, instruction sets, and memory pools as such.

use std::ffi::c_void;

use super::arguments::{Out, function};
use crate::abi::{Handle, Status};
use crate::agent;
use crate::runtime::Result;

/// What is called for each of several things, with the program's data.
type Callback = extern "C" fn(Handle, *mut c_void) -> u32;

/// Calls a function of the program for each handle, until it ends with something else than success.
fn for_each(handles: Vec<Handle>, callback: Option<Callback>, data: *mut c_void) -> Result<()> {
    let callback = function(callback)?;
    for handle in handles {
        let status = Status(callback(handle, data));
        if status != Status::SUCCESS {
            return Err(status.into());
        }
    }
    Ok(())
}

super::exports! {
    fn hsa_iterate_agents(runtime; callback: Option<Callback>, data: *mut c_void) {
        for_each(runtime.agents.all.iter().map(|agent| agent.handle).collect(), callback, data)
    }

    fn hsa_agent_get_info(runtime; agent: Handle, attribute: u32, value: Out<c_void>) {
        value.set_attribute(attribute, runtime.agents.get(agent)?.info(attribute))
    }

    fn hsa_agent_iterate_isas(runtime; agent: Handle, callback: Option<Callback>, data: *mut c_void) {
        for_each(runtime.agents.get(agent)?.isa().into_iter().collect(), callback, data)
    }

    fn hsa_isa_get_info_alt(runtime; isa: Handle, attribute: u32, value: Out<c_void>) {
        value.set_attribute(attribute, agent::isa_info(runtime.agents.of_isa(isa)?, attribute))
    }

    fn hsa_amd_agent_iterate_memory_pools(runtime; agent: Handle, callback: Option<Callback>, data: *mut c_void) {
        let agent = runtime.agents.get(agent)?.handle;
        for_each(runtime.agents.pools_of(agent).map(|pool| pool.handle).collect(), callback, data)
    }

    fn hsa_amd_memory_pool_get_info(runtime; pool: Handle, attribute: u32, value: Out<c_void>) {
        value.set_attribute(attribute, runtime.pool(pool)?.info(attribute))
    }

    fn hsa_amd_agent_memory_pool_get_info(runtime;
        agent: Handle,
        pool: Handle,
        attribute: u32,
        value: Out<c_void>,
    ) {
        let (agent, pool) = (runtime.agents.get(agent)?, runtime.pool(pool)?);
        value.set_attribute(attribute, agent.pool_info(pool, attribute))
    }
}
