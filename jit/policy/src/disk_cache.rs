//! Objects on disk, shared with other processes: the JIT paper's second level, by
//! [`offloom_jit_cache::store`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use offloom_abi::jit_bundle::BundleId;
use offloom_descriptor::Descriptor;
use offloom_jit_cache::settings::CacheMode;
use offloom_jit_cache::stats::Origin;
use offloom_jit_cache::store::{
    Claim, CompileLimits, Failure, ImageKey, Record, Store, StoreError, StoreOptions, Timed, Uses,
};
use offloom_jit_variants::signature::Subject;
use rustix::process::{Resource, getrlimit};

use crate::backend::Compiler;
use crate::process::guard::write_signals::without_write_signals;
use crate::process::report;
use crate::process::settings::{runs_with_more_rights, settings, variable_at_start};
use crate::remote;

/// The key of what this compiler makes of the device code of a bundle.
pub fn key(
    compiler: &Compiler,
    bundle: BundleId,
    target_triple: &str,
    target_features: String,
    options: String,
    descriptor: Descriptor,
) -> ImageKey {
    ImageKey {
        offloom_version: compiler.offloom.to_owned(),
        llvm_version: compiler.llvm.clone(),
        bundle,
        target_triple: target_triple.to_owned(),
        target_features,
        options,
        source: String::new(),
        descriptor,
    }
}

/// Objects that were wanted of the cache in this process: those that it had, and those that it had not.
static HITS: AtomicU64 = AtomicU64::new(0);
static MISSES: AtomicU64 = AtomicU64::new(0);

/// Adds what this process has found in the cache, and what not, to what the cache counts. When the process
/// ends: once a process is seldom enough.
pub fn note_uses() {
    let uses = Uses {
        hits: HITS.swap(0, Ordering::Relaxed),
        misses: MISSES.swap(0, Ordering::Relaxed),
    };
    if uses != Uses::default() {
        // A cache that cannot be written has said so.
        with_store(|store| store.note_uses(uses));
    }
}

/// In a forked child: what its parent has counted is for that one to note.
pub fn forget_uses() {
    HITS.store(0, Ordering::Relaxed);
    MISSES.store(0, Ordering::Relaxed);
}

/// Whether there is anything to note.
pub fn has_uses() -> bool {
    HITS.load(Ordering::Relaxed) > 0 || MISSES.load(Ordering::Relaxed) > 0
}

/// What the cache knows of a key.
pub enum Known {
    /// The object is there, and what its launches took lately, if that is remembered.
    Object(Vec<u8>, Option<Timed>),
    /// Making it failed lately, for this reason, within limits that allowed no less than those of this
    /// process.
    Failure(String),
    /// It is to be made, and published with this; without a claim the cache cannot be written.
    Nothing(Option<Claim>),
}

/// What the cache knows of a key, once no other process is making it. One that takes more than so many
/// milliseconds is not waited for: it may be one of another machine, of which nobody can tell here that it is
/// gone. Before each look, `waiting` is called with how long it has been waited for.
pub fn wait_for_others(key: &ImageKey, patience: u32, waiting: &mut dyn FnMut(Duration)) -> Known {
    let patience = Duration::from_millis(u64::from(patience));
    let start = Instant::now();
    loop {
        let waited = start.elapsed();
        waiting(waited);
        let known = look_up(key).or_else(|| (waited >= patience).then_some(Known::Nothing(None)));
        if let Some(known) = known {
            let known = or_from_remote(key, known);
            count_use(&known);
            return known;
        }
        std::thread::sleep(pause_after(waited));
    }
}

/// What the remote store has of a key that nobody makes on this machine; else what is known without it.
fn or_from_remote(key: &ImageKey, known: Known) -> Known {
    if !matches!(known, Known::Nothing(Some(_))) || !remote::bring(key) {
        return known;
    }
    // The claim has no use any more.
    with_store(|store| load(store, key)).flatten().unwrap_or(known)
}

/// From which tier an object of this key was had.
pub fn tier(key: &ImageKey) -> Origin {
    let hash = key.hash();
    if remote::has_brought(hash) {
        return Origin::Remote;
    }
    match with_store(|store| store.is_in_private_layer(hash)) {
        Some(false) => Origin::SharedCache,
        _ => Origin::Cache,
    }
}

/// How long to wait before looking again: an eighth of the time waited so far, since each look is several
/// requests to a file server, and all processes of a job wait for the same object.
fn pause_after(waited: Duration) -> Duration {
    (waited / 8).clamp(Duration::from_millis(5), Duration::from_millis(250))
}

/// What the cache knows of a key, at once; it is not claimed if that is nothing.
pub fn find(key: &ImageKey) -> Option<Known> {
    let known = with_store(|store| load(store, key))??;
    if matches!(known, Known::Object(..)) {
        count_use(&known);
    }
    Some(known)
}

fn count_use(known: &Known) {
    let counter = match known {
        Known::Object(..) | Known::Failure(_) => &HITS,
        Known::Nothing(_) => &MISSES,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Looks a key up, and claims it if nothing is known. `None`: another process is making it.
fn look_up(key: &ImageKey) -> Option<Known> {
    let found = with_store(|store| {
        if let Some(known) = load(store, key) {
            return Some(known);
        }
        match store.claim(key) {
            // It may have been published just before the claim.
            Ok(claim) => claim.map(|claim| load(store, key).unwrap_or(Known::Nothing(Some(claim)))),
            // Nobody else is told, and it is made anyway.
            Err(_) => Some(Known::Nothing(None)),
        }
    });
    found.unwrap_or(Some(Known::Nothing(None)))
}

fn load(store: &Store, key: &ImageKey) -> Option<Known> {
    Some(match load_record(store, key)? {
        Record::Image(object) => Known::Object(object, None),
        Record::Timed(timed, object) => Known::Object(object, Some(timed)),
        Record::Failure(failure) if failure.limits.cover(limits()) => Known::Failure(failure.reason),
        // It was tried with less time or memory; or is kept under other keys.
        Record::Failure(_) | Record::Megamorphic(_) => return None,
    })
}

/// What is kept for a key, in its own file, or in one that came from the remote store with others: files of
/// their own are made later.
fn load_record(store: &Store, key: &ImageKey) -> Option<Record> {
    let own = store.load(key);
    if matches!(own, Some(Record::Image(_) | Record::Timed(..))) {
        return own;
    }
    let Some((hash, place)) = remote::place_of(key) else {
        return own;
    };
    let brought = store.load_from_batch(hash, &place);
    // Where the batch is gone, the files were made meanwhile.
    brought.or_else(|| store.load(key)).or(own)
}

/// That making an object failed, for this reason.
pub fn failure(reason: String) -> Record {
    Record::Failure(Failure {
        reason,
        limits: limits(),
    })
}

/// What a compile may use now: of memory, no more than the program itself may, whose limits the worker
/// inherits.
fn limits() -> CompileLimits {
    let settings = settings();
    let of_program = [Resource::As, Resource::Data].map(|resource| getrlimit(resource).current);
    CompileLimits {
        time: settings.time_limit.into(),
        memory: of_program
            .into_iter()
            .flatten()
            .fold(settings.memory_limit, u64::min),
    }
}

/// Notes that a program starts with this key, and tells whether it is likely to find nothing in the cache: it
/// is the first, or the last one did not find all. Without a cache every start is the first; where it is only
/// read, none is.
pub fn note_start(key: &ImageKey) -> bool {
    with_store(|store| store.note_start(key).unwrap_or(false)).unwrap_or(true)
}

/// Notes under this key that launches of a kernel are long.
pub fn note_long_launches(key: &ImageKey) {
    // A cache that cannot be written has said so.
    with_store(|store| store.note_start(key));
}

/// Whether that was noted.
pub fn has_long_launches(key: &ImageKey) -> bool {
    with_store(|store| store.has_started(key)).unwrap_or(false)
}

/// Does what publishing under a key would do besides writing, and has the next start of the program be the
/// first again. For while an object is made.
pub fn expect_publication(key: &ImageKey, start: Option<&ImageKey>) {
    with_store(|store| {
        // What fails publishing says again.
        if store.expect_publication(key).is_ok()
            && let Some(start) = start
        {
            store.forget_starts(start);
        }
    });
}

/// Keeps what came of making an object, and says what the cache has now: instead of a failure it may be what
/// another process has made. A cache that cannot be written is one compile more next time.
pub fn publish(key: &ImageKey, record: Record) -> Record {
    let published = with_store(|store| store.publish(key, &record));
    if let (Some(Ok(None)), Record::Image(object)) = (&published, &record) {
        remote::publish(key, object);
    }
    match published {
        Some(Ok(Some(others))) => others,
        Some(Err(error)) => {
            say_that_nothing_is_kept(&error);
            record
        }
        Some(Ok(None)) | None => record,
    }
}

/// Says, once, that objects are made again in each run: the disk is full, or the cache cannot be written for
/// another reason. That it is only to be read is as the user wants it.
fn say_that_nothing_is_kept(error: &StoreError) {
    static SAID: Once = Once::new();
    if matches!(error, StoreError::ReadOnly) {
        return;
    }
    SAID.call_once(|| {
        report::line(format_args!(
            "{error}: compiled kernels are not kept, and are compiled again in each run; OFFLOOM_JIT_CACHE_DIR names another place for them"
        ));
    });
    report::log(error);
}

/// Keeps what launches of an object took; true if that was not known. A cache that cannot be written is a few
/// timed launches more next time.
pub fn remember_times(key: &ImageKey, timed: Timed) -> bool {
    let remembered = with_store(|store| {
        if let Some((hash, place)) = remote::place_of(key) {
            // They are kept in the object's own file, which may not be there yet.
            store.part_from_batch(hash, &place, None)?;
        }
        store.remember_times(key, timed)
    });
    match remembered {
        Some(Ok(is_new)) => is_new,
        Some(Err(error)) => {
            report::log(error);
            false
        }
        None => false,
    }
}

/// What launches of a kernel changed too often lately, if that is remembered under this key.
pub fn megamorphic(key: &ImageKey) -> Vec<Subject> {
    match with_store(|store| store.load(key)).flatten() {
        Some(Record::Megamorphic(subjects)) => subjects,
        _ => Vec::new(),
    }
}

/// Keeps what launches of a kernel changed too often. A cache that cannot be written is some useless variants
/// more next time.
pub fn remember_megamorphic(key: &ImageKey, subjects: &[Subject]) {
    if let Some(Err(error)) = with_store(|store| store.remember_megamorphic(key, subjects)) {
        report::log(error);
    }
}

/// Does something with the cache, if there is one. Reading may write too: a record anew that has become old.
pub(crate) fn with_store<T>(work: impl FnOnce(&Store) -> T) -> Option<T> {
    store().map(|store| without_write_signals(|| work(store)))
}

/// The cache of this process, opened at its first use; `None` when it is switched off, or the program has
/// more rights than its user.
fn store() -> Option<&'static Store> {
    static STORE: OnceLock<Option<&'static Store>> = OnceLock::new();
    *STORE.get_or_init(|| {
        let settings = settings();
        if settings.cache_mode == CacheMode::Off || runs_with_more_rights() {
            return None;
        }
        let directory = settings.private_cache_directory(variable_at_start);
        if directory.is_none() && settings.cache_mode == CacheMode::ReadWrite {
            report::line(
                "there is no place for the cache: compiled kernels are not kept, and are compiled again in each run; set OFFLOOM_JIT_CACHE_DIR, \
                 XDG_CACHE_HOME or HOME to an absolute path",
            );
        }
        let (store, errors) = Store::open(&StoreOptions {
            directory,
            read_only: settings.cache_mode == CacheMode::ReadOnly,
            shared: settings.cache_path.clone(),
            size_limit: settings.cache_size,
            claim_limit: settings.claim_limit(),
        });
        for error in errors {
            report::line(error);
        }
        Some(&*Box::leak(Box::new(store)))
    })
}
