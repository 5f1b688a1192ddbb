//! What tests of the store need.

pub(crate) use std::fs::{self, File, Permissions};
pub(crate) use std::os::unix::fs::{PermissionsExt, chown, symlink};
pub(crate) use std::os::unix::process::CommandExt;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::Command;
pub(crate) use std::time::{Duration, SystemTime};

pub(crate) use offloom_abi::jit_bundle::BundleId;
pub(crate) use offloom_abi::jit_remote::Device;
pub(crate) use offloom_jit_cache::store::{
    CompileLimits, Failure, ImageKey, MEMORY, Measured, Model, Record, Store, StoreError, StoreOptions,
    Timed, Unpacked,
};
pub(crate) use offloom_jit_variants::signature::Subject;
use offloom_jit_variants::trial::Times;
pub(crate) use proptest::prelude::*;
pub(crate) use tempfile::TempDir;
pub(crate) fn key(value: u64) -> ImageKey {
    ImageKey {
        offloom_version: "0.1.0".to_owned(),
        llvm_version: "19.1.7".to_owned(),
        bundle: BundleId([7; 16]),
        target_triple: "x86_64-pc-linux-gnu".to_owned(),
        target_features: String::new(),
        options: String::new(),
        source: String::new(),
        descriptor: format!("kernel=k;arch=x86-64;0=i64:{value}").parse().unwrap(),
    }
}

/// What launches took that name no model.
pub(crate) fn times(variant: u64, ahead_of_time: u64) -> Timed {
    Timed {
        model: Model::OF_KEY,
        times: Times {
            variant,
            ahead_of_time,
        },
    }
}

pub(crate) fn image(value: u64) -> Record {
    Record::Image(vec![value as u8; 1000])
}

pub(crate) fn failure(reason: &str) -> Record {
    Record::Failure(Failure {
        reason: reason.to_owned(),
        limits: CompileLimits {
            time: 10_000,
            memory: 4 << 30,
        },
    })
}

pub(crate) fn options(directory: &Path) -> StoreOptions {
    StoreOptions {
        directory: Some(directory.to_owned()),
        read_only: false,
        shared: Vec::new(),
        size_limit: 1 << 30,
        claim_limit: Duration::from_secs(60),
    }
}

pub(crate) fn open(options: &StoreOptions) -> Store {
    let (store, errors) = Store::open(options);
    assert!(errors.is_empty(), "{errors:?}");
    store
}

/// A cache in a new folder, which is removed with it.
pub(crate) fn new_store() -> (TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("parent/cache");
    let store = open(&options(&directory));
    (folder, directory, store)
}

pub(crate) fn only_file(store: &Store) -> PathBuf {
    let files = store.list().unwrap();
    assert_eq!(files.len(), 1);
    files[0].path.clone()
}

/// Runs this test again as a user who is not root, whom modes of files hold back; whether that is what it
/// takes.
pub(crate) fn ran_as_nobody(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", test]).env("TMPDIR", folder.path());
    match command.uid(65534).gid(65534).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("1 passed"), "{said}");
        }
        // In a container that has root alone there is nobody to be.
        Err(error) => assert!(
            matches!(error.raw_os_error(), Some(1 | 22)),
            "neither EPERM nor EINVAL: {error}"
        ),
    }
    true
}
