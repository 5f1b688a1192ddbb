//! What is compared: ways to build a workload, and ways to run what was built.

/// A way to build a program. All optimise at `-O3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Build {
    /// Clang and LLVM's own tools.
    Stock,
    /// The same, device code linked as bitcode.
    StockLto,
    /// The same as [`Build::Stock`], for the processor at hand.
    StockNative,
    /// Our tools in the place of LLVM's.
    Ours,
    /// The same, device code linked as bitcode.
    OursLto,
    /// The same, and kernels can be compiled again while the program runs.
    Jit,
}

impl Build {
    /// A name for files.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::StockLto => "stock-lto",
            Self::StockNative => "stock-native",
            Self::Ours => "ours",
            Self::OursLto => "ours-lto",
            Self::Jit => "jit",
        }
    }

    /// Options of compile and link.
    pub(super) const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Stock | Self::Ours => &[],
            Self::StockLto | Self::OursLto => &["-foffload-lto"],
            Self::StockNative => &["-march=native"],
            Self::Jit => &["-foffload-lto=thin", "-Xoffload-linker", "--jit"],
        }
    }

    /// Whether our tools make it.
    pub(super) const fn is_ours(self) -> bool {
        matches!(self, Self::Ours | Self::OursLto | Self::Jit)
    }
}

/// What the JIT's cache holds when a run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cache {
    /// Nothing.
    Cold,
    /// What a run before it left, of the same program with the same settings.
    Warm,
}

/// How long the runs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// The workload's large size: what it costs to compile has the time to pay for itself.
    Full,
    /// The same data, fewer launches: enough for code that is there before the program starts.
    Short,
}

impl Length {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self::Full, Self::Short];

    /// As it is written with samples.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Short => "short",
        }
    }
}

/// A build and how it is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Configuration {
    /// The name in tables, plots and on the command line.
    pub(super) name: &'static str,
    pub(super) build: Build,
    /// The JIT's cache, where it is used.
    pub(super) cache: Option<Cache>,
    /// Settings of the JIT.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Whether checksums must be those of the stock build: rounding may differ where multiply and add are
    /// fused.
    pub(super) is_exact: bool,
    pub(super) length: Length,
}

/// What all are compared with.
pub(super) const BASE: &str = "stock";

/// The run that the goals are about.
pub(super) const WARM: &str = "jit-warm";

/// The JIT with an empty cache, beside the launches.
pub(super) const COLD: &str = "jit-cold";

/// Ahead-of-time code whose device code was linked as bitcode.
pub(super) const LINKED: &str = "ours-lto";

/// Those that a goal is about.
pub(super) const WITH_GOALS: [&str; 3] = [LINKED, WARM, COLD];

/// The levels of x86-64 for which one program is compiled while it runs.
pub(super) const LEVELS: [&str; 3] = ["jit-x86-64-v2", "jit-x86-64-v3", "jit-x86-64-v4"];

const fn ahead_of_time(name: &'static str, build: Build, is_exact: bool) -> Configuration {
    Configuration {
        name,
        build,
        cache: None,
        settings: &[],
        is_exact,
        length: Length::Short,
    }
}

const fn jit(
    name: &'static str,
    cache: Cache,
    settings: &'static [(&'static str, &'static str)],
    length: Length,
) -> Configuration {
    Configuration {
        name,
        build: Build::Jit,
        cache: Some(cache),
        settings,
        is_exact: true,
        length,
    }
}

/// Every configuration but the stock build, which each is run beside.
pub(super) const ALL: [Configuration; 12] = [
    ahead_of_time("stock-lto", Build::StockLto, true),
    ahead_of_time("stock-native", Build::StockNative, false),
    ahead_of_time("ours", Build::Ours, true),
    ahead_of_time(LINKED, Build::OursLto, true),
    jit(WARM, Cache::Warm, &[], Length::Full),
    Configuration {
        is_exact: false,
        ..jit(
            "jit-warm-source",
            Cache::Warm,
            &[("OFFLOOM_JIT_FP", "source")],
            Length::Full,
        )
    },
    jit(
        "jit-warm-sync",
        Cache::Warm,
        &[("OFFLOOM_JIT", "sync")],
        Length::Full,
    ),
    jit(COLD, Cache::Cold, &[], Length::Full),
    jit(
        "jit-cold-sync",
        Cache::Cold,
        &[("OFFLOOM_JIT", "sync")],
        Length::Full,
    ),
    level(LEVELS[0], &LEVEL_SETTINGS[0]),
    level(LEVELS[1], &LEVEL_SETTINGS[1]),
    level(LEVELS[2], &LEVEL_SETTINGS[2]),
];

/// Each launch runs a variant, so what is measured is the code for that level.
const LEVEL_SETTINGS: [[(&str, &str); 3]; 3] = [
    level_settings("x86-64-v2"),
    level_settings("x86-64-v3"),
    level_settings("x86-64-v4"),
];

const fn level_settings(processor: &'static str) -> [(&'static str, &'static str); 3] {
    [
        ("OFFLOOM_JIT", "sync"),
        ("OFFLOOM_JIT_RETIRE", "0"),
        ("OFFLOOM_JIT_TARGET", processor),
    ]
}

const fn level(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Configuration {
    jit(name, Cache::Warm, settings, Length::Short)
}

/// The stock build, at one length.
pub(super) const fn base(length: Length) -> Configuration {
    Configuration {
        length,
        ..ahead_of_time(BASE, Build::Stock, true)
    }
}

/// Why this machine cannot run a configuration, if it cannot.
pub(super) fn cannot_run(configuration: &Configuration) -> Option<&'static str> {
    let has = !LEVELS.contains(&configuration.name) || has_level(configuration.name);
    (!has).then_some("this processor lacks it")
}

/// A processor of another kind has none.
#[cfg(not(target_arch = "x86_64"))]
fn has_level(_: &str) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
fn has_level(name: &str) -> bool {
    match name {
        "jit-x86-64-v2" => is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("popcnt"),
        "jit-x86-64-v3" => has_v3(),
        _ => has_v3() && has_v4(),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_v3() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
}

#[cfg(target_arch = "x86_64")]
fn has_v4() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}
