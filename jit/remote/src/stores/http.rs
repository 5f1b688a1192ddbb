//! WebDAV, S3, and all else that answers GET and takes PUT.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::fmt::rfc2822::DateTimeParser;
use ureq::http::{HeaderMap, Request, Response, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Timeout};

use super::{Limits, Put, RemoteStore, StoreFailure, get_each, trial_name};
use crate::credentials::Credentials;
use crate::entry::MOST_BYTES;

/// Where a server keeps what has a name.
pub(super) trait Places: Send + Sync {
    /// The URL that a GET of this name goes to.
    fn to_get(&self, name: &str) -> String;
    /// The URL that a PUT under this name goes to.
    fn to_put(&self, name: &str) -> String;
    /// What the header `authorization` holds, if it is sent.
    fn authorization(&self) -> Option<&str>;
}

/// A server, asked by HTTP.
pub(super) struct Web<P> {
    agent: Agent,
    limits: Limits,
    places: P,
}

/// A condition of a PUT.
enum Condition<'a> {
    /// Nothing is there.
    Absent,
    /// What is there is what had this `ETag`.
    Unchanged(&'a str),
}

/// What a GET brought.
struct Found {
    headers: HeaderMap,
    bytes: Vec<u8>,
}

impl<P: Places> Web<P> {
    pub(super) fn new(places: P, limits: Limits) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            // The store is where the URL says: secrets go nowhere else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .timeout_send_request(Some(limits.request))
            .timeout_send_body(Some(limits.request))
            .timeout_recv_response(Some(limits.request))
            .timeout_recv_body(Some(limits.request))
            .tls_config(
                TlsConfig::builder()
                    .root_certs(RootCerts::PlatformVerifier)
                    .build(),
            )
            .build()
            .into();
        Self {
            agent,
            limits,
            places,
        }
    }

    /// `None`: nothing is there.
    fn find(&self, name: &str) -> Result<Option<Found>, StoreFailure> {
        self.find_within(name, self.limits.request)
    }

    /// As [`Self::find`], with an answer that may take so long.
    fn find_within(&self, name: &str, limit: Duration) -> Result<Option<Found>, StoreFailure> {
        let mut request = Request::get(self.places.to_get(name));
        if let Some(authorization) = self.places.authorization() {
            request = request.header("authorization", authorization);
        }
        let request = request.body(()).map_err(StoreFailure::of)?;
        let request = self.agent.configure_request(request);
        let request = request
            .timeout_recv_response(Some(limit))
            .timeout_recv_body(Some(limit))
            .build();
        let mut response = self.agent.run(request).map_err(of_ureq)?;
        match response.status() {
            StatusCode::OK => {
                let body = response.body_mut().with_config().limit(MOST_BYTES);
                let bytes = body.read_to_vec().map_err(of_ureq)?;
                let headers = std::mem::take(response.headers_mut());
                Ok(Some(Found { headers, bytes }))
            }
            StatusCode::GONE => Ok(None),
            StatusCode::NOT_FOUND if !lacks_bucket(&mut response) => Ok(None),
            StatusCode::NOT_FOUND => Err(StoreFailure::Failing("there is no such bucket".to_owned())),
            status => Err(StoreFailure::Failing(format!(
                "the store answers a GET with {status}"
            ))),
        }
    }

    /// False if the condition does not hold.
    fn keep(
        &self,
        name: &str,
        bytes: &[u8],
        condition: Option<&Condition<'_>>,
    ) -> Result<bool, StoreFailure> {
        let mut request = Request::put(self.places.to_put(name));
        match condition {
            Some(Condition::Absent) => request = request.header("if-none-match", "*"),
            Some(Condition::Unchanged(tag)) => request = request.header("if-match", *tag),
            None => {}
        }
        if let Some(authorization) = self.places.authorization() {
            request = request.header("authorization", authorization);
        }
        let request = request.body(bytes).map_err(StoreFailure::of)?;
        let mut response = self.agent.run(request).map_err(of_ureq)?;
        match response.status() {
            status if status.is_success() => Ok(true),
            // 409: two at once, of which the other was first.
            StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT if condition.is_some() => Ok(false),
            StatusCode::NOT_FOUND if lacks_bucket(&mut response) => {
                Err(StoreFailure::Failing("there is no such bucket".to_owned()))
            }
            status => Err(StoreFailure::Failing(format!(
                "the store answers a PUT with {status}"
            ))),
        }
    }
}

/// Whether an answer says so, as S3 does: with the status of a name that is not there.
fn lacks_bucket(response: &mut Response<Body>) -> bool {
    const MOST: u64 = 4096;
    let text = response.body_mut().with_config().limit(MOST).read_to_string();
    text.is_ok_and(|text| text.contains("<Code>NoSuchBucket</Code>"))
}

/// Without the URL, which may hold a signature.
fn of_ureq(error: ureq::Error) -> StoreFailure {
    match error {
        ureq::Error::BadUri(_) => StoreFailure::Failing("the URL of the store is none".to_owned()),
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => StoreFailure::no_connection(),
        ureq::Error::Timeout(_) => StoreFailure::Late,
        error => StoreFailure::of(error),
    }
}

/// How long ago what was found was put there, by the server's own clock: that of this machine may differ.
fn age(headers: &HeaderMap) -> Option<Duration> {
    let time = |name| DateTimeParser::new().parse_timestamp(headers.get(name)?).ok();
    time("date")?
        .duration_since(time("last-modified")?)
        .try_into()
        .ok()
}

/// What a claim holds: like that of no other.
fn mark() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{} {}", std::process::id(), now.as_nanos())
}

impl<P: Places> RemoteStore for Web<P> {
    /// With a request, after which the connection is kept.
    fn connect(&mut self) -> Result<(), StoreFailure> {
        let limit = self.limits.connect.max(self.limits.request);
        self.find_within(&trial_name(), limit).map(drop)
    }

    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        Ok(self.find(name)?.map(|found| found.bytes))
    }

    fn get_many(&mut self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        let this = &*self;
        get_each(names, |name| Ok(this.find(name)?.map(|found| found.bytes)))
    }

    fn put(&mut self, name: &str, bytes: &[u8], _: Duration, how: Put) -> Result<bool, StoreFailure> {
        let condition = match how {
            Put::New => Some(Condition::Absent),
            Put::Replacing => None,
        };
        self.keep(name, bytes, condition.as_ref())
    }

    fn claim(&mut self, name: &str, lifetime: Duration) -> Result<bool, StoreFailure> {
        let mark = mark();
        if self.keep(name, mark.as_bytes(), Some(&Condition::Absent))? {
            return Ok(true);
        }
        // What is put stays, also when the machine that has put it is gone.
        let Some(found) = self.find(name)? else {
            return Ok(false);
        };
        let tag = found.headers.get("etag").and_then(|tag| tag.to_str().ok());
        match (tag, age(&found.headers)) {
            (Some(tag), Some(age)) if age >= lifetime => {
                self.keep(name, mark.as_bytes(), Some(&Condition::Unchanged(tag)))
            }
            (Some(_), Some(_)) => Ok(false),
            // The server does not say what it takes to tell.
            _ => Ok(true),
        }
    }
}

/// A folder of a server.
pub(super) struct Folder {
    base: String,
    authorization: Option<String>,
}

impl Folder {
    pub(super) fn new(url: &str, credentials: &Credentials) -> Self {
        Self {
            base: url.trim_end_matches('/').to_owned(),
            authorization: credentials.authorization(),
        }
    }
}

impl Places for Folder {
    /// One folder: a WebDAV server makes none by itself.
    fn to_get(&self, name: &str) -> String {
        format!("{}/{}", self.base, name.replace('/', "-"))
    }

    fn to_put(&self, name: &str) -> String {
        self.to_get(name)
    }

    fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_claim_is_by_the_clock_of_the_server() {
        let headers = |date: &str, modified: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("date", date.parse().unwrap());
            headers.insert("last-modified", modified.parse().unwrap());
            headers
        };
        let [early, late] = ["Thu, 26 Nov 1998 23:59:55 GMT", "Fri, 27 Nov 1998 00:00:05 GMT"];
        assert_eq!(age(&headers(late, early)), Some(Duration::from_secs(10)));
        // Of the future, no date at all, and none given: nothing can be told.
        assert_eq!(age(&headers(early, late)), None);
        assert_eq!(age(&headers(late, "yesterday")), None);
        assert_eq!(age(&HeaderMap::new()), None);
    }
}
