//! Cases in one program, built with their device code as it is and specialised, and run.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use offloom_abi::HostProcessor;

use crate::build::Staged;
use crate::corpus::tools;
use crate::openmp::{DEVICE_TRIPLE, OpenMp};

use super::BATCH;
use super::kernel::{ELEMENTS, Kernel, Narrows};
use super::launch::{Mutant, items};

/// Options of both compiles. Without names for values the descriptors could not be matched to parameters.
const COMPILE: [&str; 2] = ["-O3", "-fno-discard-value-names"];

/// Levels of optimisation, one for each batch in turn.
const LEVELS: [&str; 4] = ["-O2", "-Oz", "-O3", "-Os"];

/// Keeps the ahead-of-time code's bits, before anything else changes.
const MATCH_BITS: &str = "offload-match-bits";

/// Compiles for a processor with more than the baseline has.
const RETARGET: &str = "offload-retarget<cpu=native>";

/// The pipeline that device code goes through after it was specialised, or was not.
const PIPELINE: &str = "default<O3>";

/// Has libomp form teams of one thread where nothing else is asked for.
const ONE_THREAD: [(&str, &str); 1] = [("OMP_NUM_THREADS", "1")];

/// The most seconds one run may take before it counts as hanging.
const SECONDS_PER_RUN: &str = "120";

/// Some cases.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(super) kernels: Vec<Kernel>,
}

/// What came of the two runs.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All results are equal.
    Same,
    /// The results of these seeds differ.
    Different(Vec<u64>),
    /// The specialised program did not come to its end.
    Crashed(String),
}

impl Batch {
    /// The cases of these seeds.
    pub(crate) fn of(seeds: Range<u64>, narrows: Narrows) -> Self {
        Self {
            kernels: seeds.map(|seed| Kernel::of(seed, narrows)).collect(),
        }
    }

    /// The cases of which something is true, and the others.
    pub(super) fn partition(self, is: impl FnMut(&Kernel) -> bool) -> (Self, Self) {
        let (kernels, others) = self.kernels.into_iter().partition(is);
        (Self { kernels }, Self { kernels: others })
    }

    /// At which level it is compiled where a front end's own choice of passes counts: loops have other forms
    /// where code is to be small.
    pub(super) fn level(&self) -> &'static str {
        let batch = self.kernels.first().map_or(0, |kernel| kernel.seed) / BATCH;
        LEVELS[batch as usize % LEVELS.len()]
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Its seeds, for a message.
    pub(crate) fn seeds(&self) -> String {
        let seed = |kernel: Option<&Kernel>| kernel.map_or(0, |kernel| kernel.seed);
        format!(
            "seeds {} to {}",
            seed(self.kernels.first()),
            seed(self.kernels.last())
        )
    }

    /// Builds both programs in a folder and runs them.
    pub(crate) fn run(
        &self,
        staged: &Staged,
        openmp: &OpenMp,
        mutant: Option<Mutant>,
        folder: &Path,
    ) -> Result<Outcome> {
        let build = Build {
            staged,
            openmp,
            folder,
        };
        let source = folder.join("cases.c");
        let text = self.source(Kernel::launch);
        fs::write(&source, text).with_context(|| format!("cannot write `{}`", source.display()))?;
        build.front_end()?;
        let specialize = self.passes(&build.device_text()?, mutant);
        build.program("plain", PIPELINE, &[])?;
        build.program("specialized", &format!("{specialize},verify,{PIPELINE}"), &[])?;
        let wide = format!("{specialize},{RETARGET},verify,{PIPELINE}");
        let switches = [
            tools::VARIANT_SWITCH,
            tools::WITHOUT_OPENMP_OPT,
            tools::DEARER_VECTORS,
        ];
        build.program("wide", &wide, &switches)?;
        let plain = [build.run("plain", &[])?, build.run("plain", &ONE_THREAD)?];
        let mut different = BTreeSet::new();
        let runs = [
            ("specialized", &[][..], &plain[0]),
            ("specialized", &ONE_THREAD, &plain[1]),
            ("wide", &[], &plain[0]),
        ];
        for (program, environment, plain) in runs {
            match build.run(program, environment) {
                Err(error) => {
                    return Ok(Outcome::Crashed(format!(
                        "the program `{program}` fails: {error:#}"
                    )));
                }
                Ok(results) => different.extend(self.compare(plain, &results)?),
            }
        }
        Ok(if different.is_empty() {
            Outcome::Same
        } else {
            Outcome::Different(different.into_iter().collect())
        })
    }

    /// The program, with these launches of each kernel.
    pub(super) fn source(&self, launches: impl Fn(&Kernel) -> String) -> String {
        let mut source = PRELUDE.replace("ELEMENTS", &ELEMENTS.to_string());
        for kernel in &self.kernels {
            source.push_str(&kernel.source);
        }
        source.push_str("int main(void) {\n  start();\n");
        for kernel in &self.kernels {
            source.push_str(&launches(kernel));
        }
        source.push_str("  return 0;\n}\n");
        source
    }

    /// The passes that specialise every kernel to its launch.
    fn passes(&self, device: &str, mutant: Option<Mutant>) -> String {
        let (first, mode) = if mutant == Some(Mutant::SourceBits) {
            (None, "source")
        } else {
            (Some(MATCH_BITS.to_owned()), "match")
        };
        let mut passes: Vec<_> = first.into_iter().collect();
        passes.push("offload-internalize".to_owned());
        for kernel in &self.kernels {
            let function = format!("_{}_l", kernel.name());
            let definition = device
                .lines()
                .find(|line| line.starts_with("define weak_odr ") && line.contains(&function));
            let Some((name, parameters)) = definition.and_then(signature) else {
                continue;
            };
            let mut items = items(
                &parameters,
                &kernel.scalars,
                &kernel.pointers,
                &kernel.object,
                mutant,
            );
            if kernel.one_thread {
                items.extend(["teams=1".to_owned(), "threads=1".to_owned()]);
            }
            let items = items.join(";");
            passes.push(format!(
                "offload-specialize<mode={mode};descriptor=kernel={name};arch={};{items}>",
                HostProcessor::NATIVE.architecture
            ));
        }
        passes.join(",")
    }

    /// The seeds whose results differ.
    fn compare(&self, plain: &str, specialized: &str) -> Result<Vec<u64>> {
        let lines: Vec<_> = plain.lines().collect();
        anyhow::ensure!(
            lines.len() == self.len(),
            "the program prints {} results",
            lines.len()
        );
        let different = (self.kernels.iter().zip(lines))
            .zip(specialized.lines())
            .filter(|((_, plain), specialized)| plain != specialized)
            .map(|((kernel, _), _)| kernel.seed);
        Ok(different.collect())
    }
}

/// The name of a function and those of its parameters, from the line that begins its definition.
fn signature(line: &str) -> Option<(&str, Vec<String>)> {
    let (before, after) = line.split_once('(')?;
    let (_, name) = before.rsplit_once('@')?;
    // Attributes have parentheses, but no percent signs.
    let names = after.split('%').skip(1).map(|text| {
        let end = text.find([',', ')', ' ']).unwrap_or(text.len());
        text[..end].to_owned()
    });
    Some((name, names.collect()))
}

/// The files of a batch, in a folder of its own.
struct Build<'a> {
    staged: &'a Staged,
    openmp: &'a OpenMp,
    folder: &'a Path,
}

impl Build<'_> {
    /// The host side's bitcode, and the device side's before any optimisation.
    fn front_end(&self) -> Result<()> {
        for (side, output, options) in [
            ("--offload-host-only", "host.bc", &[][..]),
            (
                "--offload-device-only",
                "device.bc",
                &["-Xclang", "-disable-llvm-passes"],
            ),
        ] {
            let mut command = self.clang();
            command.args(["-c", "-emit-llvm", side]).args(options);
            command.args(self.openmp.compile_options());
            tools::output(command.args(["cases.c", "-o", output]))?;
        }
        Ok(())
    }

    fn device_text(&self) -> Result<String> {
        let mut dis = self.in_folder(tools::tool(self.staged, "llvm-dis"));
        tools::output(dis.args(["device.bc", "-o", "-"]))
    }

    /// The program with this name, its device code having gone through the passes.
    fn program(&self, name: &str, passes: &str, options: &[&str]) -> Result<()> {
        let file = |extension: &str| format!("{name}.{extension}");
        let mut opt = self.in_folder(tools::opt(self.staged, passes));
        opt.args(options);
        tools::output(opt.args(["device.bc", "-o", &file("bc")]))?;
        let mut generate = self.clang();
        generate.args(["-Xclang", "-disable-llvm-passes", "-fPIC", "-c"]);
        tools::output(generate.args([&file("bc"), "-o", &file("device.o")]))?;
        let mut pack = self.wrapgen();
        pack.args(["pack", "-o", &file("offload")]).arg(format!(
            "--image=file={},triple={DEVICE_TRIPLE},arch=generic,kind=openmp",
            file("device.o")
        ));
        tools::output(&mut pack)?;
        let mut embed = self.clang();
        embed.args([
            "-c",
            "-Xclang",
            &format!("-fembed-offload-object={}", file("offload")),
        ]);
        tools::output(embed.args(["host.bc", "-o", &file("o")]))?;
        let mut link = self.clang();
        let tools_folder = self.staged.dist.join("libexec/offloom");
        link.arg("-B")
            .arg(tools_folder)
            .args(self.openmp.compile_options());
        link.arg(file("o")).args(&self.openmp.link_options);
        tools::output(link.args(["-lm", "-o", name])).map(drop)
    }

    /// Runs a program on the device; returns what it printed.
    fn run(&self, program: &str, environment: &[(&str, &str)]) -> Result<String> {
        let mut command = self.in_folder(Command::new("timeout"));
        command.args([SECONDS_PER_RUN, &format!("./{program}")]);
        command.env("OMP_TARGET_OFFLOAD", "mandatory");
        command.env("OMP_MAX_ACTIVE_LEVELS", "3");
        command.envs(environment.iter().copied());
        tools::output(&mut command)
    }

    fn clang(&self) -> Command {
        let mut command = self.in_folder(tools::clang(self.staged, false));
        command.args(COMPILE);
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

/// What all kernels need, and how each is launched: arrays on the device, where the test says how they are
/// aligned, filled from the seed before and hashed after the launch; all NaNs are one.
const PRELUDE: &str = r#"#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
#define real(x) _Generic((x), __bf16: of_bfloat, default: of_double)(x)
#define whole(x) _Generic((x), float: of_real, double: of_real, _Float16: of_real, __bf16: of_bfloat_whole, default: of_whole)(x)

// By its bits: what conversions become needs a library that has them.
static double of_bfloat(__bf16 x) {
  unsigned short high;
  memcpy(&high, &x, sizeof high);
  unsigned bits = (unsigned)high << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double of_double(double x) { return x; }
static u64 of_real(double x) { return (u64)(long)x; }
static u64 of_bfloat_whole(__bf16 x) { return of_real(of_bfloat(x)); }
static u64 of_whole(u64 x) { return x; }

struct box {
  unsigned count;
  float scale;
  u64 word;
  double real;
};

static _Float16 half_of(unsigned short bits) {
  _Float16 value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static __bf16 bfloat_of(unsigned short bits) {
  __bf16 value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float float_of(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double double_of(u64 bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static char *memory[4];
static size_t offsets[4];
static u64 words[4][ELEMENTS];
static u64 result;

static void start(void) {
  for (int i = 0; i < 4; i++)
    memory[i] = omp_target_alloc(sizeof words[i] + 256, omp_get_default_device());
}

static void *at(int array) {
  return memory[array] + (128 - (uintptr_t)memory[array] % 128) + offsets[array];
}

static void copy(int to_device) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  for (int i = 0; i < 4; i++)
    if (omp_target_memcpy(to_device ? at(i) : words[i], to_device ? (void *)words[i] : at(i), sizeof words[i], 0, 0,
                          to_device ? device : host, to_device ? host : device))
      exit(1);
}

static void begin(u64 seed, size_t in, size_t fin, size_t out, size_t fout) {
  offsets[0] = in, offsets[1] = fin, offsets[2] = out, offsets[3] = fout;
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < ELEMENTS; k++) {
      seed = seed * 6364136223846793005ul + 1442695040888963407ul;
      double value = (double)(seed >> 56) / 16 - 8;
      words[i][k] = seed >> 40;
      if (i % 2)
        memcpy(&words[i][k], &value, sizeof value);
    }
  result = 0;
  copy(1);
}

static void end(u64 seed) {
  copy(0);
  u64 hash = 14695981039346656037ul ^ result;
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < ELEMENTS; k++) {
      double value;
      memcpy(&value, &words[i][k], sizeof value);
      if (i == 3 && value != value)
        words[i][k] = 0;
      hash = (hash ^ words[i][k]) * 1099511628211ul ^ hash >> 29;
    }
  printf("%lu %016lx\n", seed, hash);
}

"#;
