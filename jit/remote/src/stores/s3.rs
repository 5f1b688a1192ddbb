//! Amazon's S3, and what speaks as it does. Requests are signed in the URL.

use std::time::Duration;

use rusty_s3::actions::{GetObject, PutObject, S3Action as _};
use rusty_s3::{Bucket, UrlStyle};
use ureq::Agent;

use super::http::{agent, get, put};
use super::{Limits, RemoteStore, StoreFailure, get_each};
use crate::credentials::Credentials;

/// How long the signature of a request holds.
const SIGNED_FOR: Duration = Duration::from_secs(300);

/// A bucket, and a folder in it.
pub(super) struct S3 {
    agent: Agent,
    bucket: Bucket,
    prefix: String,
    credentials: Option<rusty_s3::Credentials>,
}

impl S3 {
    /// `place`: the bucket, and what names in it begin with.
    pub(super) fn new(place: &str, credentials: &Credentials, limits: Limits) -> Result<Self, StoreFailure> {
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let region = credentials
            .region
            .clone()
            .unwrap_or_else(|| "us-east-1".to_owned());
        // Servers of one's own have no name for each bucket.
        let (endpoint, style) = match &credentials.endpoint {
            Some(endpoint) => (endpoint.clone(), UrlStyle::Path),
            None => (
                format!("https://s3.{region}.amazonaws.com"),
                UrlStyle::VirtualHost,
            ),
        };
        let wrong =
            |error: &dyn std::fmt::Display| StoreFailure(format!("the S3 endpoint `{endpoint}`: {error}"));
        let url = endpoint.parse().map_err(|error| wrong(&error))?;
        let bucket = Bucket::new(url, style, bucket.to_owned(), region)
            .map_err(|error| wrong(&format!("{error:?}")))?;
        let own = match (&credentials.access_key_id, &credentials.secret_access_key) {
            (Some(id), Some(secret)) => Some(match &credentials.session_token {
                Some(token) => rusty_s3::Credentials::new_with_token(id, secret, token),
                None => rusty_s3::Credentials::new(id, secret),
            }),
            _ => None,
        };
        Ok(Self {
            agent: agent(limits),
            bucket,
            prefix: match prefix.trim_matches('/') {
                "" => String::new(),
                prefix => format!("{prefix}/"),
            },
            credentials: own,
        })
    }

    fn get_one(&self, name: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        let object = format!("{}{name}", self.prefix);
        let action = GetObject::new(&self.bucket, self.credentials.as_ref(), &object);
        get(&self.agent, action.sign(SIGNED_FOR).as_str(), None)
    }

    fn put_one(&self, name: &str, bytes: &[u8], only_new: bool) -> Result<bool, StoreFailure> {
        let object = format!("{}{name}", self.prefix);
        let action = PutObject::new(&self.bucket, self.credentials.as_ref(), &object);
        put(
            &self.agent,
            action.sign(SIGNED_FOR).as_str(),
            None,
            bytes,
            only_new,
        )
    }
}

impl RemoteStore for S3 {
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.get_one(name)
    }

    fn get_many(&mut self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        let this = &*self;
        get_each(names, |name| this.get_one(name))
    }

    fn put_new(&mut self, name: &str, bytes: &[u8], _: Duration) -> Result<bool, StoreFailure> {
        self.put_one(name, bytes, true)
    }

    fn put(&mut self, name: &str, bytes: &[u8], _: Duration) -> Result<(), StoreFailure> {
        self.put_one(name, bytes, false).map(drop)
    }

    fn claim(&mut self, _: &str, _: Duration) -> Result<bool, StoreFailure> {
        // What is put stays: the claim of a machine that is gone would never end.
        Ok(true)
    }
}
