//! Programs built through our passes, run on the x86_64 device next to the stock build.
//!
//! For each source, host and device module are taken out of Clang's compile before any optimisation,
//! stripped, regenerated, and go on as Clang's would: device code packed into the host object, then `wrapgen`
//! links both sides.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build::Staged;
use crate::clang_job;
use crate::corpus::program::{Program, Source};
use crate::corpus::tools;
use crate::openmp::{DEVICE_TRIPLE, OpenMp};

/// The optimisation level of both builds.
const LEVEL: &str = "-O2";

/// The libraries of a program with C++ in it.
const LIBRARIES: [&str; 2] = ["-lstdc++", "-lm"];

/// The most seconds one run may take before it counts as hanging.
const SECONDS_PER_RUN: &str = "120";

/// Builds a program twice and runs both; an error says how they differ.
pub(crate) fn run_both(staged: &Staged, openmp: &OpenMp, program: &Program) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let build = Build {
        staged,
        openmp,
        folder: scratch.path(),
    };
    build.stock(program, "stock").context("stock build")?;
    build.ours(program, "ours").context("build through our passes")?;
    let stock = build.run("stock")?;
    let ours = build.run("ours")?;
    ensure!(!stock.is_empty(), "it prints nothing: nothing was shown");
    ensure!(
        stock == ours,
        "its output differs from the stock build's:\n{ours}instead of\n{stock}"
    );
    Ok(())
}

/// The builds of one program.
struct Build<'a> {
    staged: &'a Staged,
    openmp: &'a OpenMp,
    folder: &'a Path,
}

impl Build<'_> {
    /// One Clang command from the sources to the program.
    fn stock(&self, program: &Program, output: &str) -> Result<()> {
        let mut command = self.clang(false);
        for source in &program.sources {
            command.args(&source.flags).arg(&source.path);
        }
        self.link_options(&mut command, output);
        tools::output(&mut command).map(drop)
    }

    /// The same by hand, with our passes and `wrapgen`.
    fn ours(&self, program: &Program, output: &str) -> Result<()> {
        let mut driver = self.clang(false);
        for (number, source) in program.sources.iter().enumerate() {
            let object = format!("{number}.o");
            self.object(source, &object)
                .with_context(|| source.name.clone())?;
            driver.arg(object);
        }
        self.link_options(&mut driver, output);
        let job = clang_job::find(&mut driver, "clang-linker-wrapper")?;
        let mut link = self.wrapgen();
        link.arg("link").args(&job[1..]);
        tools::output(&mut link).map(drop)
    }

    /// A host object with its device code, from one source.
    fn object(&self, source: &Source, object: &str) -> Result<()> {
        let mut host = self.front_end(source, "--offload-host-only", "host-clang.bc");
        tools::output(&mut host)?;
        self.regenerate("host-clang.bc", "offload-entries", "host.bc")?;

        // Clang's device front end reads which regions to compile from our host module.
        let mut driver = self.front_end(source, "--offload-device-only", "device-clang.bc");
        let mut job = clang_job::find(&mut driver, "-fopenmp-is-target-device")?;
        let option = job.iter().position(|word| word == "-fopenmp-host-ir-file-path");
        *option
            .and_then(|option| job.get_mut(option + 1))
            .context("Clang's device job reads no host module")? = "host.bc".to_owned();
        tools::output(self.in_folder(Command::new(&job[0])).args(&job[1..]))?;
        self.regenerate(
            "device-clang.bc",
            "offload-entries,verify,offload-visibility",
            "device.bc",
        )?;

        let compile = |options: &[&str]| tools::output(self.clang(false).arg("-c").args(options));
        compile(&["-fPIC", "device.bc", "-o", "device.o"])?;
        let mut pack = self.wrapgen();
        pack.args(["pack", "-o", "device.offload"]);
        pack.arg(format!(
            "--image=file=device.o,triple={DEVICE_TRIPLE},arch=generic,kind=openmp"
        ));
        tools::output(&mut pack)?;
        let embed = "-fembed-offload-object=device.offload";
        compile(&["-Xclang", embed, "host.bc", "-o", object]).map(drop)
    }

    /// Clang's front end for one side, without the optimiser.
    fn front_end(&self, source: &Source, side: &str, output: &str) -> Command {
        let mut command = self.clang(source.is_cxx());
        command.args(["-c", "-emit-llvm", side, "-Xclang", "-disable-llvm-passes"]);
        command.args(self.openmp.compile_options()).args(&source.flags);
        command.arg(&source.path).args(["-o", output]);
        command
    }

    /// Takes away what our passes make, and makes it again.
    fn regenerate(&self, from: &str, passes: &str, to: &str) -> Result<()> {
        let pipeline = format!("test-strip-offload,verify,{passes},verify");
        let mut opt = self.in_folder(tools::opt(self.staged, &pipeline));
        tools::output(opt.args([from, "-o", to])).map(drop)
    }

    /// Runs a program on the device; returns what it printed.
    fn run(&self, program: &str) -> Result<String> {
        let mut command = self.in_folder(Command::new("timeout"));
        command.args([SECONDS_PER_RUN, &format!("./{program}")]);
        command.env("OMP_TARGET_OFFLOAD", "mandatory");
        tools::output(&mut command)
    }

    fn link_options(&self, command: &mut Command, output: &str) {
        command.args(self.openmp.compile_options());
        command.args(&self.openmp.link_options);
        command.args(LIBRARIES).args(["-o", output]);
    }

    fn clang(&self, is_cxx: bool) -> Command {
        let mut command = self.in_folder(tools::clang(self.staged, is_cxx));
        command.arg(LEVEL);
        command
    }

    fn wrapgen(&self) -> Command {
        self.in_folder(Command::new(self.staged.dist.join("bin/wrapgen")))
    }

    fn in_folder(&self, mut command: Command) -> Command {
        command.current_dir(self.folder);
        command
    }
}
