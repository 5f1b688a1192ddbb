//! What one process has to do with one store: which, whose entries it trusts, what it signs with, and the
//! cache on this machine.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ed25519_dalek::{SigningKey, VerifyingKey};
use offloom_abi::jit_remote::Device;
use offloom_jit_cache::settings::{CacheMode, Settings};
use offloom_jit_cache::store::{Batch, KeyHash, Measured, Model, Place, Store, StoreError, StoreOptions};

use crate::credentials::Credentials;
use crate::entry::{self, Kind, Refusal};
use crate::keys::Keys;
use crate::stores::{self, Limits, PREFIX, Put, RemoteStore, StoreFailure};
use crate::verdicts;

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
    /// The largest object that is put into the store, in bytes of its file in the cache.
    limit: u64,
    known: Mutex<Known>,
    credentials: Credentials,
}

/// What is known of objects. Locked while an object's file is made or changed, so that the file says what is
/// known of its launches, and that each of them is counted once, by who puts it there.
#[derive(Debug, Default)]
struct Known {
    /// What launches took elsewhere, as far as the store was asked.
    verdicts: HashMap<KeyHash, Measured>,
    /// Objects that came together and have no file of their own yet.
    together: HashMap<KeyHash, Place>,
}

/// What an entry holds, or why it is not used.
pub(crate) type Trusted<T> = Result<T, Refusal>;

/// What came of asking for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Got {
    /// It is in the private folder, maybe with what launches took elsewhere.
    Arrived { with_verdict: bool },
    /// The store does not have it.
    Absent,
    /// It is not to be trusted.
    Refused(Refusal),
}

/// What came of putting an object into the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The store has it now.
    New,
    /// Something is there under its name.
    Known,
    /// It is too large.
    TooLarge,
    /// It is not in the cache, or nothing is signed here.
    Nothing,
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
            limit: settings.remote_limit,
            known: Mutex::default(),
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

    /// Asks for several objects, some at a time. `keep` hears which were asked for, and has those that are to
    /// be trusted put into the private folder; it returns those that are there now.
    pub(crate) fn get_many(
        &self,
        remote: &mut dyn RemoteStore,
        hashes: &[KeyHash],
        mut keep: impl FnMut(&[KeyHash], &[(KeyHash, &[u8])]) -> Result<Vec<KeyHash>, StoreFailure>,
    ) -> Result<GotMany, StoreFailure> {
        let mut all = GotMany::default();
        for some in hashes.chunks(AT_A_TIME) {
            let names: Vec<_> = some.iter().map(|hash| object_name(*hash)).collect();
            let entries = remote.get_many(&names)?;
            let mut refuse = |refusal, more| {
                let count = all.refused.map_or(0, |(_, count)| count);
                all.refused = Some((refusal, count + more));
            };
            let mut verified = Vec::new();
            for (hash, entry) in some.iter().zip(&entries) {
                match entry.as_deref().map(|entry| self.verify(*hash, entry)) {
                    Some(Ok(image)) => verified.push((*hash, image)),
                    Some(Err(refusal)) => refuse(refusal, 1),
                    None => all.absent += 1,
                }
            }
            let arrived = keep(some, &verified)?;
            if arrived.len() < verified.len() {
                // Signed by somebody whose Offloom writes something else.
                refuse(Refusal::NoEntry, (verified.len() - arrived.len()) as u64);
            }
            all.arrived.extend(arrived);
        }
        Ok(all)
    }

    /// Puts what is signed into the private folder, each with a file of its own. Returns which are there.
    pub(crate) fn accept_each(&self, images: &[(KeyHash, &[u8])]) -> Result<Vec<KeyHash>, StoreFailure> {
        let mut arrived = Vec::with_capacity(images.len());
        for (hash, image) in images {
            if matches!(self.accept(*hash, image)?, Got::Arrived { .. }) {
                arrived.push(*hash);
            }
        }
        Ok(arrived)
    }

    /// Puts what is signed into the private folder, all in one file. Returns also with how many is what
    /// launches took elsewhere.
    pub(crate) fn accept_together(&self, images: &[(KeyHash, &[u8])]) -> Result<(Batch, u32), StoreFailure> {
        let mut known = self.known();
        let measured = |hash| known.verdicts.get(&hash).copied();
        let batch = self.store.accept_together(images, measured);
        let batch = batch.map_err(StoreFailure::of)?;
        let images = batch.images();
        let with_verdict = images
            .iter()
            .filter(|(hash, _)| known.verdicts.contains_key(hash))
            .count();
        known.together.extend(images.iter().cloned());
        Ok((batch, with_verdict as u32))
    }

    /// Gives each object of a batch a file of its own.
    pub(crate) fn part(&self, batch: &Batch) -> Result<(), StoreFailure> {
        let mut parted = Ok(());
        for (hash, place) in batch.images() {
            // Of one after the other: a look-up may wait for it.
            let mut known = self.known();
            if parted.is_ok() {
                let measured = known.verdicts.get(hash).copied();
                parted = self.store.part_from_batch(*hash, place, measured).map(drop);
            }
            known.together.remove(hash);
        }
        parted.map_err(StoreFailure::of)
    }

    /// Whether the private folder has an object, maybe in a file of several.
    pub(crate) fn has(&self, hash: KeyHash) -> bool {
        self.known().together.contains_key(&hash) || self.store.is_in_private_layer(hash)
    }

    /// Takes note of what launches of an object took elsewhere. Has the private folder say so, if it has that
    /// object and does not know: true.
    pub(crate) fn remember(&self, hash: KeyHash, measured: Measured) -> Result<bool, StoreError> {
        let mut known = self.known();
        known.verdicts.insert(hash, measured);
        // Not where its batch is gone: then it has its own file.
        if let Some(place) = known.together.get(&hash)
            && self.store.part_from_batch(hash, place, Some(measured))?
        {
            return Ok(true);
        }
        self.store.remember_measured(hash, measured)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn verify<'e>(&self, hash: KeyHash, entry: &'e [u8]) -> Result<&'e [u8], Refusal> {
        entry::verify(entry, Kind::Object, hash, &self.trusted, now())
    }

    /// Puts what is signed into the private folder, with what its launches took elsewhere, if that is known.
    fn accept(&self, hash: KeyHash, image: &[u8]) -> Result<Got, StoreFailure> {
        let known = self.known();
        let measured = known.verdicts.get(&hash).copied();
        let is_image = self.store.accept(hash, image, measured);
        if is_image.map_err(StoreFailure::of)? {
            let with_verdict = measured.is_some();
            Ok(Got::Arrived { with_verdict })
        } else {
            // Signed by somebody whose Offloom writes something else.
            Ok(Got::Refused(Refusal::NoEntry))
        }
    }

    /// Puts an object of this machine's cache into the store.
    pub(crate) fn put(
        &self,
        remote: &mut dyn RemoteStore,
        hash: KeyHash,
        how: Put,
    ) -> Result<Sent, StoreFailure> {
        let (Some(key), Some(image)) = (&self.private, self.store.image_of(hash)) else {
            return Ok(Sent::Nothing);
        };
        if image.len() as u64 > self.limit {
            return Ok(Sent::TooLarge);
        }
        let entry = entry::sign(key, Kind::Object, hash, &image, now());
        let put = remote.put(&object_name(hash), &entry, Kind::Object.lifetime(), how);
        put.map(|is_new| if is_new { Sent::New } else { Sent::Known })
    }

    /// Why what the store has under an object's name is not to be trusted; `None`: it is, or is not there.
    pub(crate) fn refusal_of(
        &self,
        remote: &mut dyn RemoteStore,
        hash: KeyHash,
    ) -> Result<Option<Refusal>, StoreFailure> {
        let entry = remote.get(&object_name(hash))?;
        Ok(entry.and_then(|entry| self.verify(hash, &entry).err()))
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
        let noted = subject.map_or(Ok(0), |subject| {
            self.note_verdicts(subject, Model::of(Device::Processor), next().as_deref())
        });
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
        let put = remote.put(&stores::trial_name(), b"", TRIAL, Put::Replacing);
        put.map(drop)
    }

    /// Adds objects to a list. Where two do so at once, what one has added may be lost: it is compiled once
    /// more, or asked for by itself. A list that is not to be trusted is replaced, whoever has signed it: it
    /// saves time, and nothing is lost.
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

#[cfg(test)]
mod tests {
    use offloom_abi::jit_bundle::BundleId;
    use offloom_jit_cache::store::{ImageKey, Record, Timed};
    use offloom_jit_variants::trial::Times;
    use tempfile::TempDir;

    use super::*;
    use crate::verdicts::Verdict;

    /// A session that has received one object in a batch. No store is asked.
    struct Receiver {
        session: Session,
        key: ImageKey,
        batch: Batch,
        folder: TempDir,
    }

    impl Receiver {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let key = ImageKey {
                offloom_version: "0.1.0".to_owned(),
                llvm_version: "19.1.7".to_owned(),
                bundle: BundleId([7; 16]),
                target_triple: "x86_64-pc-linux-gnu".to_owned(),
                target_features: String::new(),
                options: String::new(),
                source: String::new(),
                descriptor: "kernel=k;arch=x86-64;0=i64:1".parse().unwrap(),
            };
            let private = SigningKey::from_bytes(&[1; 32]);
            let session = Session {
                url: String::new(),
                store: store(&folder),
                trusted: vec![private.verifying_key()],
                private: Some(private),
                deadline: 0,
                limit: 0,
                known: Mutex::default(),
                credentials: Credentials::default(),
            };
            let maker = tempfile::tempdir().unwrap();
            store(&maker).publish(&key, &Record::Image(vec![1; 100])).unwrap();
            let file = store(&maker).image_of(key.hash()).unwrap();
            let (batch, _) = session.accept_together(&[(key.hash(), &file)]).unwrap();
            Self {
                session,
                key,
                batch,
                folder,
            }
        }

        /// Gives the object its file, as the thread that does so before a verdict is known.
        fn part_without_verdict(&self) {
            let [(hash, place)] = self.batch.images() else {
                panic!("one image");
            };
            assert!(self.session.store.part_from_batch(*hash, place, None).unwrap());
        }

        /// Hears what launches took. Returns of how many objects that are here.
        fn hear(&self) -> Trusted<u32> {
            let subject = KeyHash([2; 32]);
            let verdict = Verdict {
                hash: self.key.hash(),
                times: TIMES,
                at: now(),
            };
            let key = self.session.private.as_ref().unwrap();
            let entry = entry::sign(key, Kind::Verdicts, subject, &verdict.encode(), now());
            self.session.note_verdicts(subject, MODEL, Some(&entry))
        }

        /// What the program loads.
        fn loaded(&self) -> Option<Record> {
            store(&self.folder).load(&self.key)
        }
    }

    const TIMES: Times = Times {
        variant: 50,
        ahead_of_time: 100,
    };

    fn store(folder: &TempDir) -> Store {
        let (store, errors) = Store::open(&StoreOptions {
            directory: Some(folder.path().join("cache")),
            read_only: false,
            shared: Vec::new(),
            size_limit: 1 << 30,
            claim_limit: TRIAL,
        });
        assert!(errors.is_empty(), "{errors:?}");
        store
    }

    const MODEL: Model = Model::OF_KEY;

    fn timed() -> Option<Record> {
        let timed = Timed {
            model: MODEL,
            times: TIMES,
        };
        Some(Record::Timed(timed, vec![1; 100]))
    }

    #[test]
    fn a_verdict_is_loaded_once_it_was_told_of() {
        // The object has no file of its own yet.
        let receiver = Receiver::new();
        assert_eq!(receiver.hear(), Ok(1));
        assert_eq!(receiver.loaded(), timed());
        receiver.session.part(&receiver.batch).unwrap();
        assert_eq!(receiver.loaded(), timed());
    }

    #[test]
    fn a_verdict_is_loaded_where_the_file_was_made_before() {
        let receiver = Receiver::new();
        receiver.part_without_verdict();
        assert_eq!(receiver.hear(), Ok(1));
        assert_eq!(receiver.loaded(), timed());
    }

    #[test]
    fn a_verdict_is_loaded_where_the_batch_has_gone_meanwhile() {
        let mut receiver = Receiver::new();
        receiver.part_without_verdict();
        // That its object has a file is not noted yet.
        receiver.batch = receiver.session.store.accept_together(&[], |_| None).unwrap();
        assert_eq!(receiver.hear(), Ok(1));
        assert_eq!(receiver.loaded(), timed());
    }
}
