//! The cache that the environment names, as the commands see it.

use std::env;
use std::path::{Path, PathBuf};

use offloom_jit_cache::settings::{CacheMode, Found, Settings};
use offloom_jit_cache::store::{Store, StoreError, StoreOptions, is_absent};

use crate::error::{Error, Result};

/// What a command does with the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// It reads: nothing is made.
    Read,
    /// It removes: where there is nothing, nothing is made.
    Remove,
    /// It puts something into it.
    Put,
}

/// The cache, where it is, and how large it may be.
#[derive(Debug)]
pub(super) struct Opened {
    /// The cache itself.
    pub(super) store: Store,
    /// The private directory, which need not be there; none: the environment does not say where it would be.
    pub(super) directory: Option<PathBuf>,
    /// What the environment asks for.
    pub(super) settings: Settings,
    /// Why shared layers are not used: programs go on with the others.
    pub(super) refused: Vec<StoreError>,
}

impl Opened {
    /// Opens it.
    ///
    /// # Errors
    /// There is none, the private directory is refused, or it is to be written and may only be read.
    pub(super) fn open(access: Access) -> Result<Self> {
        let settings = Found::read(env::vars_os()).settings;
        let directory = settings.private_cache_directory(|name| env::var_os(name));
        let reads = access == Access::Read;
        if directory.is_none() && (settings.cache_path.is_empty() || !reads) {
            return Err(Error::NoDirectory);
        }
        if settings.cache_mode == CacheMode::ReadOnly && !reads {
            return Err(Error::OnlyRead(directory.unwrap_or_default()));
        }
        let (store, mut errors) = Store::open(&StoreOptions {
            directory: directory
                .clone()
                .filter(|directory| access != Access::Remove || !is_absent(directory)),
            read_only: reads,
            shared: settings.cache_path.clone(),
            size_limit: settings.cache_size,
            claim_limit: settings.claim_limit(),
        });
        if store.is_private_refused() {
            return Err(errors.swap_remove(0).into());
        }
        Ok(Self {
            store,
            directory,
            settings,
            refused: errors,
        })
    }

    /// The private directory, if it is not there.
    pub(super) fn absent(&self) -> Option<&Path> {
        self.directory.as_deref().filter(|directory| is_absent(directory))
    }

    /// Where the cache is, in a message.
    pub(super) fn place(&self) -> String {
        match &self.directory {
            Some(directory) => directory.display().to_string(),
            None => "no private cache".to_owned(),
        }
    }
}
