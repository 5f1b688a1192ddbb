//! `cargo xtask bench-passes`: how long `offload-entries` takes on a large host module, beside what LLVM
//! needs for the same module.
//!
//! The module has as many target regions as declare target variables. Interleaved, each repetition runs `opt`
//! without a pass, with `globaldce` and with `offload-entries`, with reading and writing, and notes LLVM's
//! own figure for the pass alone (`-time-passes`). Processor time is compared, because it says the same on a
//! machine that does other work as well.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build::{LlvmBuilds, Staged};
use crate::command::shown;
use crate::figures::Figures;
use crate::pass_times::PassTimes;
use crate::workspace::Workspace;

/// Options of `cargo xtask bench-passes`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Target regions, and as many declare target variables
    #[arg(long, default_value_t = 20_000)]
    regions: u32,
    /// Repetitions
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
}

/// Runs `cargo xtask bench-passes`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.for_each(&workspace, |staged| {
        let folder = workspace.llvm_target(staged.llvm.major).join("bench-passes");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        bench(staged, &folder, arguments.regions, arguments.repetitions)
    })
}

fn bench(staged: &Staged, folder: &Path, regions: u32, repetitions: u32) -> Result<()> {
    let major = staged.llvm.major;
    let small = Input::write(staged, folder, regions / 4)?;
    let large = Input::write(staged, folder, regions)?;
    let mut figures = [const { Vec::new() }; 5];
    for _ in 0..repetitions {
        let measured = [
            large.opt("no-op-module")?.total,
            large.opt("globaldce")?.total,
            large.opt("offload-entries")?.total,
            large.opt("offload-entries")?.pass,
            small.opt("offload-entries")?.pass,
        ];
        for (list, seconds) in figures.iter_mut().zip(measured) {
            list.push(seconds);
        }
    }
    let [nothing, globaldce, entries, pass, quarter] = figures.map(Figures::of);
    println!(
        "LLVM {major}, {regions} target regions and {regions} variables, processor seconds (minimum, median, maximum):"
    );
    println!("read and write                      {nothing}");
    println!("read, globaldce, write              {globaldce}");
    println!("read, offload-entries, write        {entries}");
    println!("offload-entries alone               {pass}");
    println!("offload-entries alone, a quarter    {quarter}");
    println!(
        "offload-entries alone takes {:.2} of what `opt -passes=globaldce` takes with reading and writing",
        pass.median / globaldce.median
    );
    println!(
        "4 times the module takes {:.2} times as long (linear: 4)",
        pass.median / quarter.median
    );
    Ok(())
}

/// A module in a file, and the tools that work on it.
struct Input<'a> {
    staged: &'a Staged,
    module: PathBuf,
}

/// Processor seconds of one run of `opt`.
struct Run {
    total: f64,
    /// The pass alone.
    pass: f64,
}

impl<'a> Input<'a> {
    fn write(staged: &'a Staged, folder: &Path, regions: u32) -> Result<Self> {
        let text = folder.join(format!("regions-{regions}.ll"));
        fs::write(&text, host_module(regions))
            .with_context(|| format!("cannot write `{}`", text.display()))?;
        let module = text.with_extension("bc");
        let mut command = Command::new(staged.llvm.bin_dir.join("opt"));
        let status = command.arg(&text).arg("-o").arg(&module).status();
        ensure!(
            status.is_ok_and(|status| status.success()),
            "`{}` failed",
            shown(&command)
        );
        Ok(Self { staged, module })
    }

    fn opt(&self, pass: &str) -> Result<Run> {
        let output_file = self.module.with_extension("out.bc");
        let mut command = Command::new(self.staged.llvm.bin_dir.join("opt"));
        command
            .arg("-load-pass-plugin")
            .arg(self.staged.dist.join("lib/liboffloom_passes.so"))
            .arg(format!("-passes={pass}"))
            .args(["-time-passes", "-disable-verify"])
            .arg(&self.module)
            .arg("-o")
            .arg(output_file);
        let output = command.output().context("cannot run `opt`")?;
        let report = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`{}` failed: {report}", shown(&command));
        let report = PassTimes::read(&report);
        // Totals: of the passes, which include writing, and of reading. Our passes go by the name of the
        // plugin's C++ class.
        Ok(Run {
            total: report.seconds(|row| row.name == "Total"),
            pass: report.seconds(|row| row.name.contains("RustModulePass")),
        })
    }
}

/// Metadata nodes before those of the functions.
const DEBUG_NODES: u32 = 4;

/// A host module as Clang leaves it before offload entries: for each region its id, its host version and a
/// launch, with a place in the source and no `ident_t`, and a marked variable.
fn host_module(regions: u32) -> String {
    let mut text = String::from("target triple = \"x86_64-unknown-linux-gnu\"\n");
    text.push_str("declare i32 @__tgt_target_kernel(ptr, i64, i32, i32, ptr, ptr)\n");
    for index in 0..regions {
        let kernel = format!("__omp_offloading_1_2_f{index}_l{}", index + 1);
        let function = DEBUG_NODES + 2 * index;
        let place = function + 1;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "@.{kernel}.region_id = weak constant i8 0\n\
             @g{index} = global i32 {index} #0\n\
             define internal void @{kernel}(ptr %p) {{\n\
               %v = load i32, ptr %p\n\
               %g = load i32, ptr @g{index}\n\
               %s = add i32 %v, %g\n\
               store i32 %s, ptr %p\n\
               ret void\n\
             }}\n\
             define void @f{index}(ptr %p) !dbg !{function} {{\n\
               %r = call i32 @__tgt_target_kernel(ptr null, i64 -1, i32 -1, i32 0, ptr @.{kernel}.region_id, ptr %p), !dbg !{place}\n\
               %failed = icmp ne i32 %r, 0\n\
               br i1 %failed, label %fallback, label %done\n\
             fallback:\n\
               call void @{kernel}(ptr %p), !dbg !{place}\n\
               br label %done\n\
             done:\n\
               ret void\n\
             }}\n\
             !{function} = distinct !DISubprogram(name: \"f{index}\", file: !1, line: {index}, type: !2, unit: !0, \
               spFlags: DISPFlagDefinition)\n\
             !{place} = !DILocation(line: {index}, column: 3, scope: !{function})"
        );
    }
    text.push_str("attributes #0 = { \"offload-entry\"=\"to\" }\n");
    text.push_str(
        "!llvm.dbg.cu = !{!0}\n\
         !llvm.module.flags = !{!3}\n\
         !0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: LineTablesOnly)\n\
         !1 = !DIFile(filename: \"bench.c\", directory: \"/\")\n\
         !2 = !DISubroutineType(types: !{})\n\
         !3 = !{i32 2, !\"Debug Info Version\", i32 3}\n",
    );
    text
}
