//! Amazon's S3, and what speaks as it does. Requests are signed in the URL.

use std::time::Duration;

use rusty_s3::actions::{GetObject, PutObject, S3Action as _};
use rusty_s3::{Bucket, UrlStyle};

use super::StoreFailure;
use super::http::Places;
use crate::credentials::Credentials;

/// How long the signature of a request holds.
const SIGNED_FOR: Duration = Duration::from_secs(300);

/// A folder in a bucket.
pub(super) struct Folder {
    bucket: Bucket,
    prefix: String,
    credentials: Option<rusty_s3::Credentials>,
}

impl Folder {
    /// `place`: the bucket, and what names in it begin with.
    pub(super) fn new(place: &str, credentials: &Credentials) -> Result<Self, StoreFailure> {
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
        let wrong = |error: &dyn std::fmt::Display| {
            StoreFailure::Failing(format!("the S3 endpoint `{endpoint}`: {error}"))
        };
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
            bucket,
            prefix: match prefix.trim_matches('/') {
                "" => String::new(),
                prefix => format!("{prefix}/"),
            },
            credentials: own,
        })
    }

    fn object(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl Places for Folder {
    fn to_get(&self, name: &str) -> String {
        let object = self.object(name);
        let action = GetObject::new(&self.bucket, self.credentials.as_ref(), &object);
        action.sign(SIGNED_FOR).into()
    }

    fn to_put(&self, name: &str) -> String {
        let object = self.object(name);
        let action = PutObject::new(&self.bucket, self.credentials.as_ref(), &object);
        action.sign(SIGNED_FOR).into()
    }

    fn authorization(&self) -> Option<&str> {
        None
    }
}
