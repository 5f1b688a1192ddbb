//! `cargo xtask virtual-gpu-check`: programs for NVIDIA GPUs, built by LLVM's tools and by ours, run on the virtual GPU.
//!
//! Each program of the corpus and of the workloads runs on the x86_64 device first: that is what it must print. `-ffp-contract=off`
//! keeps both compilers from fusing. Where a program's numbers depend on the device ([`expectations`]), the build by LLVM's tools is the measure.
//! With `OFFLOOM_TEST_GPU=1` the programs run on the real GPU that `nvidia-smi` finds.

mod expectations;
mod jit;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use self::expectations::{Measure, measure_of};
use self::jit::Launches;
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
    /// Of how many forms besides plain objects one is checked for a program.
    every: NonZeroUsize,
    /// Of how many programs one is run in every mode of the JIT; 0: none.
    jit_every: usize,
}

/// Where the time is short.
pub(crate) const SHORT: Parts = Parts {
    every: NonZeroUsize::MIN.saturating_add(3),
    jit_every: 0,
};

/// Forms besides plain objects.
const FORMS: [Form; 3] = [Form::Lto, Form::StaticLibrary, Form::Relocatable];

/// Settings of the programs: reductions are the same only for the same number of teams.
const TEAMS: [(&str, &str); 1] = [("OMP_NUM_TEAMS", "4")];

/// Options of `cargo xtask virtual-gpu-check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Check one of N forms of links besides plain objects, by turns
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroUsize,
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
    subjects.retain(|subject| match measure_of(&subject.program.name) {
        Measure::None(reason) => {
            println!("left out: {}: {reason}", subject.program.name);
            false
        }
        _ => true,
    });
    let subjects: Vec<_> = subjects.iter().enumerate().collect();
    println!("LLVM {major}: {} programs on {}", subjects.len(), targets.name);
    let (mut right, mut wrong) = (BTreeMap::new(), Vec::new());
    let mut not_built = Vec::new();
    let (mut with_jit, mut launches) = (0, Launches::default());
    workers::for_each(
        "programs on the GPU",
        &subjects,
        |&(index, subject)| {
            let forms = FORMS.iter().enumerate();
            let forms = forms.filter(|(form, _)| (form + index).is_multiple_of(every.get()));
            let forms: Vec<_> = forms.map(|(_, &form)| form).collect();
            let two = (FORMS.len() + index).is_multiple_of(every.get());
            let extras = Extras {
                forms: &forms,
                two,
                jit: parts.jit_every != 0 && index.is_multiple_of(parts.jit_every),
            };
            compare(staged, &openmp, subject, &targets, extras)
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
    wrong.sort();
    wrong.dedup();
    for why in &not_built {
        println!("not built by LLVM's tools: {why}");
    }
    for (form, count) in &right {
        println!("LLVM {major}: {form}: {count} right");
    }
    println!(
        "LLVM {major}: {} cannot be built by LLVM's tools, {} are wrong",
        not_built.len(),
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

/// Builds and runs one program in every way.
fn compare(
    staged: &Staged,
    openmp: &OpenMp,
    subject: &Subject,
    targets: &Targets,
    extras: Extras<'_>,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let host = Builds::begin_for(staged, openmp, subject, Variant::Pie, Some(&targets.host))?;
    let of_host = host.stock.output(Form::Objects).context("on the x86_64 device")?;
    let builds = Builds::begin_for(staged, openmp, subject, Variant::Pie, Some(&targets.one))?;

    // LLVM's link without LTO is wrong where device code is in several files.
    let plain = if subject.program.sources.len() > 1 {
        Form::Lto
    } else {
        Form::Objects
    };
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
    let expected = match (&by_llvm, measure_of(&subject.program.name)) {
        (Ok(by_llvm), Measure::Llvm(_)) => by_llvm.clone(),
        _ => of_host,
    };
    outcome.note(format!("{plain}, LLVM"), by_llvm, &expected);
    let ours = ours_built.and_then(|()| builds.ours.run(&[]));
    outcome.note(format!("{plain}, ours"), ours, &expected);
    for &form in extras.forms {
        if form == plain || (subject.program.sources.len() > 1 && form != Form::Lto) {
            continue;
        }
        let built = builds.stock.build(form).is_ok();
        if built {
            outcome.note(format!("{form}, LLVM"), builds.stock.run(&[]), &expected);
        }
        // What LLVM's own tools cannot link in this form, nobody expects of ours.
        match builds.ours.build(form) {
            Err(_) if !built => {}
            ours => {
                let what = if built { "ours" } else { "ours alone" };
                let printed = ours.and_then(|()| builds.ours.run(&[]));
                outcome.note(format!("{form}, {what}"), printed, &expected);
            }
        }
    }
    if extras.two {
        let builds = Builds::begin_for(staged, openmp, subject, Variant::Pie, Some(&targets.two))?;
        outcome.note(
            "two processors, ours".to_owned(),
            builds.ours.output(plain),
            &expected,
        );
    }
    if extras.jit {
        match jit::check(&builds.ours, &targets.cuda.join("bin/ptxas"), &expected) {
            Ok(launches) => outcome.launches = Some(launches),
            Err(error) => outcome.wrong.push(format!("{error:#}")),
        }
    }
    Ok(outcome)
}

/// What a program is built and run as, besides its plain build.
#[derive(Clone, Copy)]
struct Extras<'a> {
    /// In these forms.
    forms: &'a [Form],
    /// With images for two processors.
    two: bool,
    /// In every mode of the JIT.
    jit: bool,
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

/// The devices.
pub(crate) struct Targets {
    name: String,
    /// CUDA's tools.
    pub(crate) cuda: PathBuf,
    /// The x86_64 device.
    host: Device,
    /// A GPU.
    pub(crate) one: Device,
    /// A GPU, with images for two processors in the program; the second runs.
    two: Device,
}

impl Targets {
    /// The virtual GPU, or the real one where `OFFLOOM_TEST_GPU` asks for it. None where CUDA's tools or a device runtime are missing.
    pub(crate) fn find(workspace: &Workspace, staged: &Staged) -> Result<Option<Self>> {
        let major = staged.llvm.major;
        let Some(cuda) = cuda::folder(workspace, major)? else {
            println!("LLVM {major}: left out: `cargo xtask setup` installs CUDA's tools");
            return Ok(None);
        };
        let runtimes = &staged.llvm.lib_dir;
        if !runtimes.join("libomptarget-nvptx-sm_80.bc").is_file() {
            println!("LLVM {major}: left out: its packages hold no device runtime for NVIDIA GPUs");
            return Ok(None);
        }
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
        let device = |processors: &[String], run_on: &str| {
            let mut environment = environment.clone();
            if !is_real {
                environment.push(("OFFLOOM_VIRTUAL_GPU", OsString::from(run_on)));
            }
            environment.extend(TEAMS.map(|(name, value)| (name, OsString::from(value))));
            gpu(processors, &cuda, runtimes, environment)
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
        Ok(Some(Self {
            name,
            host,
            // Some programs use several devices, of which the x86_64 one has four.
            one: device(&processors[..1], &[processors[0].as_str(); 4].join(",")),
            two: device(&processors, &[last.as_str(); 4].join(",")),
            cuda: cuda.clone(),
        }))
    }
}

fn gpu(
    processors: &[String],
    cuda: &Path,
    runtimes: &Path,
    environment: Vec<(&'static str, OsString)>,
) -> Device {
    let mut options = vec![
        format!("--offload-arch={}", processors.join(",")),
        format!("--cuda-path={}", cuda.display()),
        format!("--libomptarget-nvptx-bc-path={}", runtimes.display()),
        "-ffp-contract=off".to_owned(),
    ];
    if let [processor] = processors {
        options[0] = "-fopenmp-targets=nvptx64-nvidia-cuda".to_owned();
        options.push("-Xopenmp-target=nvptx64-nvidia-cuda".to_owned());
        options.push(format!("-march={processor}"));
    }
    Device {
        options,
        relocatable_options: vec![
            format!("-L{}", runtimes.display()),
            "-lomptarget.devicertl".to_owned(),
        ],
        environment,
    }
}

/// The processor of the first real GPU.
fn real_processor() -> Result<String> {
    let mut command = Command::new("nvidia-smi");
    command.args(["--query-gpu=compute_cap", "--format=csv,noheader"]);
    let output = command
        .output()
        .context("`OFFLOOM_TEST_GPU=1` asks for a GPU, and `nvidia-smi` cannot be run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next().and_then(|line| line.trim().split_once('.')) {
        Some((major, minor)) if output.status.success() => Ok(format!("sm_{major}{minor}")),
        _ => bail!("`OFFLOOM_TEST_GPU=1` asks for a GPU, and `nvidia-smi` finds none"),
    }
}
