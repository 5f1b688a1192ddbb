//! Stores that sites run anyway, behind one trait: what is put under a name comes back, or nothing does.
//! Nothing that comes back is trusted.

mod folder;
mod http;
mod redis;
mod s3;

use std::time::Duration;

use offloom_jit_cache::remote::Trouble;

use crate::credentials::Credentials;
use http::Web;

/// What names in a store begin with, with the version of the entries.
pub(crate) const PREFIX: &str = "offloom/1";

/// A name under which nothing is that matters.
pub(crate) fn trial_name() -> String {
    format!("{PREFIX}/try")
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreFailure {
    /// The store cannot be asked: why, in one line, without secrets.
    #[error("{0}")]
    Failing(String),
    /// It has a connection, and does not answer within the limits.
    #[error("it has not answered in time")]
    Late,
}

impl StoreFailure {
    /// Of an error, whose text may have several lines.
    pub(crate) fn of(error: impl std::fmt::Display) -> Self {
        Self::Failing(error.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn no_connection() -> Self {
        Self::Failing("there is no connection in time".to_owned())
    }

    /// What it says of the store.
    pub(crate) const fn trouble(&self) -> Trouble {
        match self {
            Self::Failing(_) => Trouble::Failing,
            Self::Late => Trouble::Late,
        }
    }
}

/// What becomes of what is under a name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    /// It stays.
    New,
    /// It is replaced.
    Replacing,
}

/// A connection to a store, used by one thread. Each request ends within the limits that it was opened with,
/// unless the store sends its answer slowly enough.
pub(crate) trait RemoteStore: Send {
    /// Has a connection made before something is asked, if the store needs one.
    fn connect(&mut self) -> Result<(), StoreFailure>;

    /// What is there under a name.
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreFailure>;

    /// What is there under several names, in their order: in one go where the store can do that.
    fn get_many(&mut self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreFailure>;

    /// Puts something under a name: false where something is there that is to stay. Where the store cannot
    /// tell, what was there is replaced.
    fn put(&mut self, name: &str, bytes: &[u8], lifetime: Duration, how: Put) -> Result<bool, StoreFailure>;

    /// Takes a name for a while: false if somebody has it. Where the store cannot do that everyone gets it.
    fn claim(&mut self, name: &str, lifetime: Duration) -> Result<bool, StoreFailure>;
}

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Until a connection is there, with all that it takes to make it safe.
    pub(crate) connect: Duration,
    /// Until an answer is there then.
    pub(crate) request: Duration,
}

impl Limits {
    /// For what somebody waits for this long, who does not wait for a connection.
    pub(crate) fn of_look_up(deadline: u32) -> Self {
        Self {
            connect: Self::BESIDE.connect,
            request: Duration::from_millis(u64::from(deadline.max(10))),
        }
    }

    /// For what nobody waits for.
    pub(crate) const BESIDE: Self = Self {
        connect: Duration::from_secs(2),
        request: Duration::from_secs(10),
    };
}

/// The store that a URL names. No connection is made before the first request.
///
/// # Errors
/// The URL, or what the credentials hold for it, cannot be.
pub(crate) fn open(
    url: &str,
    credentials: &Credentials,
    limits: Limits,
) -> Result<Box<dyn RemoteStore>, StoreFailure> {
    let (scheme, rest) = url
        .split_once("://")
        .ok_or_else(|| StoreFailure::Failing(format!("`{url}` is no URL")))?;
    Ok(match scheme {
        "redis" | "rediss" | "redis+unix" => Box::new(redis::Redis::new(url, credentials, limits)?),
        "s3" => Box::new(Web::new(s3::Folder::new(rest, credentials)?, limits)),
        "http" | "https" => Box::new(Web::new(http::Folder::new(url, credentials), limits)),
        "file" => Box::new(folder::Folder::new(rest)?),
        _ => {
            return Err(StoreFailure::Failing(format!(
                "`{url}`: no store begins with `{scheme}://`"
            )));
        }
    })
}

/// How many requests are made at a time to stores that have no request for several names.
const AT_A_TIME: usize = 8;

/// Asks for several names at a time, each by itself.
fn get_each(
    names: &[String],
    get: impl Fn(&str) -> Result<Option<Vec<u8>>, StoreFailure> + Sync,
) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
    let mut found = Vec::with_capacity(names.len());
    for some in names.chunks(AT_A_TIME) {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let asked: Vec<_> = some.iter().map(|name| scope.spawn(|| get(name))).collect();
            asked
                .into_iter()
                .map(|asked| {
                    asked.join().unwrap_or_else(|_| {
                        Err(StoreFailure::Failing(
                            "a request ended without an answer".to_owned(),
                        ))
                    })
                })
                .collect()
        });
        for answer in answers {
            found.push(answer?);
        }
    }
    Ok(found)
}
