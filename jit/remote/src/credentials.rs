//! What a store wants of its users: from a file that nobody else may read, or from the variables that
//! Amazon's tools read. Never printed.

use std::ffi::OsString;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offloom_abi::jit_remote::CREDENTIAL_VARIABLES;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use serde::Deserialize;

/// The most bytes of the file.
const MOST_BYTES: u64 = 64 << 10;

/// All that a store may want.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    /// Of Redis, or of a web server.
    pub(crate) user: Option<String>,
    /// The user's.
    pub(crate) password: Option<String>,
    /// For a web server that wants one in the place of user and password.
    token: Option<String>,
    /// Of S3.
    pub(crate) access_key_id: Option<String>,
    /// Of S3.
    pub(crate) secret_access_key: Option<String>,
    /// Of S3.
    pub(crate) session_token: Option<String>,
    /// Of S3.
    pub(crate) region: Option<String>,
    /// Where an S3 server is that is not Amazon's.
    pub(crate) endpoint: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credentials(..)")
    }
}

impl Credentials {
    /// What a file holds, and the environment where that says nothing.
    ///
    /// # Errors
    /// The file cannot be read, others may read it, or it holds something else. Nothing of what it holds is
    /// in the message.
    pub(crate) fn read(
        file: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, String> {
        let mut found = file.map_or_else(|| Ok(Self::default()), of_file)?;
        let text = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| variable(name)?.into_string().ok());
            values.find(|value| !value.is_empty())
        };
        let [id, secret, token, region, default_region, endpoint] = CREDENTIAL_VARIABLES;
        if found.access_key_id.is_none() && found.secret_access_key.is_none() {
            found.access_key_id = text(&[id]);
            found.secret_access_key = text(&[secret]);
            found.session_token = found.session_token.or_else(|| text(&[token]));
        }
        found.region = found.region.or_else(|| text(&[region, default_region]));
        found.endpoint = found.endpoint.or_else(|| text(&[endpoint]));
        Ok(found)
    }

    /// What the header `authorization` of a request to a web server holds.
    pub(crate) fn authorization(&self) -> Option<String> {
        match (&self.token, &self.user, &self.password) {
            (Some(token), ..) => Some(format!("Bearer {token}")),
            (None, None, None) => None,
            (None, user, password) => {
                let [user, password] = [user, password].map(|part| part.as_deref().unwrap_or_default());
                Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
            }
        }
    }
}

fn of_file(path: &Path) -> Result<Credentials, String> {
    let named =
        |what: &dyn fmt::Display| format!("the credentials `{}` are not used: {what}", path.display());
    let mut text = String::new();
    // No pipe that never ends.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(|error| named(&error))?;
    let metadata = file.metadata().map_err(|error| named(&error))?;
    if metadata.uid() != geteuid().as_raw() || metadata.mode() & 0o077 != 0 || !metadata.is_file() {
        return Err(named(&"it must be a file that belongs to you and has mode 600"));
    }
    file.take(MOST_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| named(&error))?;
    // Its message quotes the line.
    toml::from_str(&text).map_err(|_| {
        named(
            &"it must be TOML with no other keys than user, password, token, access_key_id, secret_access_key, \
              session_token, region and endpoint, each with text",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::Mode;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_that_others_may_read_is_refused_and_nothing_of_it_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets");
        let read = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Credentials::read(Some(&path), |_| None)
        };
        fs::write(&path, "user = 'me'\npassword = 'hush'\n").unwrap();
        let found = read(0o600).unwrap();
        assert_eq!(found.authorization().unwrap(), "Basic bWU6aHVzaA==");
        assert!(!format!("{found:?}").contains("hush"));
        for mode in [0o640, 0o604, 0o622] {
            let error = read(mode).unwrap_err();
            assert!(error.contains("mode 600") && !error.contains("hush"), "{error}");
        }
        fs::write(&path, "password = 'hush'\nother = 'hush'\n").unwrap();
        let error = read(0o600).unwrap_err();
        assert!(
            error.contains("no other keys") && !error.contains("hush"),
            "{error}"
        );
        // A pipe that nobody writes to is refused, and not waited for.
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(read(0o600).unwrap_err().contains("mode 600"));
    }

    #[test]
    fn the_file_wins_over_the_environment() {
        let variable = |name: &str| Some(OsString::from(name.to_ascii_lowercase()));
        let found = Credentials::read(None, variable).unwrap();
        assert_eq!(found.access_key_id.as_deref(), Some("aws_access_key_id"));
        assert_eq!(found.endpoint.as_deref(), Some("aws_endpoint_url"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets");
        fs::write(&path, "access_key_id = 'a'\nsecret_access_key = 'b'\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let found = Credentials::read(Some(&path), variable).unwrap();
        assert_eq!(found.access_key_id.as_deref(), Some("a"));
        assert_eq!(found.session_token, None);
        assert_eq!(found.region.as_deref(), Some("aws_region"));
    }
}
