//! `wrapgen link`, also called as `clang-linker-wrapper`: links device code, wraps it, and runs the host
//! linker.
//!
//! Data flows through phases, one module each: [`scan`] opens the inputs and finds device code, [`group`]
//! sorts it by target, [`plan`] decides what is to be done, which no phase behind it asks the command line
//! for. [`device_images`] has [`compile`] bring each group to objects and [`device_link`] link those to an
//! image, [`entry_check`] compares it with what the host objects expect, [`wrap_images`] makes the
//! registration object, [`host_link`] runs the host linker. Without device code the host linker takes over at
//! once.

mod archive_rules;
pub mod bitcode_library;
pub mod command_line;
pub mod compile;
mod dependency_file;
pub mod device_images;
pub mod device_link;
pub mod device_symbols;
pub mod embedded_files;
pub mod entry_check;
mod fat_binary;
pub mod group;
pub mod host_command;
pub mod host_link;
pub mod host_symbols;
pub mod jobs;
mod library_search;
pub mod link_step;
pub mod linker_script;
pub mod members;
mod options;
mod override_image;
pub mod plan;
pub mod relocatable;
pub mod scan;
mod separate_runtimes;
mod stale_folders;
mod symbol_names;
pub mod target;
pub mod work_folder;
pub mod wrap_images;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use self::command_line::CommandLine;
use self::group::Group;
use self::host_command::HostCommand;
use self::host_symbols::HostSymbols;
use self::plan::{LinkPlan, Product};
use self::scan::HostInputs;
use self::work_folder::WorkFolder;
use self::wrap_images::RegistrationForJit;
use crate::LLVM;
use crate::error::{Error, Result};
use crate::messages;
use crate::output;
use crate::process::Runner;
use crate::response_file;
use crate::steps::{Journal, Phase};

/// Runs a link with the arguments behind the program's name.
///
/// # Errors
/// An input is missing or malformed, or a tool fails. The output is then as the host linker left it.
pub fn run(arguments: Vec<OsString>) -> Result<ExitCode> {
    let line = CommandLine::parse(response_file::expand(arguments)?)?;
    if line.options.help {
        output::print(&options::help())?;
        return Ok(ExitCode::SUCCESS);
    }
    if line.options.version {
        let version = env!("CARGO_PKG_VERSION");
        output::print(&format!("wrapgen {version}, for LLVM {}\n", LLVM.major()))?;
        return Ok(ExitCode::SUCCESS);
    }
    link(&line)?;
    Ok(ExitCode::SUCCESS)
}

/// The options as a command of clap's, for documentation only: a link's command line is the host linker's
/// first.
pub fn documentation() -> clap::Command {
    options::documentation()
}

/// Links as the command line says, and tells how long it took if that is asked for.
///
/// # Errors
/// As [`run`].
pub fn link(line: &CommandLine) -> Result<()> {
    let options = &line.options;
    let journal = Journal::new();
    let timed = options.time || options.time_trace.is_some();
    let linked = link_in_steps(
        line,
        Runner {
            verbose: options.verbose,
            dry_run: options.dry_run || options.print_phases,
            print_phases: options.print_phases,
            journal: timed.then_some(&journal),
            held: None,
        },
    );
    if options.time {
        messages::say(journal.table().trim_end());
    }
    match &options.time_trace {
        Some(file) => linked.and(journal.write_trace(file)),
        None => linked,
    }
}

fn link_in_steps(line: &CommandLine, runner: Runner<'_>) -> Result<()> {
    let CommandLine { options, host } = line;
    let inputs = match options.override_images.is_empty() {
        true => runner.step(&host.step(Phase::Scan).reads(host.inputs()), || {
            scan::open_inputs(host, options.relocatable)
        })?,
        false => HostInputs::default(),
    };
    let libraries = bitcode_library::open(&options.bitcode_libraries)?;
    let mut code = runner.step(&host.step(Phase::ReadDeviceCode), || {
        scan::device_code(&inputs.files)
    })?;
    for library in &libraries {
        code.push(library.device_code()?);
    }
    let host_symbols = HostSymbols::new(host, &inputs, options.relocatable);
    let groups = group::group(&code, &host_symbols, &options.should_extract)?;
    if groups.is_empty() && options.override_images.is_empty() {
        return match plan::product(options) {
            Product::Images => Err(Error::Usage(
                "--emit-fatbin-only has nothing to write: there is no device code in the inputs".to_owned(),
            )),
            product => link_host_code(product, host, &inputs, runner),
        };
    }
    let plan = LinkPlan::new(options, host, &groups)?;
    let mut folder = WorkFolder::create(&plan.output, plan.keeps_files)?;
    folder.print(runner);
    let linked = link_device_code(&plan, &inputs, &groups, &host_symbols, &mut folder, runner);
    linked.map_err(|error| folder.explain(error, &plan.output))
}

/// A link without device code.
fn link_host_code(
    product: Product,
    host: &HostCommand,
    inputs: &HostInputs,
    runner: Runner<'_>,
) -> Result<()> {
    if product != Product::Object
        && let Some(warning) = entry_check::warning_of_no_device_code(&inputs.files)
    {
        runner.say(&warning);
    }
    let output = host.output();
    let step = host.step(Phase::HostLink).reads(host.inputs()).makes([&output]);
    runner.step(&step, || host_link::exec_host_linker(host, runner))
}

/// The part of a link with device code that makes files.
fn link_device_code(
    plan: &LinkPlan<'_>,
    inputs: &HostInputs,
    groups: &[Group<'_>],
    host_symbols: &HostSymbols<'_>,
    folder: &mut WorkFolder,
    runner: Runner<'_>,
) -> Result<()> {
    let (host, output) = (plan.host, &plan.output);
    folder.set_image_place(embedded_files::image_place(plan, folder)?);
    let folder = &*folder;
    let mut images = override_image::images(plan.override_images)?;
    let mut added = Vec::new();
    let mut jit = RegistrationForJit {
        only: plan.makes_images_at_start(),
        bundles: Vec::new(),
    };
    for made in device_images::make_images(plan, &inputs.files, folder, runner)? {
        images.push(made.image);
        added.extend(made.jit.host_inputs);
        jit.bundles.extend(made.jit.bundle);
    }
    if !runner.dry_run && plan.override_images.is_empty() {
        runner.step(&host.step(Phase::EntryCheck), || {
            entry_check::check_entries(&inputs.files, host_symbols, groups, &images, folder)
        })?;
    }
    if let Some(warning) = group::warning_of_rivals(groups, &host.triple) {
        runner.say(&warning);
    }
    for warning in separate_runtimes::warnings(groups) {
        runner.say(&warning);
    }
    if plan.product == Product::Images {
        return wrap_images::emit_images(&images, output, &plan.wrap, folder, runner);
    }
    let wrappers = wrap_images::wrap_images(&images, &jit, &plan.wrap, folder, runner)?;
    added.splice(..0, wrappers);
    link_host(plan, &added, folder, runner)
}

/// The host link with the files `added`, and what is left to do to what it has written.
fn link_host(plan: &LinkPlan<'_>, added: &[PathBuf], folder: &WorkFolder, runner: Runner<'_>) -> Result<()> {
    let (host, output) = (plan.host, &plan.output);
    let is_object = plan.product == Product::Object;
    let linked = match is_object {
        true => folder.merged_object(),
        false => output.clone(),
    };
    let step = host
        .step(Phase::HostLink)
        .reads(added.iter().chain(host.inputs()))
        .makes([&linked]);
    runner.step(&step, || match is_object {
        true => runner.run(&mut host_link::command_writing(host, added, &linked)?),
        false => host_link::link(host, added, runner),
    })?;
    if let Some(file) = host.dependency_file()
        && !runner.dry_run
        && !plan.keeps_files
    {
        dependency_file::without_intermediate_files(file, added, &linked, output)?;
    }
    if is_object {
        let step = host.step(Phase::Independence).reads([&linked]).makes([output]);
        runner.step(&step, || relocatable::finish(&linked, output, runner))?;
    }
    Ok(())
}
