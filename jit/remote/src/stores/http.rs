//! WebDAV, and all else that answers GET and takes PUT.

use std::time::Duration;

use ureq::http::{Request, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::{Limits, RemoteStore, StoreFailure, get_each};
use crate::credentials::Credentials;
use crate::entry::MOST_BYTES;

/// The connections to a server.
pub(super) fn agent(limits: Limits) -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        // The store is where the URL says: secrets go nowhere else.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(limits.connect))
        .timeout_global(Some(limits.request.max(limits.connect)))
        .tls_config(
            TlsConfig::builder()
                .root_certs(RootCerts::PlatformVerifier)
                .build(),
        )
        .build()
        .into()
}

/// Reads what a URL leads to. `None`: nothing.
pub(super) fn get(
    agent: &Agent,
    url: &str,
    authorization: Option<&str>,
) -> Result<Option<Vec<u8>>, StoreFailure> {
    let mut request = Request::get(url);
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let request = request.body(()).map_err(StoreFailure::of)?;
    let mut response = agent.run(request).map_err(of_ureq)?;
    match response.status() {
        StatusCode::OK => {
            let body: &mut Body = response.body_mut();
            let bytes = body.with_config().limit(MOST_BYTES as u64).read_to_vec();
            bytes.map(Some).map_err(of_ureq)
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
        status => Err(StoreFailure(format!("the store answers a GET with {status}"))),
    }
}

/// Puts bytes where a URL leads to; with `only_new`, false if something is there.
pub(super) fn put(
    agent: &Agent,
    url: &str,
    authorization: Option<&str>,
    bytes: &[u8],
    only_new: bool,
) -> Result<bool, StoreFailure> {
    let mut request = Request::put(url);
    if only_new {
        request = request.header("if-none-match", "*");
    }
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let request = request.body(bytes).map_err(StoreFailure::of)?;
    let response = agent.run(request).map_err(of_ureq)?;
    match response.status() {
        status if status.is_success() => Ok(true),
        // 409: two at once, of which the other was first.
        StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT if only_new => Ok(false),
        status => Err(StoreFailure(format!("the store answers a PUT with {status}"))),
    }
}

/// Without the URL, which may hold a signature.
fn of_ureq(error: ureq::Error) -> StoreFailure {
    match error {
        ureq::Error::BadUri(_) => StoreFailure("the URL of the store is none".to_owned()),
        error => StoreFailure::of(error),
    }
}

/// A folder of a server.
pub(super) struct Http {
    agent: Agent,
    base: String,
    authorization: Option<String>,
}

impl Http {
    pub(super) fn new(url: &str, credentials: &Credentials, limits: Limits) -> Self {
        Self {
            agent: agent(limits),
            base: url.trim_end_matches('/').to_owned(),
            authorization: credentials.authorization(),
        }
    }

    /// One folder: a WebDAV server makes none by itself.
    fn url(&self, name: &str) -> String {
        format!("{}/{}", self.base, name.replace('/', "-"))
    }
}

impl RemoteStore for Http {
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        get(&self.agent, &self.url(name), self.authorization.as_deref())
    }

    fn get_many(&mut self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        let this = &*self;
        get_each(names, |name| {
            get(&this.agent, &this.url(name), this.authorization.as_deref())
        })
    }

    fn put_new(&mut self, name: &str, bytes: &[u8], _: Duration) -> Result<bool, StoreFailure> {
        put(
            &self.agent,
            &self.url(name),
            self.authorization.as_deref(),
            bytes,
            true,
        )
    }

    fn put(&mut self, name: &str, bytes: &[u8], _: Duration) -> Result<(), StoreFailure> {
        put(
            &self.agent,
            &self.url(name),
            self.authorization.as_deref(),
            bytes,
            false,
        )
        .map(drop)
    }

    fn claim(&mut self, _: &str, _: Duration) -> Result<bool, StoreFailure> {
        // What is put stays: the claim of a machine that is gone would never end.
        Ok(true)
    }
}
