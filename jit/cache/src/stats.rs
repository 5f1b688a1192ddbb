//! What became of the launches of one process: the file that `OFFLOOM_JIT_STATS` names, written by the
//! runtime when the process ends and read by `offloom explain`.
//!
//! The file is one JSON object, [`Statistics`]; the names of its members are those of the fields here. Times
//! say their unit.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use crate::output::write_whole;
use offloom_jit_variants::signature::Subject;
use offloom_jit_variants::tracker::Tracker;
use serde::{Deserialize, Serialize};

/// The version of the format; another one is not read.
pub const VERSION: u32 = 1;

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// [`VERSION`].
    pub version: u32,
    /// The version of Offloom that wrote it.
    pub offloom: String,
    /// The version of LLVM that compiled.
    pub llvm: String,
    /// The name of the machine or container that the process ran on: another may have a process of the same
    /// number.
    #[serde(default)]
    pub host: String,
    /// The process's number.
    pub process: u32,
    /// The process that this one was forked from, if it uses the JIT too: its numbers up to the fork are
    /// counted here as well.
    pub forked_from: Option<u32>,
    /// The program's file and its arguments, as it was started.
    #[serde(default)]
    pub command: Vec<String>,
    /// When the process began to use the JIT, in seconds since 1970 (UTC).
    #[serde(default)]
    pub started: Option<u64>,
    /// Settings that are not the defaults, by name.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// How long the process had used the JIT when it was written, in microseconds. The other times are from
    /// the same start.
    #[serde(default)]
    pub duration_us: Option<u64>,
    /// What was asked of the remote store, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteUses>,
    /// Every kernel that the process knew, by bundle and in the bundle's order.
    pub kernels: Vec<Kernel>,
}

/// Objects that were asked for in a remote store, base images included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RemoteUses {
    /// Those that came.
    pub fetched: u64,
    /// Those that came, maybe unused, because an earlier run of the program wanted them.
    pub fetched_ahead: u64,
    /// Those that the store does not have, or that it was not asked for in time.
    pub absent: u64,
    /// Those that were not used, because nobody who is trusted has signed them for this.
    pub refused: u64,
    /// Those that the store could not be asked for, or not in time.
    pub failed: u64,
    /// Those that were handed over to be put there.
    pub published: u64,
    /// Those of them that are known not to be there.
    #[serde(default)]
    pub not_put: u64,
    /// Those that are larger than what is put there.
    #[serde(default)]
    pub too_large: u64,
    /// Verdicts of other machines that were taken over: their variants are not timed here.
    #[serde(default)]
    pub verdicts: u64,
    /// Verdicts of this process that were handed over to be put there.
    #[serde(default)]
    pub verdicts_published: u64,
}

/// One kernel, on all devices together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name in the device image.
    pub name: String,
    /// The bundle that it is from, as hexadecimal digits.
    pub bundle: String,
    /// What its source says of it, in the text form of
    /// [`KernelSource`](offloom_abi::kernel_source::KernelSource).
    #[serde(default)]
    pub source: String,
    /// Why nothing of it is specialised, if nothing is. Its launches are not counted then.
    #[serde(default)]
    pub left_ahead_of_time: Option<LeftAheadOfTime>,
    /// Launches that ran the AOT code.
    pub launches_ahead_of_time: u64,
    /// Launches that ran a variant.
    pub launches_of_variants: u64,
    /// N of the JIT paper's 4.7: how often a variant was asked for.
    pub specializations: u64,
    /// What can be specialised of its launches.
    pub subjects: Vec<SubjectCount>,
    /// What was made for it, in order.
    pub variants: Vec<Variant>,
    /// Launches until something was made, linked or judged, and until the file was written, in order; not
    /// every time, where there were many.
    #[serde(default)]
    pub progress: Vec<Progress>,
}

/// How many launches of a kernel had begun at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// When, in microseconds from the start.
    pub at_us: u64,
    /// Launches that ran the AOT code, up to then.
    pub launches_ahead_of_time: u64,
    /// Launches that ran a variant, up to then.
    pub launches_of_variants: u64,
}

/// Why a kernel is left as it was linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftAheadOfTime {
    /// It was compiled with fast-math flags, and variants are to have the results of the ahead-of-time code.
    FastMath,
}

/// Something that is specialised or not as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectCount {
    /// The argument's index, the implicit ones included; none for numbers of teams and threads.
    pub argument: Option<usize>,
    /// `value`, `alignment`, `contents`, `teams` or `threads`.
    pub what: String,
    /// What knowing it is good for, as the link step found it: `loop bound`, `branch` and so on; of an
    /// alignment `wider accesses`.
    pub uses: Vec<String>,
    /// n_i of the JIT paper's 4.7: specialisations that it caused.
    pub specializations: u64,
    /// Whether it is still specialised.
    pub specialized: bool,
    /// Whether the cache remembers that an earlier run gave it up: then its first change is the last.
    #[serde(default)]
    pub changed_earlier: bool,
}

/// What was made for launches with one descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// The descriptor in its text form ([`offloom_descriptor::text`]).
    pub descriptor: String,
    /// Where its object comes from.
    pub origin: Origin,
    /// How large the object is, in bytes.
    pub bytes: u64,
    /// Phases of the compile, where there was one.
    pub phases: Option<Phases>,
    /// When the object, or the failure, was there, in microseconds from the start.
    #[serde(default)]
    pub made_us: Option<u64>,
    /// The object on each copy of the device image that wanted it.
    pub copies: Vec<Linked>,
}

/// Where an object comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// This process had it compiled.
    Compiled,
    /// It was in the private folder of the cache.
    Cache,
    /// It was in a folder of `OFFLOOM_JIT_CACHE_PATH`.
    SharedCache,
    /// It was in the remote store, from which this process has had it brought.
    Remote,
    /// There is none, for this reason: such launches run ahead of time.
    Failed(String),
}

/// How long each phase of a compile took, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Phases {
    /// Reading the bitcode and cutting it down to the kernel.
    pub parse_us: u32,
    /// Specialising the kernel.
    pub specialize_us: u32,
    /// LLVM's passes.
    pub optimize_us: u32,
    /// LLVM's code generator.
    pub generate_us: u32,
    /// The assembler, where it is a program of its own.
    #[serde(default)]
    pub assemble_us: u32,
}

impl Phases {
    /// All phases together, in microseconds.
    pub const fn total_us(&self) -> u32 {
        let front = self.parse_us.saturating_add(self.specialize_us);
        front
            .saturating_add(self.optimize_us)
            .saturating_add(self.generate_us)
            .saturating_add(self.assemble_us)
    }
}

/// A variant on one copy of the device image. There is a copy for each device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    /// The copy's number, in the order in which libomptarget loaded them.
    pub image_copy: u32,
    /// How long linking it took, in microseconds; 0 where it was not linked, because the cache remembers that
    /// it was slower.
    pub link_us: u64,
    /// Launches that ran it.
    pub launches: u64,
    /// What became of it.
    pub verdict: Verdict,
    /// When it was linked, in microseconds from the start.
    #[serde(default)]
    pub linked_us: Option<u64>,
    /// When the verdict was reached, in microseconds from the start.
    #[serde(default)]
    pub verdict_us: Option<u64>,
    /// The fastest timed launch of it, in nanoseconds; maybe one that the cache remembers.
    pub variant_ns: Option<u64>,
    /// The fastest timed launch of the AOT code with the same descriptor, in nanoseconds.
    pub ahead_of_time_ns: Option<u64>,
    /// What it needs of a GPU, if it was loaded into one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_gpu: Option<OnGpu>,
}

/// Code that was loaded into a GPU, and the ahead-of-time code of the same kernel there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnGpu {
    /// The device's name.
    pub device: String,
    /// What the variant needs.
    pub variant: GpuResources,
    /// What the ahead-of-time code needs.
    pub ahead_of_time: GpuResources,
}

/// What decides how many threads run on a GPU at a time, as the driver says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuResources {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread: arrays, and registers that are spilled.
    pub local_bytes: u32,
    /// Bytes of shared memory of a block, without what the launch asks for.
    pub shared_bytes: u32,
}

/// What became of a variant on one copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Too few launches to say.
    Measuring,
    /// It runs: it is faster, or no launch is to be timed.
    Kept,
    /// It was no faster than the AOT code, which runs in its place.
    Retired,
    /// It was not measured to the end, and made room for another: launches of its kind were rare.
    Evicted,
    /// It could not be linked, for this reason.
    Failed(String),
    /// It was linked, and the device refused to launch it, for this reason: the AOT code runs in
    /// its place.
    Refused(String),
}

/// Why a file of statistics cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StatsError {
    /// The system said no.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It is not what a run with `OFFLOOM_JIT_STATS` writes.
    #[error("`{}` holds no statistics of the JIT: {source}; OFFLOOM_JIT_STATS=FILE makes a run write them", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: serde_json::Error,
    },
    /// It is of another version of Offloom.
    #[error("`{}` is of version {found} of the statistics, this is version {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
}

impl Statistics {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is something else.
    pub fn read(path: &Path) -> Result<Self, StatsError> {
        let failed = |source| StatsError::Format {
            path: path.to_owned(),
            source,
        };
        let unreadable = failed_to("read", path);
        let file = fs::File::open(path).map_err(&unreadable)?;
        // Not all at once: a device or a pipe may not end.
        let value: serde_json::Value =
            serde_json::from_reader(BufReader::new(file)).map_err(|error| match error.is_io() {
                true => unreadable(error.into()),
                false => failed(error),
            })?;
        // Before anything whose form depends on it.
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(VERSION) => Err(StatsError::Version {
                path: path.to_owned(),
                found,
            }),
            _ => serde_json::from_value(value).map_err(failed),
        }
    }

    /// Writes a file, as [`write_whole`] does.
    ///
    /// # Errors
    /// The file or its folder cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), StatsError> {
        let failed = failed_to("write", path);
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        write_whole(path, |file| file.write_all(&text)).map_err(&failed)
    }
}

fn failed_to(what: &'static str, path: &Path) -> impl Fn(io::Error) -> StatsError + use<> {
    let path = path.to_owned();
    move |source| StatsError::Io {
        what,
        path: path.clone(),
        source,
    }
}

/// N of a kernel's tracker, and what it has counted for each subject. `uses` says what knowing a subject
/// is good for.
pub fn subjects(tracker: &Tracker, uses: impl Fn(Subject) -> Vec<String>) -> (u64, Vec<SubjectCount>) {
    let counts = tracker.counts();
    let subjects = tracker.signature().subjects().iter().zip(&counts.of_subject);
    let counted = subjects.map(|(&subject, &specializations)| SubjectCount {
        argument: subject.argument(),
        what: subject.what().to_owned(),
        uses: uses(subject),
        specializations,
        specialized: tracker.specializes(subject),
        changed_earlier: tracker.expects_change(subject),
    });
    (counts.total, counted.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics() -> Statistics {
        Statistics {
            version: VERSION,
            offloom: "0.1.0".to_owned(),
            llvm: "19.1.7".to_owned(),
            host: "node".to_owned(),
            process: 1,
            forked_from: None,
            command: vec!["./a".to_owned(), "7".to_owned()],
            started: Some(1_700_000_000),
            settings: BTreeMap::from([("OFFLOOM_JIT".to_owned(), "sync".to_owned())]),
            duration_us: Some(9),
            remote: Some(RemoteUses {
                fetched: 3,
                ..RemoteUses::default()
            }),
            kernels: vec![Kernel {
                name: "k".to_owned(),
                bundle: "00".to_owned(),
                source: "a.c".to_owned(),
                left_ahead_of_time: Some(LeftAheadOfTime::FastMath),
                launches_ahead_of_time: 1,
                launches_of_variants: u64::MAX,
                specializations: 1,
                subjects: Vec::new(),
                variants: vec![Variant {
                    descriptor: "kernel=k;arch=x86-64".to_owned(),
                    origin: Origin::Failed("\"quoted\"".to_owned()),
                    bytes: 0,
                    phases: Some(Phases::default()),
                    made_us: Some(5),
                    copies: vec![Linked {
                        image_copy: 0,
                        link_us: 1,
                        launches: 0,
                        verdict: Verdict::Kept,
                        linked_us: Some(6),
                        verdict_us: None,
                        variant_ns: None,
                        ahead_of_time_ns: Some(3),
                        on_gpu: None,
                    }],
                }],
                progress: vec![Progress {
                    at_us: 9,
                    launches_ahead_of_time: 1,
                    launches_of_variants: u64::MAX,
                }],
            }],
        }
    }

    #[test]
    fn what_is_written_is_read_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        for _ in 0..2 {
            statistics().write(&path).unwrap();
            assert_eq!(Statistics::read(&path).unwrap(), statistics());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_without_times_is_read_too() {
        let mut value = serde_json::to_value(statistics()).unwrap();
        value.as_object_mut().unwrap().remove("duration_us");
        value["kernels"][0].as_object_mut().unwrap().remove("progress");
        let read: Statistics = serde_json::from_value(value).unwrap();
        assert_eq!(read.duration_us, None);
        assert_eq!(read.kernels[0].progress, []);
    }

    #[test]
    fn other_files_are_refused_with_their_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        for (text, message) in [
            ("{", "holds no statistics"),
            ("{}", "missing field"),
            ("{\"version\":2}", "is of version 2"),
        ] {
            fs::write(&path, text).unwrap();
            let error = Statistics::read(&path).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
            assert!(error.contains("stats"), "{error}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent/stats");
        let error = statistics().write(&path).unwrap_err().to_string();
        assert!(error.starts_with("cannot write `"), "{error}");
    }
}
