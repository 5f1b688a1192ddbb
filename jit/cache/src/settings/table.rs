//! The one table of all settings.

use std::ffi::OsStr;

use super::{CONFIG_VARIABLE, Settings, values};
use crate::remote::LARGEST;

/// Variables that are no settings, because they say where those or their reader are: name, values, and what
/// each does.
pub const OTHER_VARIABLES: [(&str, &str, &str); 2] = [
    (
        CONFIG_VARIABLE,
        "a file",
        "a TOML file with any of the settings' names as keys; the environment wins",
    ),
    (
        "OFFLOOM_JIT_LIBRARY",
        "a file",
        "load this `liboffloom_jit.so`; ignored in programs with more rights than their user",
    ),
];

/// One row of the table of settings.
#[derive(Debug)]
pub struct Setting {
    /// The environment variable, and the key in the file.
    pub name: &'static str,
    /// What values look like.
    pub values: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    set: Set,
    show: fn(&Settings) -> String,
}

impl Setting {
    /// Takes a value. Nothing where the value cannot be: then nothing is changed.
    pub(super) fn set(&self, settings: &mut Settings, value: &OsStr) -> Option<()> {
        match self.set {
            Set::Text(set) => set(settings, value.to_str()?),
            Set::Path(set) => set(settings, value),
        }
    }

    /// The value that is in force, as it could be given; empty where there is none.
    pub fn value(&self, settings: &Settings) -> String {
        (self.show)(settings)
    }
}

/// How a setting takes its value; nothing where the value cannot be.
#[derive(Debug)]
enum Set {
    /// From text.
    Text(fn(&mut Settings, &str) -> Option<()>),
    /// From paths, which need not be text.
    Path(fn(&mut Settings, &OsStr) -> Option<()>),
}

/// Values of settings that are sizes.
const SIZE: &str = "a number of bytes, or with K, M or G (KiB, MiB, GiB) behind it";

/// Every setting, in the order in which they are documented.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "OFFLOOM_JIT",
        values: "off, sync, async, or on",
        help: "when variants are made: never, before the launch, or beside it (async or on, the default)",
        set: Set::Text(|settings, value| values::set(&mut settings.mode, value.parse().ok())),
        show: |settings| settings.mode.to_string(),
    },
    Setting {
        name: "OFFLOOM_JIT_SPECIALIZE",
        values: "a list of args, contents, align, launch, separated by commas; may be empty",
        help: "what of a launch is specialised; all by default",
        set: Set::Text(|settings, value| values::set(&mut settings.specialize, value.parse().ok())),
        show: |settings| settings.specialize.to_string(),
    },
    Setting {
        name: "OFFLOOM_JIT_FP",
        values: "match or source",
        help: "results of floating-point operations: those of the ahead-of-time code (default), or those of the source with constants in it",
        set: Set::Text(|settings, value| values::set(&mut settings.floating_point, value.parse().ok())),
        show: |settings| settings.floating_point.to_string(),
    },
    Setting {
        name: "OFFLOOM_JIT_THRESHOLD",
        values: "a number, 0 or more",
        help: "specialisations of a kernel that are always allowed; 16 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.threshold, value.parse().ok())),
        show: |settings| settings.threshold.to_string(),
    },
    Setting {
        name: "OFFLOOM_JIT_RATIO",
        values: "a number from 0 to 1",
        help: "share of a kernel's specialisations that one argument may cause before it is no longer specialised; 0.5 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.ratio, values::ratio(value))),
        show: |settings| settings.ratio.to_string(),
    },
    Setting {
        name: "OFFLOOM_JIT_TARGET",
        values: "a processor, as LLVM names it, or native",
        help: "the processor that variants are compiled for; by default the one that the program runs on. A processor that LLVM does not know, or whose code this machine cannot run, is ignored, with a line on the error stream",
        set: Set::Text(|settings, value| {
            values::set(&mut settings.target, values::not_empty(value).map(Some))
        }),
        show: |settings| settings.target.clone().unwrap_or_else(|| "native".to_owned()),
    },
    Setting {
        name: "OFFLOOM_JIT_PTXAS",
        values: "an absolute path",
        help: "the assembler for NVIDIA GPUs; by default `ptxas` of CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda, else NVIDIA's library nvJitLink",
        set: Set::Path(|settings, value| values::set(&mut settings.ptxas, values::absolute(value).map(Some))),
        show: |settings| values::shown_path(settings.ptxas.as_deref()),
    },
    Setting {
        name: "OFFLOOM_JIT_CACHE_DIR",
        values: "an absolute path",
        help: "the private cache directory; by default `offloom` in the user's cache folder",
        set: Set::Path(|settings, value| {
            values::set(&mut settings.cache_directory, values::absolute(value).map(Some))
        }),
        show: |settings| values::shown_path(settings.cache_directory.as_deref()),
    },
    Setting {
        name: "OFFLOOM_JIT_CACHE_PATH",
        values: "absolute paths, separated by colons; may be empty",
        help: "cache directories that are only read",
        set: Set::Path(|settings, value| values::set(&mut settings.cache_path, values::paths(value))),
        show: |settings| values::shown_paths(&settings.cache_path),
    },
    Setting {
        name: "OFFLOOM_JIT_CACHE_MODE",
        values: "off, ro, rw, or on",
        help: "whether the cache is not used, only read, or read and written (rw or on, the default)",
        set: Set::Text(|settings, value| values::set(&mut settings.cache_mode, value.parse().ok())),
        show: |settings| settings.cache_mode.to_string(),
    },
    Setting {
        name: "OFFLOOM_JIT_CACHE_SIZE",
        values: SIZE,
        help: "how large the private cache directory may be; 1G by default",
        set: Set::Text(|settings, value| values::set(&mut settings.cache_size, values::size(value))),
        show: |settings| values::shown_size(settings.cache_size),
    },
    Setting {
        name: "OFFLOOM_JIT_REMOTE",
        values: "a URL that begins with redis://, rediss://, redis+unix://, s3://, https://, http:// or file://, without a password",
        help: "the store that is asked for what the cache directories lack, and given what is compiled; none by default",
        set: Set::Text(|settings, value| {
            values::set(&mut settings.remote, values::store_url(value).map(Some))
        }),
        show: |settings| settings.remote.clone().unwrap_or_default(),
    },
    Setting {
        name: "OFFLOOM_JIT_REMOTE_KEYS",
        values: "an absolute path",
        help: "the folder of the keys that entries of the store are signed with; by default `offloom/keys` in the user's configuration folder",
        set: Set::Path(|settings, value| {
            values::set(&mut settings.remote_keys, values::absolute(value).map(Some))
        }),
        show: |settings| values::shown_path(settings.remote_keys.as_deref()),
    },
    Setting {
        name: "OFFLOOM_JIT_REMOTE_CREDENTIALS",
        values: "an absolute path",
        help: "a TOML file of mode 600 with what the store wants of its users: user and password, or what AWS_* variables hold",
        set: Set::Path(|settings, value| {
            values::set(
                &mut settings.remote_credentials,
                values::absolute(value).map(Some),
            )
        }),
        show: |settings| values::shown_path(settings.remote_credentials.as_deref()),
    },
    Setting {
        name: "OFFLOOM_JIT_REMOTE_DEADLINE",
        values: "a number of milliseconds",
        help: "how long it is waited for the store before a kernel is compiled; 50 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.remote_deadline, value.parse().ok())),
        show: |settings| settings.remote_deadline.to_string(),
    },
    Setting {
        name: "OFFLOOM_JIT_REMOTE_LIMIT",
        values: SIZE,
        help: "the largest compiled kernel that is put into the store, in bytes of its file in the cache; 32M by default, and at most",
        set: Set::Text(|settings, value| {
            let size = values::size(value).filter(|size| *size <= LARGEST);
            values::set(&mut settings.remote_limit, size)
        }),
        show: |settings| values::shown_size(settings.remote_limit),
    },
    Setting {
        name: "OFFLOOM_JIT_RETIRE",
        values: "on or off, 1 or 0",
        help: "whether variants are timed, and dropped when they are no faster than the ahead-of-time code; and whether the cache remembers that, and which arguments keep changing, for a day; on by default",
        set: Set::Text(|settings, value| values::set(&mut settings.retire, values::switch(value))),
        show: |settings| values::shown_switch(settings.retire),
    },
    Setting {
        name: "OFFLOOM_JIT_AMDGPU",
        values: "on or off, 1 or 0",
        help: "whether kernels on AMD GPUs may have variants: off by default, since the JIT has never run on such a device",
        set: Set::Text(|settings, value| values::set(&mut settings.amdgpu, values::switch(value))),
        show: |settings| values::shown_switch(settings.amdgpu),
    },
    Setting {
        name: "OFFLOOM_JIT_WORKER",
        values: "on or off, 1 or 0",
        help: "whether compiles for the host run in a process of their own, as those for GPUs always do, so that one that crashes does not end the program; on by default",
        set: Set::Text(|settings, value| values::set(&mut settings.worker, values::switch(value))),
        show: |settings| values::shown_switch(settings.worker),
    },
    Setting {
        name: "OFFLOOM_JIT_TIME_LIMIT",
        values: "a number of milliseconds",
        help: "how long a compile may take; beside the program, in processor time; 10000 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.time_limit, value.parse().ok())),
        show: |settings| settings.time_limit.to_string(),
    },
    Setting {
        name: "OFFLOOM_JIT_MEMORY_LIMIT",
        values: SIZE,
        help: "address space that the process which compiles may use, its own code included; 4G by default",
        set: Set::Text(|settings, value| values::set(&mut settings.memory_limit, values::size(value))),
        show: |settings| values::shown_size(settings.memory_limit),
    },
    Setting {
        name: "OFFLOOM_JIT_DEVICE_MEMORY",
        values: SIZE,
        help: "memory that variants may take on each GPU, in bytes of their cubins or code objects; 256M by default",
        set: Set::Text(|settings, value| values::set(&mut settings.device_memory, values::size(value))),
        show: |settings| values::shown_size(settings.device_memory),
    },
    Setting {
        name: "OFFLOOM_JIT_STATS",
        values: "a file",
        help: "statistics are written to it, as JSON, when the program ends",
        set: Set::Path(|settings, value| values::set(&mut settings.stats, values::path(value).map(Some))),
        show: |settings| values::shown_path(settings.stats.as_deref()),
    },
    Setting {
        name: "OFFLOOM_JIT_DUMP_DIR",
        values: "a folder",
        help: "the first launch of each variant is written to it, for `offloom replay`; the first 32 of a process, not those on AMD GPUs",
        set: Set::Path(|settings, value| {
            values::set(&mut settings.dump_directory, values::path(value).map(Some))
        }),
        show: |settings| values::shown_path(settings.dump_directory.as_deref()),
    },
    Setting {
        name: "OFFLOOM_JIT_LOG",
        values: "on or off, 1 or 0",
        help: "compiles and links are told on the error stream",
        set: Set::Text(|settings, value| values::set(&mut settings.log, values::switch(value))),
        show: |settings| values::shown_switch(settings.log),
    },
    Setting {
        name: "OFFLOOM_JIT_PERF",
        values: "on or off, 1 or 0",
        help: "names of variants are written to /tmp/perf-N.map, N being the process's number, where perf looks for them",
        set: Set::Text(|settings, value| values::set(&mut settings.perf, values::switch(value))),
        show: |settings| values::shown_switch(settings.perf),
    },
    Setting {
        name: "OFFLOOM_JIT_STRICT",
        values: "on or off, 1 or 0",
        help: "a failure of the JIT ends the program",
        set: Set::Text(|settings, value| values::set(&mut settings.strict, values::switch(value))),
        show: |settings| values::shown_switch(settings.strict),
    },
];
