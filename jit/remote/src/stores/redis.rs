//! Redis, Valkey, and what speaks as they do.

use std::path::PathBuf;
use std::time::Duration;

use redis::{Cmd, Connection, ConnectionAddr, ConnectionInfo, FromRedisValue, IntoConnectionInfo as _, cmd};

use super::{Limits, Put, RemoteStore, StoreFailure};
use crate::credentials::Credentials;

/// A server.
pub(super) struct Redis {
    at: ConnectionInfo,
    limits: Limits,
    connection: Option<Connection>,
}

impl Redis {
    pub(super) fn new(url: &str, credentials: &Credentials, limits: Limits) -> Result<Self, StoreFailure> {
        let at = match url.strip_prefix("redis+unix://") {
            Some(path) => ConnectionAddr::Unix(PathBuf::from(path)).into_connection_info(),
            None => url.into_connection_info(),
        };
        let at = at.map_err(|error| StoreFailure::of(format!("`{url}`: {error}")))?;
        let mut settings = at.redis_settings().clone().set_skip_set_lib_name();
        if let Some(user) = &credentials.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &credentials.password {
            settings = settings.set_password(password);
        }
        Ok(Self {
            at: at.set_redis_settings(settings),
            limits,
            connection: None,
        })
    }

    /// The connection, which is made if need be. Whoever asks puts it back.
    fn connected(&mut self) -> Result<Connection, StoreFailure> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let connection = redis::Client::open(self.at.clone())
            .and_then(|client| client.get_connection_with_timeout(self.limits.connect));
        let connection = connection.map_err(no_connection)?;
        limit(&connection, self.limits.request)?;
        Ok(connection)
    }

    fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, StoreFailure> {
        let mut connection = self.connected()?;
        // A connection on which something went wrong may still bring the answer: it is not asked again.
        let answer = command.query(&mut connection).map_err(failure)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

impl RemoteStore for Redis {
    fn connect(&mut self) -> Result<(), StoreFailure> {
        let mut connection = self.connected()?;
        if let ConnectionAddr::TcpTls { .. } = self.at.addr() {
            // It is made safe with the first request.
            limit(&connection, self.limits.connect)?;
            let _: String = cmd("PING").query(&mut connection).map_err(no_connection)?;
            limit(&connection, self.limits.request)?;
        }
        self.connection = Some(connection);
        Ok(())
    }

    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.ask(cmd("GET").arg(name))
    }

    fn get_many(&mut self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        let found: Vec<Option<Vec<u8>>> = self.ask(cmd("MGET").arg(names))?;
        match found.len() == names.len() {
            true => Ok(found),
            false => Err(StoreFailure::Failing(
                "MGET has other answers than questions".to_owned(),
            )),
        }
    }

    fn put(&mut self, name: &str, bytes: &[u8], lifetime: Duration, how: Put) -> Result<bool, StoreFailure> {
        let milliseconds = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        let mut command = cmd("SET");
        command.arg(name).arg(bytes).arg("PX").arg(milliseconds);
        if how == Put::New {
            command.arg("NX");
        }
        let set: Option<String> = self.ask(&command)?;
        Ok(set.is_some())
    }

    fn claim(&mut self, name: &str, lifetime: Duration) -> Result<bool, StoreFailure> {
        self.put(name, b"", lifetime, Put::New)
    }
}

/// Has each read and write on a connection take no longer than this.
fn limit(connection: &Connection, time: Duration) -> Result<(), StoreFailure> {
    connection
        .set_read_timeout(Some(time))
        .and_then(|()| connection.set_write_timeout(Some(time)))
        .map_err(failure)
}

fn no_connection(error: redis::RedisError) -> StoreFailure {
    match error.is_timeout() {
        true => StoreFailure::no_connection(),
        false => StoreFailure::of(error),
    }
}

fn failure(error: redis::RedisError) -> StoreFailure {
    match error.is_timeout() {
        true => StoreFailure::Late,
        false => StoreFailure::of(error),
    }
}
