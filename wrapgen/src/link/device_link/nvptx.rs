//! The device link for NVIDIA GPUs: bitcode to PTX, PTX to a cubin by `ptxas`, cubins to the image by
//! `nvlink`.
//!
//! Objects go to `nvlink` as they are. Bitcode becomes PTX by the same steps as in Clang, so that the same
//! PTX comes out, except below -O2, where Clang's steps fail with many programs; Clang is started for it
//! because it alone knows which version of PTX the CUDA installation takes. `ptxas` is run from here, since
//! Clang's linker gives no way to hand it arguments.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use offloom_abi::OffloadKind;
use offloom_abi::version::{DeviceLinkDriver, LlvmVersion};

use super::super::plan::TargetPlan;
use super::super::plan::device_options::DeviceOptions;
use super::super::target::Target;
use super::super::work_folder::WorkFolder;
use super::device_libraries;
use crate::LLVM;
use crate::bitcode_tool::BitcodeTool;
use crate::error::Result;
use crate::process::Runner;
use crate::toolchain;

/// Links `inputs`, files of the group's members or in their place, to `image`.
///
/// # Errors
/// A tool is missing or fails.
pub(super) fn link(
    plan: &TargetPlan<'_>,
    inputs: &[PathBuf],
    folder: &WorkFolder,
    image: &Path,
    runner: Runner,
) -> Result<()> {
    let (target, options) = (&plan.group.target, &plan.options);
    let link = NvptxLink {
        plan,
        target,
        options,
        libraries: device_libraries::without_missing_runtime(&options.linker, target, runner),
        runner,
    };
    if plan.image_is_bitcode {
        return runner.run(&mut link.compile(inputs, "--lto-emit-llvm", image)?);
    }
    let mut cubins = Vec::new();
    for path in inputs {
        // As files of members are called (`compile::write_members`). The bitcode may be one file for several
        // members.
        if path.extension().is_some_and(|extension| extension == "cubin") {
            cubins.push(path.clone());
        }
    }
    if cubins.len() < inputs.len() {
        let ptx = folder.named(target, "lto.s");
        let cubin = folder.named(target, "lto.cubin");
        if options.level.is_some_and(|level| level < TRIMMED_BY_LLVM) {
            let linked = folder.named(target, "lto.bc");
            let trimmed = folder.named(target, "lto.trimmed.bc");
            runner.run(&mut link.compile(inputs, "--lto-emit-llvm", &linked)?)?;
            let mut trim = Command::new(BitcodeTool::find()?.program());
            runner.run(trim.arg("trim").arg("-o").arg(&trimmed).arg(&linked))?;
            runner.run(&mut link.generate(&trimmed, &ptx)?)?;
        } else {
            runner.run(&mut link.compile(inputs, "--lto-emit-asm", &ptx)?)?;
        }
        runner.run(&mut link.assemble(&ptx, &cubin)?)?;
        cubins.insert(0, cubin);
    }
    runner.run(&mut link.link(&cubins, image)?)?;
    if plan.group.kinds().any(|kind| kind == OffloadKind::OpenMp)
        && let Some(warning) = warning_of_abi_version(image, target)
    {
        runner.say(&warning);
    }
    Ok(())
}

/// A warning if libomptarget would take `image` for one that fits no device.
fn warning_of_abi_version(image: &Path, target: &Target) -> Option<String> {
    let mut start = [0; LlvmVersion::CUBIN_START];
    File::open(image).ok()?.read_exact(&mut start).ok()?;
    LLVM.too_new_for_libomptarget(&start).map(|version| {
        format!(
            "wrapgen: warning: the image for {} starts on no GPU: its cubins have the ABI version {version}, and libomptarget of LLVM {} \
             knows versions up to {}: use ptxas and nvlink of CUDA 12, whose folder --cuda-path= names",
            target.name(),
            LLVM.major(),
            LLVM.newest_cubin
        )
    })
}

/// The level from which LLVM's own pipeline removes what nothing executes. Below, functions of the device
/// runtime stay that code generation cannot take (LLVM 19: atomic stores), and calls that `ptxas` refuses
/// since they have too many arguments (OpenMPOpt makes them).
const TRIMMED_BY_LLVM: u8 = 2;

/// One link, and how it is to be done.
struct NvptxLink<'a> {
    plan: &'a TargetPlan<'a>,
    target: &'a Target,
    options: &'a DeviceOptions,
    /// Arguments for the device linker.
    libraries: Vec<OsString>,
    runner: Runner<'a>,
}

impl NvptxLink<'_> {
    /// The command that compiles the bitcode among `inputs` to what `form` says, PTX or bitcode. The objects
    /// among them say what must keep its name.
    fn compile(&self, inputs: &[PathBuf], form: &str, output: &Path) -> Result<Command> {
        let mut linker: Vec<OsString> = vec![form.into()];
        // Elsewhere Clang hands these on.
        if LLVM.device_links == DeviceLinkDriver::Wrapper {
            let features = self.features();
            if !features.is_empty() {
                linker.extend(["--feature".into(), features.join(",").into()]);
            }
            linker.push(format!("--plugin-opt=O{}", self.options.level_of_link()).into());
        }
        let llvm = self.options.llvm.iter();
        linker.extend(llvm.map(|option| joined("--plugin-opt=", option)));
        self.clang(inputs, &linker, output)
    }

    /// The command that has Clang do it, with what the options say to it and, after `linker`, to the linker.
    fn clang(&self, inputs: &[PathBuf], linker: &[OsString], output: &Path) -> Result<Command> {
        let mut command = Command::new(toolchain::llvm_program("clang")?);
        command.args(["--no-default-config", "-o"]).arg(output);
        command.arg(format!("--target={}", self.target.triple));
        command.arg(format!("-march={}", self.target.arch));
        if let Some(path) = self.plan.cuda_path {
            command.arg(joined("--cuda-path=", path.as_os_str()));
        }
        command.args(inputs);
        for word in linker.iter().chain(&self.libraries) {
            command.arg("-Xlinker").arg(word);
        }
        command.args(&self.options.compiler);
        Ok(command)
    }

    /// The command that generates PTX of linked bitcode, which is optimised already.
    fn generate(&self, bitcode: &Path, ptx: &Path) -> Result<Command> {
        let mut command = Command::new(toolchain::llvm_program("clang")?);
        command.args(["--no-default-config", "-S", "-o"]).arg(ptx);
        command.arg(format!("--target={}", self.target.triple));
        command.arg(format!("-march={}", self.target.arch));
        if let Some(path) = self.plan.cuda_path {
            command.arg(joined("--cuda-path=", path.as_os_str()));
        }
        command.arg(format!("-O{}", self.options.level_of_link()));
        command.args(["-Xclang", "-disable-llvm-passes"]);
        for option in &self.options.llvm {
            command.arg("-mllvm").arg(option);
        }
        command.args(["-x", "ir"]).arg(bitcode);
        Ok(command)
    }

    /// What the members were compiled for, such as `+ptx83`. LLVM takes the highest version.
    fn features(&self) -> Vec<&str> {
        let mut features = Vec::new();
        for found in &self.plan.group.members {
            for (key, value) in found.member.strings() {
                if key == "feature" && !features.contains(&value) {
                    features.push(value);
                }
            }
        }
        features
    }

    /// The command that assembles PTX, with the options that the stock tools of each release give.
    fn assemble(&self, ptx: &Path, cubin: &Path) -> Result<Command> {
        // Clang takes the level only along with `-flto`.
        let level = match LLVM.device_links {
            DeviceLinkDriver::Wrapper => self.options.level_of_link(),
            DeviceLinkDriver::Clang => self.options.level.filter(|_| self.options.lto).unwrap_or(3),
        };
        let mut command = Command::new(self.cuda_program("ptxas")?);
        command.arg("-m64");
        match (self.options.debug, level) {
            (true, 0) => {
                command.args(["-g", "--dont-merge-basicblocks", "--return-at-end"]);
            }
            (true, _) => {
                command.arg(format!("-O{level}")).arg("-lineinfo");
            }
            (false, _) => {
                command.arg(format!("-O{level}"));
            }
        }
        if self.runner.verbose {
            command.arg("-v");
        }
        command.args(["--gpu-name", &self.target.arch, "--output-file"]);
        command.arg(cubin).arg(ptx).args(&self.options.ptxas).arg("-c");
        Ok(command)
    }

    /// The command that links cubins.
    fn link(&self, cubins: &[PathBuf], image: &Path) -> Result<Command> {
        if self.options.needs_clang() {
            return self.clang(cubins, &[], image);
        }
        let library_folder = toolchain::llvm_library_dir();
        if self.libraries.is_empty() {
            let mut command = Command::new(self.cuda_program("nvlink")?);
            command.arg("-o").arg(image);
            if self.runner.verbose {
                command.arg("-v");
            }
            command.args(["-arch", &self.target.arch]);
            for folder in device_libraries::folders(self.target) {
                command.arg("-L").arg(folder);
            }
            command.arg("-L").arg(library_folder).args(cubins);
            return Ok(command);
        }
        // Libraries of device code are a format that `nvlink` does not know, but Clang's wrapper of it does.
        let mut command = Command::new(toolchain::llvm_program("clang-nvlink-wrapper")?);
        command.arg("-o").arg(image);
        if self.runner.verbose {
            command.arg("-v");
        }
        command.args(["-arch", &self.target.arch]);
        if let Some(path) = self.plan.cuda_path {
            command.arg(joined("--cuda-path=", path.as_os_str()));
        }
        // In Clang's order: a device runtime that options name does not come before LLVM's own.
        for folder in device_libraries::folders(self.target) {
            command.arg(joined("-L", folder.as_os_str()));
        }
        command.args(cubins).args(&self.libraries);
        command.arg(joined("-L", library_folder.as_os_str()));
        Ok(command)
    }

    fn cuda_program(&self, name: &str) -> Result<PathBuf> {
        toolchain::cuda_program(name, self.plan.cuda_path)
    }
}

/// An option and its value as one word.
fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}
