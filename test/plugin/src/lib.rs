//! Passes that only tests use.
