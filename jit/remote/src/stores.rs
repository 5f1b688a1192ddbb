//! Stores that sites run anyway, behind one trait: what is put under a name comes back, or nothing does.
//! Nothing that comes back is trusted.

mod folder;
mod http;
mod redis;
mod s3;

use std::time::Duration;

use crate::credentials::Credentials;
use http::Web;

/// Why a store cannot be asked: in one line, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct StoreFailure(pub(crate) String);

impl StoreFailure {
    /// Of an error, whose text may have several lines.
    pub(crate) fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn in_time() -> Self {
        Self("it has not answered in time".to_owned())
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

/// A connection to a store, used by one thread. Each request ends within the limits that it was opened with.
pub(crate) trait RemoteStore: Send {
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
    /// Until a connection is there.
    pub(crate) connect: Duration,
    /// Until all of an answer is there.
    pub(crate) request: Duration,
}

impl Limits {
    /// For what somebody waits for this long.
    pub(crate) fn of_look_up(deadline: u32) -> Self {
        let deadline = Duration::from_millis(u64::from(deadline.max(10)));
        Self {
            connect: deadline,
            request: deadline,
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
        .ok_or_else(|| StoreFailure(format!("`{url}` is no URL")))?;
    Ok(match scheme {
        "redis" | "rediss" | "redis+unix" => Box::new(redis::Redis::new(url, credentials, limits)?),
        "s3" => Box::new(Web::new(s3::Folder::new(rest, credentials)?, limits)),
        "http" | "https" => Box::new(Web::new(http::Folder::new(url, credentials), limits)),
        "file" => Box::new(folder::Folder::new(rest)?),
        _ => {
            return Err(StoreFailure(format!(
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
                    asked
                        .join()
                        .unwrap_or_else(|_| Err(StoreFailure("a request ended without an answer".to_owned())))
                })
                .collect()
        });
        for answer in answers {
            found.push(answer?);
        }
    }
    Ok(found)
}
