//! The walk from source to program with each job of Clang's offload compile run by itself, and ours between
//! them.

use anyhow::{Context as _, Result, ensure};

use super::Demo;
use crate::clang_job;
use crate::command::{run_shown, shown};
use crate::openmp::DEVICE_TRIPLE;

/// Builds the program step by step.
pub(super) fn build(demo: &mut Demo, output: &str) -> Result<()> {
    host_ir(demo)?;
    device_code(demo)?;
    program(demo, output)
}

/// Host IR whose entries and `omp_offload.info` are ours: Clang's are taken out first.
fn host_ir(demo: &mut Demo) -> Result<()> {
    let mut clang = demo.tool("clang++");
    clang.args([
        "-O2",
        "-c",
        "-emit-llvm",
        "--offload-host-only",
        "-Xclang",
        "-disable-llvm-passes",
    ]);
    clang
        .args(demo.openmp.compile_options())
        .arg(&demo.source)
        .args(["-o", "host-clang.bc"]);
    demo.step("host IR", "Clang", &mut clang)?;

    let test_plugin = demo.staged.test_plugin.display().to_string();
    pass(
        demo,
        "entries taken out",
        &test_plugin,
        "test-strip-offload",
        ["host-clang.bc", "host-stripped.bc"],
    )?;
    let passes = passes(demo);
    pass(
        demo,
        "entries put back",
        &passes,
        "offload-entries",
        ["host-stripped.bc", "host.bc"],
    )?;

    let entries = [
        entries(demo, "host-clang.bc")?,
        entries(demo, "host-stripped.bc")?,
        entries(demo, "host.bc")?,
    ];
    println!("Offload entries in host-clang.bc, host-stripped.bc, host.bc: {entries:?}");
    ensure!(
        !entries[0].is_empty() && entries[1].is_empty() && entries[2] == entries[0],
        "the entries that were put back are not those that were taken out"
    );
    Ok(())
}

/// The symbols of the offload entries in a module, sorted.
fn entries(demo: &Demo, module: &str) -> Result<Vec<String>> {
    let mut nm = demo.tool("llvm-nm");
    nm.args(["--just-symbol-name", module]);
    println!("$ {}", shown(&nm));
    let output = nm.output().context("cannot run `llvm-nm`")?;
    ensure!(
        output.status.success(),
        "`llvm-nm` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let symbols = String::from_utf8_lossy(&output.stdout);
    let mut entries: Vec<_> = symbols
        .lines()
        .filter(|name| name.contains(".offloading.entry."))
        .map(str::to_owned)
        .collect();
    entries.sort();
    Ok(entries)
}

/// Device code. Clang's device front end reads which regions to compile from our host IR.
fn device_code(demo: &mut Demo) -> Result<()> {
    let mut driver = demo.tool("clang++");
    driver.args([
        "-O2",
        "-c",
        "-emit-llvm",
        "--offload-device-only",
        "-Xclang",
        "-disable-llvm-passes",
    ]);
    driver
        .args(demo.openmp.compile_options())
        .arg(&demo.source)
        .args(["-o", "device-clang.bc"]);
    let mut job = clang_job::find(&mut driver, "-fopenmp-is-target-device")?;
    let host_ir = job
        .iter()
        .position(|word| word == "-fopenmp-host-ir-file-path")
        .map(|option| option + 1);
    *host_ir
        .and_then(|at| job.get_mut(at))
        .context("Clang's device job reads no host IR")? = "host.bc".to_owned();
    let mut front_end = demo.command(job.remove(0).into());
    demo.step("device IR", "Clang", front_end.args(job))?;

    let passes = passes(demo);
    pass(
        demo,
        "device visibility",
        &passes,
        "offload-visibility",
        ["device-clang.bc", "device.bc"],
    )?;

    let mut clang = demo.tool("clang++");
    clang.args(["-O2", "-fPIC", "-c", "device.bc", "-o", "device.o"]);
    demo.step("device code", "Clang", &mut clang)
}

/// Shows the section table of a fat object as the design document does: where the entries and the device code
/// are.
fn show_offloading_sections(demo: &Demo, object: &str) -> Result<()> {
    let mut readelf = demo.tool("llvm-readelf");
    readelf.args(["-W", "--section-headers", object]);
    println!("$ {}", shown(&readelf));
    let output = readelf.output().context("cannot run `llvm-readelf`")?;
    let table = String::from_utf8_lossy(&output.stdout);
    let is_offloading = |line: &&str| line.contains("offload") && !line.contains(".rela");
    let sections: Vec<_> = table.lines().filter(is_offloading).collect();
    let heading = table.lines().filter(|line| line.contains("[Nr] Name"));
    for line in heading.chain(sections.iter().copied()) {
        println!("{line}");
    }
    let has = |name: &str| sections.iter().any(|line| line.contains(name));
    ensure!(
        has(".llvm.offloading") && has("_entries"),
        "`{object}` lacks the sections of a fat object:\n{table}"
    );

    let mut inspect = demo.command(demo.staged.dist.join("bin/wrapgen"));
    run_shown(inspect.args(["inspect", object])).map(|_| ())
}

/// The program: device code packed into the host object, then device link, registration and host link.
fn program(demo: &mut Demo, output: &str) -> Result<()> {
    let mut pack = demo.command(demo.staged.dist.join("bin/wrapgen"));
    pack.args(["pack", "-o", "device.offload"]);
    pack.arg(format!(
        "--image=file=device.o,triple={DEVICE_TRIPLE},arch=generic,kind=openmp"
    ));
    demo.step("pack", "wrapgen pack", &mut pack)?;

    let mut clang = demo.tool("clang++");
    clang.args([
        "-O2",
        "-c",
        "-Xclang",
        "-fembed-offload-object=device.offload",
        "host.bc",
        "-o",
        "zaxpy.o",
    ]);
    demo.step("host code", "Clang", &mut clang)?;
    show_offloading_sections(demo, "zaxpy.o")?;

    let mut driver = demo.tool("clang++");
    driver
        .args(["-O2", "zaxpy.o", "-o", output])
        .args(demo.openmp.compile_options());
    driver.args(&demo.openmp.link_options);
    let job = clang_job::find(&mut driver, "clang-linker-wrapper")?;
    let mut link = demo.command(demo.staged.dist.join("bin/wrapgen"));
    link.arg("link").args(&job[1..]);
    demo.step("device link, registration, link", "wrapgen link", &mut link)
}

/// Runs one pass of a plugin over a module.
fn pass(
    demo: &mut Demo,
    step: &'static str,
    plugin: &str,
    pass: &'static str,
    [from, to]: [&str; 2],
) -> Result<()> {
    let mut opt = demo.tool("opt");
    opt.arg(format!("-load-pass-plugin={plugin}"))
        .arg(format!("-passes={pass}"))
        .args([from, "-o", to]);
    demo.step(step, pass, &mut opt)
}

fn passes(demo: &Demo) -> String {
    demo.staged
        .dist
        .join("lib/liboffloom_passes.so")
        .display()
        .to_string()
}
