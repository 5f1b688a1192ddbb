//! `cargo xtask virtual-gpu-check`: programs for NVIDIA GPUs, built by LLVM's tools and by ours, run on the
//! virtual GPU.
//!
//! Each program of the corpus and of the workloads runs on the x86_64 device first: that is what it must
//! print. `-ffp-contract=off` keeps both compilers from fusing. Where a program's numbers depend on the
//! device ([`expectations`]), the build by LLVM's tools is the measure. Where LLVM makes a program wrong, it
//! must be wrong in the way that is known, by both tools. With `OFFLOOM_TEST_GPU=1` the programs run on the
//! real GPU that `nvidia-smi` finds.

mod expectations;
mod jit;
pub(crate) mod runtime;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use self::expectations::{Fault, Measure, UNIFIED, measure_of};
use self::jit::Launches;
use self::runtime::DeviceRuntime;
use crate::build::{LlvmBuilds, Staged};
use crate::corpus::workers;
use crate::cuda;
use crate::matrix;
use crate::matrix::builds::{Builds, Device, Form, Subject, Variant};
use crate::names::is_wanted;
use crate::openmp::{DEVICE_TRIPLE, OpenMp};
use crate::virtual_gpu::{library_folder, library_path};
use crate::workspace::Workspace;

/// How much is checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    /// Of how many programs one is checked.
    programs_every: NonZeroUsize,
    /// Of how many further builds one is checked for a program.
    every: NonZeroUsize,
    /// Of how many programs one is run in every mode of the JIT; 0: none.
    jit_every: usize,
}

impl Parts {
    /// Where the time is short. What one LLVM makes of programs for GPUs differs little from what another
    /// makes: the first that is checked has the most.
    pub(crate) fn short(is_first: bool) -> Self {
        let one_of = |many| NonZeroUsize::MIN.saturating_add(many - 1);
        Self {
            programs_every: one_of(if is_first { 2 } else { 6 }),
            every: one_of(EXTRAS.len()),
            jit_every: 5,
        }
    }
}

/// One further build of a program, besides that of plain objects at `-O2`.
#[derive(Clone, Copy, Debug)]
enum Extra {
    /// In another form of link.
    Form(Form),
    /// With LTO, at another level of optimisation.
    Lto(Variant),
    /// With images for two processors, by our tools.
    TwoProcessors,
}

/// All further builds.
const EXTRAS: [Extra; 7] = [
    Extra::Form(Form::Lto),
    Extra::Form(Form::StaticLibrary),
    Extra::Form(Form::Relocatable),
    Extra::TwoProcessors,
    Extra::Lto(Variant::O0),
    Extra::Lto(Variant::O1),
    Extra::Lto(Variant::O3),
];

/// Settings of the programs: reductions are the same only for the same number of teams.
const TEAMS: [(&str, &str); 1] = [("OMP_NUM_TEAMS", "4")];

/// Options of `cargo xtask virtual-gpu-check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Check one of N builds besides that of plain objects, by turns: other forms of links, other levels, two
    /// processors
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroUsize,
    /// Check one of N programs
    #[arg(long, value_name = "N", default_value = "1")]
    programs_every: NonZeroUsize,
    /// Check one of N programs in every mode of the JIT; 0: none
    #[arg(long, value_name = "N", default_value = "1")]
    jit_every: usize,
    /// Only programs whose name contains one of these. Default: all
    programs: Vec<String>,
}

/// Runs `cargo xtask virtual-gpu-check`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.check_each(&workspace, |staged| {
        let parts = Parts {
            programs_every: arguments.programs_every,
            every: arguments.every,
            jit_every: arguments.jit_every,
        };
        check(&workspace, staged, parts, &arguments.programs)
    })
}

/// What became of one program.
#[derive(Debug, Default)]
struct Outcome {
    /// Forms that print what they must.
    right: Vec<String>,
    /// Why LLVM's tools make nothing of it.
    not_built: Option<String>,
    /// What LLVM makes wrong, as is known.
    known: Option<String>,
    /// What is wrong.
    wrong: Vec<String>,
    /// What became of launches with the JIT, if the program was run with it.
    launches: Option<Launches>,
}

impl Outcome {
    /// Notes what a form printed, beside what it must print.
    fn note(&mut self, form: String, printed: Result<String>, expected: &str) {
        match printed {
            Ok(printed) if printed == expected => self.right.push(form),
            Ok(printed) => {
                let text = format!("{form}: it prints\n{printed}instead of\n{expected}");
                self.wrong.push(text);
            }
            Err(error) => self.wrong.push(format!("{form}: {error:#}")),
        }
    }

    /// Notes what a form that cannot be right wrote.
    fn note_fault(&mut self, form: &str, fault: &Fault, written: Result<String>) {
        match written {
            Ok(written) => match fault.difference(&written) {
                None => self.known = Some(fault.reason.to_owned()),
                Some(missing) => self.wrong.push(format!(
                    "{form}: `{missing}` is not in what it writes: is LLVM's fault mended?\n{written}"
                )),
            },
            Err(error) => self.wrong.push(format!("{form}: {error:#}")),
        }
    }
}

/// Checks the programs for one LLVM, and prints what is wrong.
///
/// Fails when a program does not print what it must, and when nothing could be checked.
pub(crate) fn check(workspace: &Workspace, staged: &Staged, parts: Parts, only: &[String]) -> Result<()> {
    let major = staged.llvm.major;
    let every = parts.every;
    let Some(targets) = Targets::find(workspace, staged)? else {
        return Ok(());
    };
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let mut subjects = matrix::subjects(workspace, major)?;
    subjects.retain(|subject| is_wanted(&subject.program.name, only));
    let subjects: Vec<_> = subjects
        .iter()
        .step_by(parts.programs_every.get())
        .enumerate()
        .collect();
    println!("LLVM {major}: {} programs on {}", subjects.len(), targets.name);
    let (mut right, mut wrong) = (BTreeMap::new(), Vec::new());
    let (mut not_built, mut known) = (Vec::new(), Vec::new());
    let (mut with_jit, mut launches) = (0, Launches::default());
    workers::for_each(
        "programs on the GPU",
        &subjects,
        |&(index, subject)| {
            let extras = EXTRAS.iter().enumerate();
            let extras = extras.filter(|(extra, _)| (extra + index).is_multiple_of(every.get()));
            let extras: Vec<_> = extras.map(|(_, &extra)| extra).collect();
            let with_jit = parts.jit_every != 0 && index.is_multiple_of(parts.jit_every);
            Comparison {
                staged,
                openmp: &openmp,
                subject,
                targets: &targets,
            }
            .run(&extras, with_jit)
        },
        |(_, subject), outcome| {
            let name = &subject.program.name;
            match outcome {
                Ok(outcome) => {
                    for form in outcome.right {
                        *right.entry(form).or_insert(0) += 1;
                    }
                    if let Some(ran) = outcome.launches {
                        with_jit += 1;
                        launches.of_variants += ran.of_variants;
                        launches.ahead_of_time += ran.ahead_of_time;
                    }
                    not_built.extend(outcome.not_built.map(|why| format!("{name}: {why}")));
                    known.extend(outcome.known.map(|why| format!("{name}: {why}")));
                    for what in outcome.wrong {
                        println!("wrong: {name}, {what}");
                        wrong.push(name.clone());
                    }
                }
                Err(error) => {
                    println!("wrong: {name}: {error:#}");
                    wrong.push(name.clone());
                }
            }
        },
    )?;
    not_built.sort();
    known.sort();
    wrong.sort();
    wrong.dedup();
    for why in &not_built {
        println!("not built by LLVM's tools: {why}");
    }
    for why in &known {
        println!("wrong by LLVM's tools and by ours alike: {why}");
    }
    for (form, count) in &right {
        println!("LLVM {major}: {form}: {count} right");
    }
    println!(
        "LLVM {major}: {} cannot be built by LLVM's tools, {} are wrong as LLVM makes them, {} are wrong",
        not_built.len(),
        known.len(),
        wrong.len()
    );
    ensure!(!right.is_empty(), "LLVM {major}: nothing could be checked");
    if with_jit > 0 {
        println!(
            "LLVM {major}: {with_jit} programs in every mode of the JIT: with a full cache {} launches ran a variant, {} ahead-of-time code",
            launches.of_variants, launches.ahead_of_time
        );
    }
    ensure!(
        with_jit < 2 || launches.of_variants > 0,
        "LLVM {major}: no launch ran a variant"
    );
    ensure!(wrong.is_empty(), "LLVM {major}: wrong: {}", wrong.join(", "));
    Ok(())
}

/// One program, to be built and run.
struct Comparison<'a> {
    staged: &'a Staged,
    openmp: &'a OpenMp,
    subject: &'a Subject,
    targets: &'a Targets,
}

impl<'a> Comparison<'a> {
    fn builds(&self, variant: Variant, device: &'a Device) -> Result<Builds<'a>> {
        Builds::begin_for(self.staged, self.openmp, self.subject, variant, Some(device))
    }

    /// Builds and runs the program plainly, in these further ways, and in every mode of the JIT.
    fn run(&self, extras: &[Extra], with_jit: bool) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let name = &self.subject.program.name;
        let measure = measure_of(name, self.staged.llvm.major);
        let is_unified = UNIFIED.contains(&name.as_str());
        let one = if is_unified {
            &self.targets.unified
        } else {
            &self.targets.one
        };
        let builds = self.builds(Variant::Pie, one)?;
        let is_one_file = self.subject.program.sources.len() == 1;
        // LLVM's link without LTO is wrong where device code is in several files.
        let plain = if is_one_file { Form::Objects } else { Form::Lto };
        if let Measure::Fault(fault) = measure {
            if !self.targets.is_real {
                for (build, tools) in [(&builds.stock, "LLVM"), (&builds.ours, "ours")] {
                    let written = build.build(plain).and_then(|()| build.all_written(&[]));
                    outcome.note_fault(&format!("{plain}, {tools}"), fault, written);
                }
            }
            return Ok(outcome);
        }
        let host = self.builds(Variant::Pie, &self.targets.host)?;
        let of_host = host.stock.output(Form::Objects).context("on the x86_64 device")?;

        let built = builds.stock.build(plain);
        let ours_built = builds.ours.build(plain);
        if let Err(error) = built {
            outcome.not_built = Some(reason(&format!("{error:#}")));
            // Whatever ours makes of it is more than LLVM's make.
            if ours_built.is_ok() {
                let printed = builds.ours.run(&[]);
                outcome.note(format!("{plain}, ours alone"), printed, &of_host);
            }
            return Ok(outcome);
        }
        let by_llvm = builds.stock.run(&[]);
        let is_by_llvm = matches!(measure, Measure::Llvm(_));
        let expected = match &by_llvm {
            Ok(by_llvm) if is_by_llvm => by_llvm.clone(),
            _ => of_host,
        };
        outcome.note(format!("{plain}, LLVM"), by_llvm, &expected);
        let ours = ours_built.and_then(|()| builds.ours.run(&[]));
        outcome.note(format!("{plain}, ours"), ours, &expected);
        for &extra in extras {
            match extra {
                Extra::Form(form) if form == plain || !(is_one_file || form == Form::Lto) => {}
                Extra::Form(form) => {
                    let by_llvm = output_of_llvm(&builds, form);
                    compare_form(&builds, form, &form.to_string(), by_llvm, &expected, &mut outcome);
                }
                Extra::Lto(variant) => {
                    let builds = self.builds(variant, one)?;
                    let by_llvm = output_of_llvm(&builds, Form::Lto);
                    // LLVM's link cannot compile all that `-O0` leaves of the device runtime: the measure is
                    // its link of objects then.
                    let measure = match &by_llvm {
                        Some(Ok(printed)) => Ok(printed.clone()),
                        _ => builds.stock.output(plain),
                    };
                    match measure {
                        // The level decides which calls of the mathematical library are folded.
                        Ok(measure) if is_by_llvm || measure == expected => {
                            let what = format!("{} {variant}", Form::Lto);
                            compare_form(&builds, Form::Lto, &what, by_llvm, &measure, &mut outcome);
                        }
                        _ => {
                            let why = format!("at {variant}, all that LLVM's tools link of it is wrong");
                            outcome.known = Some(why);
                        }
                    }
                }
                Extra::TwoProcessors if is_unified => {}
                Extra::TwoProcessors => {
                    let builds = self.builds(Variant::Pie, &self.targets.two)?;
                    let printed = builds.ours.output(plain);
                    outcome.note("two processors, ours".to_owned(), printed, &expected);
                }
            }
        }
        if with_jit {
            match jit::check(&builds.ours, &self.targets.cuda.join("bin/ptxas"), &expected) {
                Ok(launches) => outcome.launches = Some(launches),
                Err(error) => outcome.wrong.push(format!("{error:#}")),
            }
        }
        Ok(outcome)
    }
}

/// What a program prints that LLVM's tools build in this form. None where they cannot link it.
fn output_of_llvm(builds: &Builds<'_>, form: Form) -> Option<Result<String>> {
    let built = builds.stock.build(form);
    built.is_ok().then(|| builds.stock.run(&[]))
}

/// Builds a program in a form by our tools, runs it, and notes that beside [`output_of_llvm`].
fn compare_form(
    builds: &Builds<'_>,
    form: Form,
    what: &str,
    by_llvm: Option<Result<String>>,
    expected: &str,
    outcome: &mut Outcome,
) {
    let built = by_llvm.is_some();
    if let Some(printed) = by_llvm {
        outcome.note(format!("{what}, LLVM"), printed, expected);
    }
    // What LLVM's own tools cannot link in this form, nobody expects of ours.
    match builds.ours.build(form) {
        Err(_) if !built => {}
        ours => {
            let tools = if built { "ours" } else { "ours alone" };
            let printed = ours.and_then(|()| builds.ours.run(&[]));
            outcome.note(format!("{what}, {tools}"), printed, expected);
        }
    }
}

/// The line of a build's messages that says why.
fn reason(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let wanted = ["error", "fatal", "LLVM ERROR", "ptxas", "undefined"];
    // The first line begins with the command.
    let (first, rest) = (lines.next().unwrap_or_default(), lines.collect::<Vec<_>>());
    let first = first.split_once(": ").map_or(first, |(_, message)| message);
    let mut all = [first].into_iter().chain(rest);
    let line = all.find(|line| wanted.iter().any(|word| line.contains(word)));
    line.unwrap_or(first).to_owned()
}

/// The setting that says which virtual GPUs there are.
const VIRTUAL_GPU: &str = "OFFLOOM_VIRTUAL_GPU";

/// The devices.
pub(crate) struct Targets {
    name: String,
    /// Whether it is a real GPU.
    is_real: bool,
    /// CUDA's tools.
    pub(crate) cuda: PathBuf,
    /// The x86_64 device.
    pub(crate) host: Device,
    /// A GPU.
    pub(crate) one: Device,
    /// A GPU that reaches all memory of the host.
    unified: Device,
    /// A GPU, with images for two processors in the program; the second runs.
    pub(crate) two: Device,
}

impl Targets {
    /// One virtual GPU of another processor.
    pub(crate) fn one_other(&self, processor: &str) -> Device {
        let mut device = self.one.clone();
        for option in &mut device.options {
            if option.starts_with("-march=") {
                *option = format!("-march={processor}");
            }
        }
        for (name, value) in &mut device.environment {
            if *name == VIRTUAL_GPU {
                *value = OsString::from(processor);
            }
        }
        device
    }

    /// The virtual GPU, or the real one where `OFFLOOM_TEST_GPU` asks for it. None where CUDA's tools or a
    /// device runtime are missing, which is said.
    pub(crate) fn find(workspace: &Workspace, staged: &Staged) -> Result<Option<Self>> {
        let major = staged.llvm.major;
        let Some(cuda) = cuda::folder(workspace, major)? else {
            println!("LLVM {major}: left out: `cargo xtask setup` installs CUDA's tools");
            return Ok(None);
        };
        let Some(runtime) = DeviceRuntime::find(workspace, staged)? else {
            println!(
                "LLVM {major}: left out: no package that is installed holds a device runtime for NVIDIA GPUs"
            );
            return Ok(None);
        };
        let is_real = env::var_os("OFFLOOM_TEST_GPU").is_some_and(|value| value == "1");
        let (name, processors, environment) = if is_real {
            let processor = real_processor()?;
            // The other image is for a processor that is not there.
            let other = if processor == "sm_80" { "sm_90" } else { "sm_80" };
            let name = format!("the GPU ({processor})");
            (name, [processor, other.to_owned()], Vec::new())
        } else {
            let folder = library_folder(workspace)?;
            let path = [("LD_LIBRARY_PATH", library_path(&folder)?)].to_vec();
            let name = "the virtual GPU".to_owned();
            (name, ["sm_80".to_owned(), "sm_90".to_owned()], path)
        };
        let device = |processors: &[String], run_on: &str, is_unified: bool| {
            let mut environment = environment.clone();
            if !is_real {
                environment.push((VIRTUAL_GPU, OsString::from(run_on)));
                let reaches_host = if is_unified { "1" } else { "0" };
                environment.push(("OFFLOOM_VIRTUAL_GPU_HOST_MEMORY", OsString::from(reaches_host)));
            }
            environment.extend(TEAMS.map(|(name, value)| (name, OsString::from(value))));
            gpu(processors, &cuda, &runtime, environment)
        };
        let host = Device {
            options: vec![
                format!("-fopenmp-targets={DEVICE_TRIPLE}"),
                "-ffp-contract=off".to_owned(),
            ],
            relocatable_options: Vec::new(),
            environment: TEAMS.map(|(name, value)| (name, OsString::from(value))).to_vec(),
        };
        let last = if is_real { &processors[0] } else { &processors[1] };
        // Some programs use several devices, of which the x86_64 one has four.
        let several = |processor: &str| [processor; 4].join(",");
        Ok(Some(Self {
            name,
            is_real,
            host,
            one: device(&processors[..1], &several(&processors[0]), false),
            unified: device(&processors[..1], &several(&processors[0]), true),
            two: device(&processors, &several(last), false),
            cuda: cuda.clone(),
        }))
    }
}

fn gpu(
    processors: &[String],
    cuda: &Path,
    runtime: &DeviceRuntime,
    environment: Vec<(&'static str, OsString)>,
) -> Device {
    let mut options = vec![
        format!("--offload-arch={}", processors.join(",")),
        format!("--cuda-path={}", cuda.display()),
        "-ffp-contract=off".to_owned(),
    ];
    options.extend_from_slice(&runtime.options);
    if let [processor] = processors {
        options[0] = "-fopenmp-targets=nvptx64-nvidia-cuda".to_owned();
        options.push("-Xopenmp-target=nvptx64-nvidia-cuda".to_owned());
        options.push(format!("-march={processor}"));
    }
    Device {
        options,
        relocatable_options: runtime.relocatable_options.clone(),
        environment,
    }
}

/// The processor of the first real GPU.
fn real_processor() -> Result<String> {
    cuda::gpu::processor().context("`OFFLOOM_TEST_GPU=1` asks for a GPU, and `nvidia-smi` finds none")
}
