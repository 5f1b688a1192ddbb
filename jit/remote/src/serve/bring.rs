//! What comes without being asked for one by one: objects that an earlier run wanted, and what launches took
//! on other machines.
//!
//! Objects come in batches, one request each. A batch is in one file when the program hears of it. After that
//! a thread of its own gives each object its file ([`part`]), for other processes and later runs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use offloom_abi::jit_remote::{Answer, InBatch};
use offloom_jit_cache::store::{Batch, KeyHash, Model};
use rustix::process::setpriority_process;

use super::{Shared, tell};
use crate::session::Trusted;
use crate::stores::{Limits, StoreFailure};
use crate::verdicts;

/// How much others come before the thread that makes files, which nobody waits for: the most that there is.
const NICE: i32 = 19;

/// A list is being read, for as long as this is there.
pub(super) struct Reading(Arc<Shared>);

impl Reading {
    pub(super) fn begin(shared: &Arc<Shared>) -> Self {
        shared.state().reading += 1;
        Self(Arc::clone(shared))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.state().reading -= 1;
        self.0.changed.notify_all();
    }
}

/// Puts what an earlier run wanted into the private folder. `verdicts`: the subject of what its launches took
/// on such processors; `batches`: where files are made of what came.
pub(super) fn bring(
    reading: Reading,
    list: KeyHash,
    verdicts: Option<KeyHash>,
    batches: &Sender<Option<Batch>>,
) -> Result<(), StoreFailure> {
    let shared = Arc::clone(&reading.0);
    let mut remote = shared.session.connect(Limits::BESIDE)?;
    let (hashes, noted) = shared
        .session
        .list_with_verdicts(remote.as_mut(), list, verdicts)?;
    tell_of_verdicts(noted);
    let hashes = match hashes {
        Ok(hashes) => hashes,
        Err(refusal) => {
            tell(0, &Answer::Refused(&format!("the list of a program: {refusal}")));
            return Ok(());
        }
    };
    let missing: Vec<_> = hashes
        .into_iter()
        .filter(|hash| !shared.session.store.is_in_any_layer(*hash))
        .collect();
    shared.state().coming.extend(&missing);
    drop(reading);
    let got = shared
        .session
        .get_many(remote.as_mut(), &missing, |asked, images| {
            let kept = hand_over(&shared, images, batches);
            // Not one by one: on a busy machine, each time that one process waits for the other takes long.
            no_longer_coming(&shared, asked);
            kept
        });
    no_longer_coming(&shared, &missing);
    if let Some((refusal, _)) = got?.refused {
        tell(0, &Answer::Refused(&refusal.to_string()));
    }
    Ok(())
}

/// Puts objects into the private folder, and tells the program. Returns which are there.
fn hand_over(
    shared: &Shared,
    images: &[(KeyHash, &[u8])],
    batches: &Sender<Option<Batch>>,
) -> Result<Vec<KeyHash>, StoreFailure> {
    if images.is_empty() {
        return Ok(Vec::new());
    }
    let (batch, with_verdict) = shared.session.accept_together(images)?;
    let arrived: Vec<_> = batch.images().iter().map(|(hash, _)| *hash).collect();
    if is_told(&batch) {
        // Without the thread nothing is lost but the files.
        let _ = batches.send(Some(batch));
    } else {
        // The program finds the files, if it does anything.
        shared.session.part(&batch)?;
    }
    tell_of_verdicts(Ok(with_verdict));
    Ok(arrived)
}

/// Tells the program where objects are: false if it is not going to hear it.
fn is_told(batch: &Batch) -> bool {
    let Some((_, first)) = batch.images().first() else {
        return true;
    };
    let objects = batch.images().iter().map(|(hash, place)| InBatch {
        hash: hash.0,
        offset: place.offset,
        size: place.size,
    });
    let brought = Answer::Brought {
        batch: &first.batch,
        objects: objects.collect(),
    };
    tell(0, &brought)
}

fn no_longer_coming(shared: &Shared, hashes: &[KeyHash]) {
    let mut state = shared.state();
    for hash in hashes {
        state.coming.remove(hash);
    }
    drop(state);
    shared.changed.notify_all();
}

/// Gives the objects of each batch files of their own, until the program has ended (`None`).
pub(super) fn part(shared: &Shared, batches: &Receiver<Option<Batch>>) {
    // Of this thread alone. What came is with the program, which may need the processor.
    let _ = setpriority_process(None, NICE);
    while let Ok(Some(batch)) = batches.recv() {
        tell_of_trouble(shared.session.part(&batch));
    }
}

/// Takes note of what launches took on machines with a device of this model.
pub(super) fn bring_verdicts(shared: &Shared, subject: KeyHash, model: Model) -> Result<(), StoreFailure> {
    let mut remote = shared.session.connect(Limits::BESIDE)?;
    let entry = remote.get(&verdicts::name(subject))?;
    tell_of_verdicts(shared.session.note_verdicts(subject, model, entry.as_deref()));
    Ok(())
}

pub(super) fn tell_of_verdicts(noted: Trusted<u32>) {
    match noted {
        Ok(0) => {}
        Ok(count) => {
            tell(0, &Answer::Verdicts(count));
        }
        Err(refusal) => {
            tell(
                0,
                &Answer::Refused(&format!("what launches took elsewhere: {refusal}")),
            );
        }
    }
}

pub(super) fn tell_of_trouble(brought: Result<(), StoreFailure>) {
    if let Err(failure) = brought {
        // Nobody waits for it: a store that takes longer than is waited for it at all does not work.
        tell(0, &Answer::Failed(&failure.to_string()));
    }
}
