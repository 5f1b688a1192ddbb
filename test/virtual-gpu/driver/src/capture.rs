//! Recording of graphs: launches on a stream that do not run, but become a graph.
//!
//! Of graphs there are those of launches on one stream, in their order. While one is recorded, calls that
//! could wait for the stream, or for all streams, are errors, and spoil it.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use crate::context::Context;
use crate::driver::{Driver, lock};
use crate::error::{CudaError, Result};
use crate::function::Function;
use crate::launch::{self, Request};
use crate::stream::{NON_BLOCKING, Stream};

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`, `_THREAD_LOCAL` and `_RELAXED`.
pub(crate) const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
pub(crate) const RELAXED: u32 = 2;

/// `CU_STREAM_CAPTURE_STATUS_NONE`, `_ACTIVE` and `_INVALIDATED`.
const NONE: u32 = 0;
const ACTIVE: u32 = 1;
const INVALIDATED: u32 = 2;

thread_local! {
    /// What this thread may do while others record.
    static MODE: Cell<u32> = const { Cell::new(GLOBAL) };
}

/// Sets what the calling thread may do while others record; returns what that was.
pub(crate) fn exchange_mode(mode: u32) -> Result<u32> {
    if mode > RELAXED {
        return Err(CudaError::INVALID_VALUE);
    }
    Ok(MODE.replace(mode))
}

/// What a stream records.
#[derive(Debug)]
pub(crate) struct Capture {
    mode: u32,
    thread: ThreadId,
    is_spoilt: bool,
    nodes: Vec<Node>,
}

/// A graph, recorded or ready to be launched.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    function: Arc<Function>,
    request: Request,
}

/// The recording of a stream, if there is one.
pub(crate) type Recording = Mutex<Option<Capture>>;

/// Begins to record.
pub(crate) fn begin(stream: &Stream, mode: u32) -> Result<()> {
    if mode > RELAXED || stream.is_default() {
        return Err(CudaError::STREAM_CAPTURE_UNSUPPORTED);
    }
    let mut recording = lock(&stream.recording);
    if recording.is_some() {
        return Err(CudaError::ILLEGAL_STATE);
    }
    *recording = Some(Capture {
        mode,
        thread: thread::current().id(),
        is_spoilt: false,
        nodes: Vec::new(),
    });
    Ok(())
}

/// Ends it: the graph.
pub(crate) fn end(stream: &Stream) -> Result<Graph> {
    let mut recording = lock(&stream.recording);
    let capture = recording.take().ok_or(CudaError::ILLEGAL_STATE)?;
    if capture.mode != RELAXED && capture.thread != thread::current().id() {
        *recording = Some(capture);
        return Err(CudaError::STREAM_CAPTURE_WRONG_THREAD);
    }
    if capture.is_spoilt {
        return Err(CudaError::STREAM_CAPTURE_INVALIDATED);
    }
    Ok(Graph { nodes: capture.nodes })
}

/// Whether a stream records: a value of `CUstreamCaptureStatus`.
pub(crate) fn status(stream: &Stream) -> Result<u32> {
    if stream.is_default() {
        return match blocking(&stream.context).next() {
            Some(_) => Err(CudaError::STREAM_CAPTURE_IMPLICIT),
            None => Ok(NONE),
        };
    }
    Ok(match &*lock(&stream.recording) {
        None => NONE,
        Some(capture) if capture.is_spoilt => INVALIDATED,
        Some(_) => ACTIVE,
    })
}

/// Records a launch. False: the stream records nothing.
pub(crate) fn record(stream: &Stream, function: &Arc<Function>, request: &Request) -> bool {
    let mut recording = lock(&stream.recording);
    let Some(capture) = &mut *recording else {
        return false;
    };
    capture.nodes.push(Node {
        function: Arc::clone(function),
        request: request.clone(),
    });
    true
}

/// Checks a call that needs what a stream has done, or gives it work that cannot be recorded here.
pub(crate) fn check_use(stream: &Stream) -> Result<()> {
    if stream.is_default() {
        // It would wait for those that record, or they for it.
        return spoil(blocking(&stream.context), CudaError::STREAM_CAPTURE_IMPLICIT);
    }
    match &mut *lock(&stream.recording) {
        None => Ok(()),
        Some(capture) => {
            capture.is_spoilt = true;
            Err(CudaError::STREAM_CAPTURE_UNSUPPORTED)
        }
    }
}

/// Checks a call that may wait for all work: allocating, loading, asking events.
pub(crate) fn check_unsafe(driver: &Driver) -> Result<()> {
    if MODE.get() == RELAXED {
        return Ok(());
    }
    let this = thread::current().id();
    let streams = driver.streams.all().into_iter().filter(|stream| {
        lock(&stream.recording)
            .as_ref()
            .is_some_and(|capture| match capture.mode {
                GLOBAL => true,
                THREAD_LOCAL => capture.thread == this,
                _ => false,
            })
    });
    spoil(streams, CudaError::STREAM_CAPTURE_UNSUPPORTED)
}

/// Submits what a graph holds.
pub(crate) fn launch(driver: &'static Driver, graph: &Graph, stream: &Arc<Stream>) -> Result<()> {
    for node in &graph.nodes {
        launch::submit(driver, stream, &node.function, node.request.clone())?;
    }
    Ok(())
}

/// The streams of a context that record, and that the default stream would wait for.
fn blocking(context: &Context) -> impl Iterator<Item = Arc<Stream>> {
    let streams: Vec<_> = lock(&context.streams).clone();
    streams
        .into_iter()
        .filter(|stream| stream.flags & NON_BLOCKING == 0 && lock(&stream.recording).is_some())
}

/// An error if there are any, whose recordings it spoils.
fn spoil(streams: impl Iterator<Item = Arc<Stream>>, error: CudaError) -> Result<()> {
    let mut result = Ok(());
    for stream in streams {
        if let Some(capture) = &mut *lock(&stream.recording) {
            capture.is_spoilt = true;
        }
        result = Err(error);
    }
    result
}
