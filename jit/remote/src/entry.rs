//! What a remote store holds under a name: signed contents. Whoever can write to the store, or to the network
//! before it, can only make it useless.
//!
//! | field | size | |
//! | --- | --- | --- |
//! | magic | 8 | [`MAGIC`], which holds the version of this format |
//! | kind | 8 | [`Kind`] |
//! | signer | 32 | the public key that the signature is of |
//! | created | 8 | seconds since 1970 |
//! | expires | 8 | seconds since 1970 |
//! | subject | 32 | what the contents are for: the hash of a key of the cache, of a list's name, or of a list and a device |
//! | contents | 32 | BLAKE3 of the contents |
//! | signature | 64 | ed25519, of all the bytes before it |
//! | contents | | ends the entry |
//!
//! Numbers are little-endian. The contents of an object are a file of the cache
//! ([`offloom_jit_cache::store::Store::image_of`]), those of a list hashes of 32 bytes each, and those of
//! verdicts what [`crate::verdicts`] says.

use std::time::Duration;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use offloom_jit_cache::remote::LARGEST;
use offloom_jit_cache::store::{KeyHash, MEMORY};

use crate::keys::KeyName;

/// The first eight bytes of an entry.
const MAGIC: [u8; 8] = *b"OFFLOOR1";
/// Bytes that are signed.
const SIGNED: usize = 128;
/// Bytes before the contents.
const HEADER: usize = SIGNED + 64;
/// The most bytes of an entry.
pub(crate) const MOST_BYTES: u64 = LARGEST + HEADER as u64;
/// How far the clock of the machine that signed may be ahead.
const CLOCK_DIFFERENCE: u64 = 24 * 60 * 60;
/// How long an object or a list may be used: by then the compiler or the program is another one.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An object of the cache.
    Object = 0,
    /// A list of objects that go together.
    List = 1,
    /// What launches of objects took.
    Verdicts = 2,
}

impl Kind {
    /// How long an entry may be used.
    pub(crate) const fn lifetime(self) -> Duration {
        match self {
            Self::Object | Self::List => LIFETIME,
            Self::Verdicts => MEMORY,
        }
    }
}

/// Why an entry is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// Its bytes are none.
    #[error("it is no entry of this version of Offloom, or is damaged")]
    NoEntry,
    /// Nobody here trusts who has signed it.
    #[error("it is signed with the key {0}, which is not trusted here")]
    UnknownKey(KeyName),
    /// Somebody else has made it or changed it.
    #[error("its signature is wrong: somebody without the key has made or changed it")]
    BadSignature,
    /// It was put under another name than it was made for.
    #[error("it is signed for another object")]
    OtherSubject,
    /// It is too old.
    #[error("it has expired")]
    Expired,
    /// It is of the future.
    #[error("it was made after today, if the clock here is right")]
    NotYet,
}

impl Refusal {
    /// Whether a machine that has made the object itself puts that there instead. What another key has signed
    /// stays: the machines that trust it use it, and which is right only a person knows.
    pub(crate) const fn is_to_be_replaced(self) -> bool {
        !matches!(self, Self::UnknownKey(_))
    }
}

/// The entry of these contents for this subject. `now`: seconds since 1970.
pub(crate) fn sign(key: &SigningKey, kind: Kind, subject: KeyHash, contents: &[u8], now: u64) -> Vec<u8> {
    let mut entry = Vec::with_capacity(HEADER + contents.len());
    entry.extend_from_slice(&MAGIC);
    entry.extend_from_slice(&(kind as u64).to_le_bytes());
    entry.extend_from_slice(key.verifying_key().as_bytes());
    entry.extend_from_slice(&now.to_le_bytes());
    entry.extend_from_slice(&now.saturating_add(kind.lifetime().as_secs()).to_le_bytes());
    entry.extend_from_slice(&subject.0);
    entry.extend_from_slice(blake3::hash(contents).as_bytes());
    let signature = key.sign(&entry);
    entry.extend_from_slice(&signature.to_bytes());
    entry.extend_from_slice(contents);
    entry
}

/// The contents of an entry, if one of the trusted keys has signed it for this.
///
/// # Errors
/// It is not to be used.
pub(crate) fn verify<'e>(
    entry: &'e [u8],
    kind: Kind,
    subject: KeyHash,
    trusted: &[VerifyingKey],
    now: u64,
) -> Result<&'e [u8], Refusal> {
    let (header, contents) = entry.split_at_checked(HEADER).ok_or(Refusal::NoEntry)?;
    let (signed, signature) = header.split_at(SIGNED);
    let signature = Signature::from_slice(signature).map_err(|_| Refusal::NoEntry)?;
    let mut fields = Fields(signed);
    let [magic, found_kind] = [fields.take()?, fields.take()?];
    let signer: [u8; 32] = fields.take()?;
    let [created, expires] = [fields.take()?, fields.take()?].map(u64::from_le_bytes);
    let [found_subject, hash]: [[u8; 32]; 2] = [fields.take()?, fields.take()?];
    if magic != MAGIC {
        return Err(Refusal::NoEntry);
    }
    // So that it can be replaced, whoever has signed it.
    if expires <= now {
        return Err(Refusal::Expired);
    }
    let key = trusted
        .iter()
        .find(|key| *key.as_bytes() == signer)
        .ok_or(Refusal::UnknownKey(KeyName::of(&signer)))?;
    // What is cheap comes first: contents that are not those of the header need no look at its signature.
    if *blake3::hash(contents).as_bytes() != hash {
        return Err(Refusal::BadSignature);
    }
    key.verify_strict(signed, &signature)
        .map_err(|_| Refusal::BadSignature)?;
    // From here on it is what a trusted key has signed, but maybe for something else.
    if u64::from_le_bytes(found_kind) != kind as u64 || found_subject != subject.0 {
        return Err(Refusal::OtherSubject);
    }
    if created > now.saturating_add(CLOCK_DIFFERENCE) {
        return Err(Refusal::NotYet);
    }
    Ok(contents)
}

/// What is left to read.
struct Fields<'b>(&'b [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Refusal::NoEntry)?;
        self.0 = rest;
        Ok(*field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::Config;
    use std::sync::LazyLock;

    const NOW: u64 = 1_800_000_000;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn subject(number: u8) -> KeyHash {
        KeyHash([number; 32])
    }

    fn signed() -> Vec<u8> {
        sign(&key(1), Kind::Object, subject(7), &[5; 300], NOW)
    }

    /// With the key of [`signed`] trusted.
    fn read(entry: &[u8], kind: Kind, number: u8, now: u64) -> Result<&[u8], Refusal> {
        let trusted = [key(3).verifying_key(), key(1).verifying_key()];
        verify(entry, kind, subject(number), &trusted, now)
    }

    #[test]
    fn what_is_signed_is_read() {
        assert_eq!(read(&signed(), Kind::Object, 7, NOW), Ok([5; 300].as_slice()));
    }

    #[test]
    fn each_way_not_to_be_right_is_told_apart() {
        let entry = signed();
        let expires = NOW + LIFETIME.as_secs();
        assert_eq!(read(&entry, Kind::Object, 8, NOW), Err(Refusal::OtherSubject));
        assert_eq!(read(&entry, Kind::List, 7, NOW), Err(Refusal::OtherSubject));
        assert_eq!(read(&entry, Kind::Verdicts, 7, NOW), Err(Refusal::OtherSubject));
        assert!(read(&entry, Kind::Object, 7, expires - 1).is_ok());
        assert_eq!(read(&entry, Kind::Object, 7, expires), Err(Refusal::Expired));
        assert!(read(&entry, Kind::Object, 7, NOW - CLOCK_DIFFERENCE).is_ok());
        assert_eq!(
            read(&entry, Kind::Object, 7, NOW - CLOCK_DIFFERENCE - 1),
            Err(Refusal::NotYet)
        );
        // What launches took is forgotten sooner.
        let verdicts = sign(&key(1), Kind::Verdicts, subject(7), &[5; 300], NOW);
        let expires = NOW + MEMORY.as_secs();
        assert!(read(&verdicts, Kind::Verdicts, 7, expires - 1).is_ok());
        assert_eq!(read(&verdicts, Kind::Verdicts, 7, expires), Err(Refusal::Expired));
        let others = sign(&key(2), Kind::Object, subject(7), &[5; 300], NOW);
        assert!(matches!(
            read(&others, Kind::Object, 7, NOW),
            Err(Refusal::UnknownKey(_))
        ));
        // In the name of a trusted key.
        let mut forged = others;
        forged[16..48].copy_from_slice(key(1).verifying_key().as_bytes());
        assert_eq!(read(&forged, Kind::Object, 7, NOW), Err(Refusal::BadSignature));
        assert_eq!(read(b"", Kind::Object, 7, NOW), Err(Refusal::NoEntry));
        // The header of one entry before the contents of another.
        let mut swapped = entry;
        swapped.truncate(HEADER);
        swapped.extend([6; 300]);
        assert_eq!(read(&swapped, Kind::Object, 7, NOW), Err(Refusal::BadSignature));
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_refused() {
        let entry = signed();
        for bit in 0..8 * entry.len() {
            let mut changed = entry.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&changed, Kind::Object, 7, NOW).is_err(), "bit {bit}");
        }
        for length in 0..entry.len() {
            assert!(
                read(&entry[..length], Kind::Object, 7, NOW).is_err(),
                "{length} bytes"
            );
        }
    }

    proptest! {
        #![proptest_config(Config::with_cases(10_000))]

        #[test]
        fn altered_entries_are_refused(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            cut in any::<prop::sample::Index>(),
            more in prop::collection::vec(any::<u8>(), 0..40),
            whole in any::<bool>(),
        ) {
            static ENTRY: LazyLock<Vec<u8>> = LazyLock::new(signed);
            let entry = &*ENTRY;
            let mut changed = entry.clone();
            for (place, value) in changes {
                let place = place.index(changed.len());
                changed[place] = value;
            }
            if !whole {
                changed.truncate(cut.index(changed.len()));
            }
            changed.extend(more);
            prop_assume!(changed != *entry);
            prop_assert!(read(&changed, Kind::Object, 7, NOW).is_err());
        }
    }
}
