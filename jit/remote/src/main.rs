//! `offloom-jit-remote`: talks to remote stores of compiled kernels, so that programs need no library, thread
//! or connection for that.
//!
//! Started by `liboffloom_jit.so` without arguments, with a socket as standard input, on which
//! [`offloom_abi::jit_remote`] is spoken; it ends when the other end is closed. Started by the program
//! `offloom` with a command as argument ([`commands`]).
//!
//! | module | does |
//! | --- | --- |
//! | [`entry`] | signed entries: what a store holds |
//! | [`keys`] | the keys that sign them, in files |
//! | [`credentials`] | what a store wants of its users |
//! | [`stores`] | Redis, S3, WebDAV and folders behind one trait |
//! | [`session`] | objects and lists from the cache into the store, and back |
//! | [`verdicts`] | what launches took on other machines with such a device |
//! | [`machine`] | which kind of machine this is |
//! | [`memory`] | the limit of this process |
//! | [`serve`] | serves a program |
//! | [`commands`] | serves people |
#![forbid(unsafe_code)]

mod commands;
mod credentials;
mod entry;
mod keys;
mod machine;
mod memory;
mod serve;
mod session;
mod stores;
mod verdicts;

use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    memory::limit();
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let done = match arguments.as_slice() {
        [] => serve::serve().map_err(|error| {
            format!("{error}; this program is started by liboffloom_jit.so and by offloom, not by hand")
        }),
        arguments => commands::run(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "offloom: {}",
                offloom_text_table::printable_line(&error)
            );
            ExitCode::FAILURE
        }
    }
}
