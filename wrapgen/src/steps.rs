//! The steps of a link: announces each one, and notes when it started and how long it took.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use offloom_text_table::{Table, counted};
use serde_json::{Value, json};

use crate::error::Result;
use crate::output::write_file;

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Opens the inputs and looks for device code.
    Scan,
    /// Reads the device code in the inputs.
    ReadDeviceCode,
    /// Writes device code to files.
    Extract,
    /// Makes dispatch stubs and the bundle for the JIT.
    PrepareJit,
    /// Merges, optimises and compiles device bitcode.
    Lto,
    /// Links device objects to an image.
    DeviceLink,
    /// Compares the host objects' entries with the images.
    EntryCheck,
    /// Makes one file of the images for a runtime that takes no others.
    Bundle,
    /// Makes the registration object.
    Wrap,
    /// Runs the host linker.
    HostLink,
    /// Gives an object that `-r` merged an entry table of its own.
    Independence,
}

impl Phase {
    /// For people.
    fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::ReadDeviceCode => "read device code",
            Self::Extract => "extract",
            Self::PrepareJit => "prepare for the JIT",
            Self::Lto => "LTO",
            Self::DeviceLink => "device link",
            Self::EntryCheck => "check entries",
            Self::Bundle => "bundle",
            Self::Wrap => "wrap",
            Self::HostLink => "host link",
            Self::Independence => "make independent",
        }
    }

    /// In the style in which Clang names the tools of its jobs.
    fn tool(self) -> &'static str {
        match self {
            Self::Scan => "Offload::Scanner",
            Self::ReadDeviceCode => "Offload::Reader",
            Self::Extract => "Offload::Extractor",
            Self::PrepareJit => "Offload::JIT",
            Self::Lto => "Offload::LTO",
            Self::DeviceLink => "Offload::DeviceLinker",
            Self::EntryCheck => "Offload::EntryCheck",
            Self::Bundle => "Offload::Bundler",
            Self::Wrap => "Offload::Wrapper",
            Self::HostLink => "Host::Linker",
            Self::Independence => "Offload::Independence",
        }
    }
}

/// One step of a link.
#[derive(Debug)]
pub struct Step<'a> {
    /// What it does.
    pub phase: Phase,
    /// The triple, and the processor if there is one, that it works for.
    pub target: String,
    /// The files it reads.
    pub inputs: Vec<&'a Path>,
    /// The files it makes.
    pub outputs: Vec<&'a Path>,
}

impl<'a> Step<'a> {
    /// A step for `triple` and `arch`, which may be empty.
    pub fn new(phase: Phase, triple: &str, arch: &str) -> Self {
        Self {
            phase,
            target: format!("{triple} {arch}").trim_end().to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// With the files that it reads.
    pub fn reads(mut self, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.inputs.extend(inputs.into_iter().map(PathBuf::as_path));
        self
    }

    /// With the files that it makes.
    pub fn makes(mut self, outputs: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.outputs.extend(outputs.into_iter().map(PathBuf::as_path));
        self
    }

    /// The line of `--print-phases`, as Clang's `-ccc-print-bindings` writes it.
    pub fn binding(&self) -> String {
        let files = |files: &[&Path]| -> String {
            let names: Vec<_> = files
                .iter()
                .map(|file| format!("{:?}", file.display().to_string()))
                .collect();
            names.join(", ")
        };
        let outputs = match &self.outputs[..] {
            [output] => format!("output: {:?}", output.display().to_string()),
            outputs => format!("outputs: [{}]", files(outputs)),
        };
        format!(
            "# {:?} - {:?}, inputs: [{}], {outputs}",
            self.target,
            self.phase.tool(),
            files(&self.inputs)
        )
    }
}

/// What is going on, as `--wrapper-verbose` shows it: a comment to a shell, so that it does no harm among
/// commands.
impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "# {} for {}", self.phase.name(), self.target)?;
        match self.inputs.len() {
            0 => Ok(()),
            count => write!(f, ": {}", counted(count as u64, "file", "files")),
        }
    }
}

/// What was done in a link, and when.
#[derive(Debug)]
pub struct Journal {
    start: Instant,
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// The step, or `None` for a program that was run in one.
    phase: Option<Phase>,
    name: String,
    detail: String,
    thread: ThreadId,
    /// Since the start of the link.
    start: Duration,
    length: Duration,
}

impl Journal {
    /// Starts with nothing done.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            entries: Mutex::default(),
        }
    }

    /// Does the work of a step and notes how long it took.
    pub fn time_step<T>(&self, step: &Step<'_>, work: impl FnOnce() -> T) -> T {
        self.time(Some(step.phase), step.phase.name(), step.target.clone(), work)
    }

    /// Runs a program, shown as `line`, and notes how long it took.
    pub fn time_program<T>(&self, program: &Path, line: String, work: impl FnOnce() -> T) -> T {
        let name = program.file_name().unwrap_or(program.as_os_str());
        self.time(None, &name.to_string_lossy(), line, work)
    }

    fn time<T>(&self, phase: Option<Phase>, name: &str, detail: String, work: impl FnOnce() -> T) -> T {
        let start = self.start.elapsed();
        let result = work();
        let entry = Entry {
            phase,
            name: name.to_owned(),
            detail,
            thread: thread::current().id(),
            start,
            length: self.start.elapsed().saturating_sub(start),
        };
        self.entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry);
        result
    }

    /// The table of `--time`: each step, and what passed between the steps.
    pub fn table(&self) -> String {
        let total = self.start.elapsed();
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut steps: Vec<&Entry> = entries.iter().filter(|entry| entry.phase.is_some()).collect();
        steps.sort_by_key(|entry| entry.start);
        let mut table = Table::new(&["step", "for", "ms", "percent"]);
        let mut row = |name: &str, target: &str, length: Duration| {
            let percent = 100.0 * length.as_secs_f64() / total.as_secs_f64();
            table.row([
                name.to_owned(),
                target.to_owned(),
                format!("{:.1}", 1000.0 * length.as_secs_f64()),
                format!("{percent:.1}"),
            ]);
        };
        let mut accounted = Duration::ZERO;
        for step in steps {
            accounted += step.length;
            row(&step.name, &step.detail, step.length);
        }
        row("other", "", total.saturating_sub(accounted));
        row("total", "", total);
        table.lines(0)
    }

    /// Writes what was done as a trace that Chrome's `about:tracing` and Perfetto show.
    ///
    /// Format: "Trace Event Format" of the Chromium project, complete events (`X`), times in microseconds.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_trace(&self, path: &Path) -> Result<()> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut threads: Vec<ThreadId> = Vec::new();
        let process = std::process::id();
        let mut events = vec![json!({
            "ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": { "name": "wrapgen link" },
        })];
        for entry in entries.iter() {
            let number = threads.iter().position(|thread| *thread == entry.thread);
            let thread = number.unwrap_or_else(|| {
                threads.push(entry.thread);
                threads.len() - 1
            });
            events.push(json!({
                "ph": "X",
                "name": entry.name,
                "cat": if entry.phase.is_some() { "step" } else { "program" },
                "pid": process,
                "tid": thread,
                "ts": microseconds(entry.start),
                "dur": microseconds(entry.length),
                "args": { "detail": entry.detail },
            }));
        }
        let trace = json!({ "traceEvents": events, "displayTimeUnit": "ms" });
        write_file(path, format!("{trace}\n").as_bytes())
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self::new()
    }
}

fn microseconds(time: Duration) -> Value {
    json!(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
