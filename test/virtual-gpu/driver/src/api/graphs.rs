//! Graphs: recorded from launches on a stream, and launched.

use std::ffi::{c_uint, c_void};

use super::arguments::{In, Out};
use super::{Handle, stream_itself};
use crate::capture;
use crate::context::current;
use crate::driver::driver;
use crate::error::{CudaError, Result};

super::exports! {
    fn cuStreamBeginCapture(handle: Handle, mode: c_uint) {
        capture::begin(&stream_itself(handle)?.1, mode)
    }

    fn cuStreamBeginCapture_v2(handle: Handle, mode: c_uint) {
        capture::begin(&stream_itself(handle)?.1, mode)
    }

    fn cuStreamEndCapture(handle: Handle, graph: Out<Handle>) {
        let (driver, stream) = stream_itself(handle)?;
        if graph.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let recorded = capture::end(&stream);
        let (handle, result) = match recorded {
            Ok(recorded) => (driver.graphs.add(|_| recorded).0, Ok(())),
            Err(error) => (0, Err(error)),
        };
        graph.set(handle)?;
        result
    }

    fn cuStreamIsCapturing(handle: Handle, status: Out<c_uint>) {
        status.set(capture::status(&stream_itself(handle)?.1)?)
    }

    fn cuStreamGetCaptureInfo(handle: Handle, status: Out<c_uint>, id: Out<u64>) {
        status.set(capture::status(&stream_itself(handle)?.1)?)?;
        id.set_if_wanted(handle);
        Ok(())
    }

    fn cuThreadExchangeStreamCaptureMode(mode: In<c_uint>) {
        driver()?;
        let before = capture::exchange_mode(mode.get()?)?;
        mode.out().set(before)
    }

    fn cuGraphInstantiate(executable: Out<Handle>, graph: Handle, _node: *const c_void, _log: *const c_void, _size: usize) {
        instantiate(executable, graph)
    }

    fn cuGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, _flags: u64) {
        instantiate(executable, graph)
    }

    fn cuGraphLaunch(executable: Handle, stream: Handle) {
        let (driver, stream) = stream_itself(stream)?;
        let graph = driver.executable_graphs.get(executable).ok_or(CudaError::INVALID_VALUE)?;
        capture::check_use(&stream)?;
        capture::launch(driver, &graph, &stream)
    }

    fn cuGraphExecDestroy(executable: Handle) {
        let graph = driver()?.executable_graphs.remove(executable);
        graph.map(drop).ok_or(CudaError::INVALID_VALUE)
    }

    fn cuGraphDestroy(graph: Handle) {
        let graph = driver()?.graphs.remove(graph);
        graph.map(drop).ok_or(CudaError::INVALID_VALUE)
    }
}

fn instantiate(executable: Out<Handle>, graph: Handle) -> Result<()> {
    let (driver, _) = current()?;
    let graph = driver.graphs.get(graph).ok_or(CudaError::INVALID_VALUE)?;
    executable.set(driver.executable_graphs.add(|_| (*graph).clone()).0)
}
