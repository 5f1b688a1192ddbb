//! What the program `offloom` starts this one for: `[--json] COMMAND ARGUMENT...`, which it has checked.
//! Prints what it prints itself.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use offloom_jit_cache::settings::{Found, Settings};
use offloom_jit_cache::store::KeyHash;
use offloom_text_table::{counted, printable};
use serde_json::{Value, json};

use crate::keys::{self, KeyError, KeyName, Keys};
use crate::session::{Sent, Session, now};
use crate::stores::{Limits, Put, StoreFailure};

/// What is printed, for people and for programs.
type Printed = (String, Value);

/// Runs one command.
///
/// # Errors
/// One line that says what is wrong, and what to do.
pub(crate) fn run(arguments: &[OsString]) -> Result<(), String> {
    let (json, words) = match arguments {
        [first, rest @ ..] if first == "--json" => (true, rest),
        all => (false, all),
    };
    let (text, value) = match words {
        [command, name] if command == "push" => push(&text_of(name)?)?,
        [command, name] if command == "pull" => pull(&text_of(name)?)?,
        [command] if command == "status" => status()?,
        [command, name] if command == "key-new" => {
            key_new(&text_of(name)?).map_err(|error| error.to_string())?
        }
        [command, file, rest @ ..] if command == "key-trust" && rest.len() <= 1 => {
            let name = rest.first().map(text_of).transpose()?;
            key_trust(Path::new(file), name.as_deref()).map_err(|error| error.to_string())?
        }
        [command] if command == "key-list" => key_list().map_err(|error| error.to_string())?,
        _ => {
            return Err(
                "this program is started by liboffloom_jit.so and by offloom, not by hand".to_owned(),
            );
        }
    };
    let text = if json {
        format!("{value:#}\n")
    } else {
        printable(&text)
    };
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to the standard output: {error}"))
        }
        _ => Ok(()),
    }
}

fn text_of(word: &OsString) -> Result<String, String> {
    let text = word.to_str().filter(|text| !text.is_empty());
    text.map(str::to_owned)
        .ok_or_else(|| format!("`{}` is no name", word.display()))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn settings() -> Settings {
    let found = Found::read(std::env::vars_os());
    for warning in &found.warnings {
        let _ = writeln!(io::stderr(), "offloom: {}", printable(&warning.to_string()));
    }
    found.settings
}

fn session() -> Result<Session, String> {
    Session::open(&settings(), variable)
}

/// The hash that names a list that people have named.
fn list_of(name: &str) -> KeyHash {
    KeyHash::of(&format!("list {name}"))
}

fn of_store(session: &Session) -> impl Fn(StoreFailure) -> String {
    let url = session.url.clone();
    move |failure| {
        format!(
            "the remote store {url}: {failure}; OFFLOOM_JIT_REMOTE names it, `offloom cache remote status` tries it"
        )
    }
}

/// Puts all objects of the cache into the store, and names them in a list.
fn push(name: &str) -> Result<Printed, String> {
    let session = session()?;
    if session.private.is_none() {
        return Err("there is no private key to sign with: `offloom key new NAME` makes one".to_owned());
    }
    let failed = of_store(&session);
    let mut remote = session.connect(Limits::BESIDE).map_err(&failed)?;
    let (mut put, mut replaced, mut known, mut too_large, mut left) = (0, 0, 0, 0, 0);
    let mut listed = Vec::new();
    for hash in session.store.hashes().map_err(|error| error.to_string())? {
        match session.put(remote.as_mut(), hash, Put::New).map_err(&failed)? {
            Sent::New => put += 1,
            // Whoever pushes wants it to be used, whichever key has signed what is there.
            Sent::Known
                if session
                    .refusal_of(remote.as_mut(), hash)
                    .map_err(&failed)?
                    .is_some() =>
            {
                session
                    .put(remote.as_mut(), hash, Put::Replacing)
                    .map_err(&failed)?;
                replaced += 1;
            }
            Sent::Known => known += 1,
            Sent::TooLarge => {
                too_large += 1;
                continue;
            }
            // What is remembered of launches and failures stays here.
            Sent::Nothing => {
                left += 1;
                continue;
            }
        }
        listed.push(hash);
    }
    session
        .add_to_list(remote.as_mut(), list_of(name), &listed)
        .map_err(&failed)?;
    let mut text = format!("pushed {}", counted(put, "kernel", "kernels"));
    if replaced > 0 {
        text += &format!(", {replaced} more in the place of what is not to be trusted here");
    }
    if known > 0 {
        text += &format!(", {known} more were there already");
    }
    if too_large > 0 {
        text += &format!(", {too_large} more are larger than OFFLOOM_JIT_REMOTE_LIMIT allows");
    }
    Ok((
        text + "\n",
        json!({ "pushed": put, "replaced": replaced, "known": known, "too_large": too_large, "left": left, "list": name }),
    ))
}

/// Puts all that a list names into the private folder.
fn pull(name: &str) -> Result<Printed, String> {
    let session = session()?;
    let failed = of_store(&session);
    let mut remote = session.connect(Limits::BESIDE).map_err(&failed)?;
    let list = session.list(remote.as_mut(), list_of(name)).map_err(&failed)?;
    let hashes =
        list.map_err(|refusal| format!("the list `{name}` of the remote store {}: {refusal}", session.url))?;
    if hashes.is_empty() {
        return Err(format!(
            "the remote store {} has no list `{name}`: `offloom cache push` makes one",
            session.url
        ));
    }
    let missing: Vec<_> = hashes
        .iter()
        .copied()
        .filter(|hash| !session.store.is_in_private_layer(*hash))
        .collect();
    let known = hashes.len() - missing.len();
    let got = session
        .get_many(remote.as_mut(), &missing, |_, images| session.accept_each(images))
        .map_err(&failed)?;
    let mut text = format!(
        "pulled {}",
        counted(got.arrived.len() as u64, "kernel", "kernels")
    );
    if known > 0 {
        text += &format!(", {known} more were here already");
    }
    if got.absent > 0 {
        text += &format!(", {} more are no longer in the store", got.absent);
    }
    let refused = got.refused.map_or(0, |(_, count)| count);
    if let Some((refusal, count)) = got.refused {
        text += &format!(
            "; {} not used: {refusal}",
            counted(count, "entry is", "entries are")
        );
    }
    Ok((
        text + "\n",
        json!({ "pulled": got.arrived.len(), "known": known, "absent": got.absent, "refused": refused, "list": name }),
    ))
}

/// Tries the store.
fn status() -> Result<Printed, String> {
    let session = session()?;
    let failed = of_store(&session);
    let mut remote = session.connect(Limits::BESIDE).map_err(&failed)?;
    // The first request has a connection made.
    let absent = KeyHash::of(&format!("nothing {} {}", std::process::id(), now()));
    let mut ask = || {
        let begun = Instant::now();
        session
            .get(remote.as_mut(), absent)
            .map(|_| begun.elapsed().as_secs_f64() * 1e3)
            .map_err(&failed)
    };
    let (first, next) = (ask()?, ask()?);
    if session.private.is_some() {
        session.try_to_write(remote.as_mut()).map_err(&failed)?;
    }
    let signs = match session.private {
        Some(_) => "what is compiled here is signed and put into it",
        None => "it is only read: there is no private key here",
    };
    let trusted = counted(session.trusted.len() as u64, "key is", "keys are");
    let slow = match next > f64::from(session.deadline) {
        true => "\nthat is longer than OFFLOOM_JIT_REMOTE_DEADLINE allows: programs compile without it",
        false => "",
    };
    let text = format!(
        "{}: answers in {next:.1} ms, the first time in {first:.1} ms\n{trusted} trusted; {signs}{slow}\n",
        session.url
    );
    let value = json!({
        "url": session.url, "answers_ms": next, "first_ms": first, "trusted": session.trusted.len(),
        "signs": session.private.is_some(), "deadline_ms": session.deadline,
    });
    Ok((text, value))
}

fn keys_folder() -> Result<PathBuf, KeyError> {
    settings().keys_directory(variable).ok_or(KeyError::NoFolder)
}

fn key_new(name: &str) -> Result<Printed, KeyError> {
    let (public, key) = keys::make(&keys_folder()?, name)?;
    let id = KeyName::of(key.as_bytes()).to_string();
    let text = format!(
        "made the key {id}; other machines trust it with `offloom key trust`, given the file\n{}\n",
        public.display()
    );
    Ok((
        text,
        json!({ "key": id, "name": name, "public": public.display().to_string() }),
    ))
}

fn key_trust(file: &Path, name: Option<&str>) -> Result<Printed, KeyError> {
    let (place, key) = keys::trust(&keys_folder()?, file, name)?;
    let id = KeyName::of(key.as_bytes()).to_string();
    Ok((
        format!("the key {id} is trusted, until you remove\n{}\n", place.display()),
        json!({ "key": id, "file": place.display().to_string() }),
    ))
}

fn key_list() -> Result<Printed, KeyError> {
    let folder = keys_folder()?;
    let keys = Keys::read(&folder)?;
    let mut text = format!("keys in {}\n", folder.display());
    let mut all = Vec::new();
    let own = keys.private.as_ref().map(|(_, key)| key.verifying_key());
    for trusted in &keys.trusted {
        let id = KeyName::of(trusted.key.as_bytes()).to_string();
        let signs = own == Some(trusted.key);
        let role = if signs { "trusted, signs here" } else { "trusted" };
        text += &format!("{id} {}: {role}\n", trusted.name);
        all.push(json!({ "key": id, "name": trusted.name, "trusted": true, "signs": signs }));
    }
    if let (Some((name, _)), Some(own)) = (&keys.private, own)
        && !keys.trusted.iter().any(|trusted| trusted.key == own)
    {
        let id = KeyName::of(own.as_bytes()).to_string();
        text += &format!("{id} {name}: signs here, not trusted here\n");
        all.push(json!({ "key": id, "name": name, "trusted": false, "signs": true }));
    }
    Ok((text, json!(all)))
}
