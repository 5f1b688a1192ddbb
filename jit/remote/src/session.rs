//! What one process has to do with one store: which, whose entries it trusts, what it signs with, and the
//! cache on this machine.

use std::ffi::OsString;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ed25519_dalek::{SigningKey, VerifyingKey};
use offloom_jit_cache::settings::{CacheMode, Settings};
use offloom_jit_cache::store::{KeyHash, Store, StoreError, StoreOptions};

use crate::credentials::Credentials;
use crate::entry::{self, Kind, Refusal};
use crate::keys::Keys;
use crate::stores::{self, Limits, Put, RemoteStore, StoreFailure};
use crate::verdicts::{self, Known};

/// What names in a store begin with, with the version of the entries.
pub(crate) const PREFIX: &str = "offloom/1";
/// The most objects of a list.
pub(crate) const LONGEST_LIST: usize = 4096;
/// How long what is put there for a trial is kept.
const TRIAL: Duration = Duration::from_secs(60);
/// How many objects are asked for at a time.
const AT_A_TIME: usize = 64;

/// The name of an object's entry.
pub(crate) fn object_name(hash: KeyHash) -> String {
    format!("{PREFIX}/object/{hash}")
}

/// The name of a claim on an object.
pub(crate) fn claim_name(hash: KeyHash) -> String {
    format!("{PREFIX}/claim/{hash}")
}

fn list_name(list: KeyHash) -> String {
    format!("{PREFIX}/list/{list}")
}

/// Everything but a connection.
pub(crate) struct Session {
    /// The store, as the settings name it.
    pub(crate) url: String,
    /// The cache on this machine.
    pub(crate) store: Store,
    /// Whom entries may be of.
    pub(crate) trusted: Vec<VerifyingKey>,
    /// What signs; none: entries are only read.
    pub(crate) private: Option<SigningKey>,
    /// How long somebody waits for a look-up, in milliseconds.
    pub(crate) deadline: u32,
    /// What launches took elsewhere, as far as the store was asked.
    pub(crate) verdicts: Known,
    credentials: Credentials,
}

/// What an entry holds, or why it is not used.
pub(crate) type Trusted<T> = Result<T, Refusal>;

/// What came of asking for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Got {
    /// It is in the private folder.
    Arrived,
    /// The store does not have it.
    Absent,
    /// It is not to be trusted.
    Refused(Refusal),
}

/// Objects that were asked for together.
#[derive(Debug, Default)]
pub(crate) struct GotMany {
    /// Those that are in the private folder now.
    pub(crate) arrived: Vec<KeyHash>,
    /// How many the store does not have.
    pub(crate) absent: u64,
    /// Why one of those that are not to be trusted is not, and how many they are.
    pub(crate) refused: Option<(Refusal, u64)>,
}

impl Session {
    /// What the settings say. `variable`: of the environment.
    ///
    /// # Errors
    /// There is no store, no cache that it could be put into, or no key to trust; or credentials are not to
    /// be had: one line that says what to do.
    pub(crate) fn open(
        settings: &Settings,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, String> {
        let url = settings
            .remote
            .clone()
            .ok_or("no remote store: OFFLOOM_JIT_REMOTE names one by its URL")?;
        let folder = settings.keys_directory(&variable);
        let folder = folder.ok_or_else(|| crate::keys::KeyError::NoFolder.to_string())?;
        let keys = Keys::read(&folder).map_err(|error| error.to_string())?;
        if keys.trusted.is_empty() {
            return Err(format!(
                "no key is trusted in `{}`, so no entry of the remote store can be used: `offloom key new` or `offloom key trust` puts one there",
                folder.display()
            ));
        }
        let credentials = Credentials::read(settings.remote_credentials.as_deref(), &variable)?;
        let (store, errors) = Store::open(&StoreOptions {
            directory: settings.private_cache_directory(&variable),
            read_only: settings.cache_mode != CacheMode::ReadWrite,
            shared: settings.cache_path.clone(),
            size_limit: settings.cache_size,
            claim_limit: settings.claim_limit(),
        });
        // Of those that are only read programs tell.
        if let Some(error) = errors.first().filter(|_| store.is_private_refused()) {
            return Err(error.to_string());
        }
        Ok(Self {
            trusted: keys.public(),
            private: keys.private.map(|(_, key)| key),
            url,
            store,
            deadline: settings.remote_deadline,
            verdicts: Known::default(),
            credentials,
        })
    }

    /// A connection of its own.
    pub(crate) fn connect(&self, limits: Limits) -> Result<Box<dyn RemoteStore>, StoreFailure> {
        stores::open(&self.url, &self.credentials, limits)
    }

    /// Asks for an object, and puts it into the private folder.
    pub(crate) fn get(&self, remote: &mut dyn RemoteStore, hash: KeyHash) -> Result<Got, StoreFailure> {
        match remote.get(&object_name(hash))? {
            Some(entry) => match self.verify(hash, &entry) {
                Ok(image) => self.accept(hash, image),
                Err(refusal) => Ok(Got::Refused(refusal)),
            },
            None => Ok(Got::Absent),
        }
    }

    /// Asks for several objects, some at a time. `before` hears which are to be put into the private folder,
    /// `after` which were asked for.
    pub(crate) fn get_many(
        &self,
        remote: &mut dyn RemoteStore,
        hashes: &[KeyHash],
        mut before: impl FnMut(&[KeyHash]),
        mut after: impl FnMut(&[KeyHash]),
    ) -> Result<GotMany, StoreFailure> {
        let mut all = GotMany::default();
        for some in hashes.chunks(AT_A_TIME) {
            let names: Vec<_> = some.iter().map(|hash| object_name(*hash)).collect();
            let entries = remote.get_many(&names)?;
            let mut refuse = |refusal| {
                let count = all.refused.map_or(0, |(_, count)| count);
                all.refused = Some((refusal, count + 1));
            };
            let mut verified = Vec::new();
            for (hash, entry) in some.iter().zip(&entries) {
                match entry.as_deref().map(|entry| self.verify(*hash, entry)) {
                    Some(Ok(image)) => verified.push((*hash, image)),
                    Some(Err(refusal)) => refuse(refusal),
                    None => all.absent += 1,
                }
            }
            before(&verified.iter().map(|(hash, _)| *hash).collect::<Vec<_>>());
            for (hash, image) in verified {
                match self.accept(hash, image)? {
                    Got::Refused(refusal) => refuse(refusal),
                    _ => all.arrived.push(hash),
                }
            }
            // Not one by one: on a busy machine, each time that one process waits for the other takes long.
            after(some);
        }
        Ok(all)
    }

    fn verify<'e>(&self, hash: KeyHash, entry: &'e [u8]) -> Result<&'e [u8], Refusal> {
        entry::verify(entry, Kind::Object, hash, &self.trusted, now())
    }

    /// Puts what is signed into the private folder, with what its launches took elsewhere, if that is known.
    fn accept(&self, hash: KeyHash, image: &[u8]) -> Result<Got, StoreFailure> {
        let failed = |error: StoreError| StoreFailure(error.to_string());
        let measured = self.verdicts.of(hash);
        if !self.store.accept(hash, image, measured).map_err(failed)? {
            // Signed by somebody whose Offloom writes something else.
            return Ok(Got::Refused(Refusal::NoEntry));
        }
        // It may have become known meanwhile, to one who did not find the object here yet.
        if measured.is_none()
            && let Some(measured) = self.verdicts.of(hash)
        {
            self.store.remember_measured(hash, measured).map_err(failed)?;
        }
        Ok(Got::Arrived)
    }

    /// Puts an object of this machine's cache into the store, unless it is there. `None`: it is not in the
    /// cache, or too large; or nothing is signed here.
    pub(crate) fn put(
        &self,
        remote: &mut dyn RemoteStore,
        hash: KeyHash,
    ) -> Result<Option<bool>, StoreFailure> {
        let (Some(key), Some(image)) = (&self.private, self.store.image_of(hash)) else {
            return Ok(None);
        };
        let entry = entry::sign(key, Kind::Object, hash, &image, now());
        if entry.len() > entry::MOST_BYTES {
            return Ok(None);
        }
        let put = remote.put(&object_name(hash), &entry, Kind::Object.lifetime(), Put::New);
        put.map(Some)
    }

    /// The objects of a list; none where there is no list, or none that is to be trusted.
    pub(crate) fn list(
        &self,
        remote: &mut dyn RemoteStore,
        list: KeyHash,
    ) -> Result<Trusted<Vec<KeyHash>>, StoreFailure> {
        let entry = remote.get(&list_name(list))?;
        Ok(self.list_in(list, entry.as_deref()))
    }

    /// The objects of a list, as [`Self::list`], once the verdicts for a subject are noted, if there is one.
    /// Both are asked for together.
    pub(crate) fn list_with_verdicts(
        &self,
        remote: &mut dyn RemoteStore,
        list: KeyHash,
        subject: Option<KeyHash>,
    ) -> Result<(Trusted<Vec<KeyHash>>, Trusted<u32>), StoreFailure> {
        let names = [Some(list_name(list)), subject.map(verdicts::name)];
        let names: Vec<_> = names.into_iter().flatten().collect();
        let mut entries = remote.get_many(&names)?.into_iter();
        let mut next = || entries.next().flatten();
        let list = self.list_in(list, next().as_deref());
        let noted = subject.map_or(Ok(0), |subject| self.note_verdicts(subject, next().as_deref()));
        Ok((list, noted))
    }

    /// What the entry of a list names, if it is to be trusted.
    fn list_in(&self, list: KeyHash, entry: Option<&[u8]>) -> Trusted<Vec<KeyHash>> {
        let Some(entry) = entry else { return Ok(Vec::new()) };
        let contents = entry::verify(entry, Kind::List, list, &self.trusted, now())?;
        let hashes = contents.as_chunks().0.iter().map(|hash| KeyHash(*hash));
        Ok(hashes.take(LONGEST_LIST).collect())
    }

    /// Puts something without contents into the store, always under the same name.
    pub(crate) fn try_to_write(&self, remote: &mut dyn RemoteStore) -> Result<(), StoreFailure> {
        let put = remote.put(&format!("{PREFIX}/try"), b"", TRIAL, Put::Replacing);
        put.map(drop)
    }

    /// Adds objects to a list. Where two do so at once, what one has added may be lost: it is compiled once
    /// more, or asked for by itself.
    pub(crate) fn add_to_list(
        &self,
        remote: &mut dyn RemoteStore,
        list: KeyHash,
        more: &[KeyHash],
    ) -> Result<(), StoreFailure> {
        if self.private.is_none() {
            return Ok(());
        }
        let mut all = self.list(remote, list)?.unwrap_or_default();
        let known = all.len();
        for hash in more {
            if !all.contains(hash) {
                all.push(*hash);
            }
        }
        if all.len() == known {
            return Ok(());
        }
        // Those that were wanted last are the ones to keep.
        let kept = &all[all.len().saturating_sub(LONGEST_LIST)..];
        let contents: Vec<u8> = kept.iter().flat_map(|hash| hash.0).collect();
        self.replace(remote, &list_name(list), Kind::List, list, &contents)
    }

    /// Puts an entry into the store, in the place of what has its name. Does nothing without a private key.
    pub(crate) fn replace(
        &self,
        remote: &mut dyn RemoteStore,
        name: &str,
        kind: Kind,
        subject: KeyHash,
        contents: &[u8],
    ) -> Result<(), StoreFailure> {
        let Some(key) = &self.private else { return Ok(()) };
        let entry = entry::sign(key, kind, subject, contents, now());
        remote
            .put(name, &entry, kind.lifetime(), Put::Replacing)
            .map(drop)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO).as_secs()
}
