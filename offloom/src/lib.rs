//! `offloom`: what people ask about the JIT. It loads neither LLVM nor libomptarget.
//!
//! | module | does |
//! | --- | --- |
//! | [`cli`] | the command line |
//! | [`cache`] | `offloom cache`: what is kept on disk |
//! | [`explain`] | `offloom explain`: what became of a program's launches |
//! | [`report`] | `offloom report`: the same as a page |
//! | [`run`] | `offloom run`: runs a program and explains what became of its launches |
//! | [`precompile`] | `offloom precompile`: variants for other processors |
//! | [`replay`] | `offloom replay`: one launch by itself |
//! | [`config`] | `offloom config`: how programs are built, and the settings there are |
//! | [`doctor`] | `offloom doctor`: whether programs can be built and run here |
//! | [`remote`] | `offloom key`, and what `offloom cache` does with a remote store |
//! | [`installation`] | where the rest of Offloom lies |
//! | [`scratch_folder`] | a folder that a signal does not leave behind |
//! | [`names`], [`units`] | what people read of kernels, arguments and values; of numbers |
//! | [`processes`] | what the processes of a job came to together |
//! | [`outcome`], [`error`], [`progress`] | what comes of a command; what can go wrong; how far long work is |
#![forbid(unsafe_code)]

mod cache;
pub mod cli;
mod config;
mod doctor;
mod error;
mod explain;
mod installation;
mod names;
mod outcome;
mod precompile;
mod processes;
mod progress;
mod remote;
mod replay;
mod report;
mod run;
mod scratch_folder;
mod units;
