//! What build scripts ask of LLVM, and tell Cargo.

use crate::find::{Llvm, find, prefix_variable};
use crate::sysroot;

/// For build scripts: the major version of the LLVM that a Cargo feature of the crate being built chooses,
/// `llvm19` and such. The crate finds it as `env!("OFFLOOM_LLVM_MAJOR")`.
///
/// Returns `None` after having reported an error; the script then just returns.
pub fn chosen_major() -> Option<u32> {
    let features = std::env::vars_os().filter_map(|(name, _)| {
        let major = name.to_str()?.strip_prefix("CARGO_FEATURE_LLVM")?.parse().ok()?;
        Some::<u32>(major)
    });
    let mut majors: Vec<u32> = features.collect();
    majors.sort_unstable();
    match *majors {
        [major] => {
            println!("cargo::rustc-env=OFFLOOM_LLVM_MAJOR={major}");
            Some(major)
        }
        [] => {
            println!("cargo::error=choose an LLVM: enable one of the features `llvmN`, such as `llvm19`");
            None
        }
        [first, second, ..] => {
            println!(
                "cargo::error=features `llvm{first}` and `llvm{second}` exclude each other: add `--no-default-features` to choose LLVM {second}"
            );
            None
        }
    }
}

/// For build scripts: finds the LLVM that [`chosen_major`] names, tells Cargo when to run the script again,
/// and turns a failure into one clear Cargo error.
///
/// Returns `None` after having reported an error; the script then just returns.
pub fn for_build_script() -> Option<Llvm> {
    let major = chosen_major()?;
    println!("cargo::rerun-if-env-changed={}", prefix_variable(major));
    println!("cargo::rerun-if-env-changed={}", sysroot::VARIABLE);
    match find(major) {
        Ok(llvm) => {
            // An upgrade of the packages replaces this header.
            println!(
                "cargo::rerun-if-changed={}",
                llvm.include_dir.join("llvm/Config/llvm-config.h").display()
            );
            Some(llvm)
        }
        Err(error) => {
            println!("cargo::error={error}");
            None
        }
    }
}

/// For build scripts: links the shared libLLVM into the integration tests of the crate being built, which are
/// programs and so have nobody to take LLVM's symbols from.
pub fn link_tests(llvm: &Llvm) {
    println!(
        "cargo::rustc-link-arg-tests=-Wl,-rpath,{}",
        llvm.lib_dir.display()
    );
    for argument in shared_library(llvm) {
        println!("cargo::rustc-link-arg-tests={argument}");
    }
}

/// Names the linker of programs that are linked with LLVM's archives, in the place of the one that Rust uses.
const LINKER_VARIABLE: &str = "OFFLOOM_LINKER";

/// For build scripts: has the programs of the package being built linked by the linker that `OFFLOOM_LINKER`
/// names as `-fuse-ld=` does, if it is set. Rust's own compiler comes with lld, that of distributions may not
/// use it.
pub fn let_linker_be_chosen() {
    println!("cargo::rerun-if-env-changed={LINKER_VARIABLE}");
    if let Ok(linker) = std::env::var(LINKER_VARIABLE) {
        // Of several the last one counts.
        println!("cargo::rustc-link-arg-bins=-fuse-ld={linker}");
    }
}

/// For build scripts: what a linker needs to be told for the shared libLLVM.
pub fn shared_library(llvm: &Llvm) -> Vec<String> {
    let mut arguments = vec![
        format!("-L{}", llvm.lib_dir.display()),
        format!("-lLLVM-{}", llvm.major),
    ];
    if let Some(sysroot) = &llvm.config.sysroot {
        // The libraries that it needs itself.
        arguments.push(format!("-Wl,-rpath-link,{}", sysroot.library_folder().display()));
    }
    arguments
}

/// For build scripts: what a linker needs to be told for these components of LLVM, and all that they use, to
/// become part of a program. Without `llvm-config`'s answer there is nothing, and the build fails with a
/// message.
pub fn static_libraries(llvm: &Llvm, components: &[&str]) -> Option<Vec<String>> {
    let output = llvm
        .config
        .command()
        .args(["--link-static", "--libs"])
        .args(components)
        .output()
        .ok()
        .filter(|output| output.status.success());
    let Some(output) = output else {
        println!(
            "cargo::error=`llvm-config` of LLVM {} does not name LLVM's static libraries",
            llvm.major
        );
        return None;
    };
    let names = String::from_utf8_lossy(&output.stdout);
    let mut arguments = vec![format!("-L{}", llvm.lib_dir.display())];
    arguments.extend(names.split_whitespace().map(str::to_owned));
    // What LLVM's libraries use; a program that is started often does not load them each time. Of another
    // machine by path: with its folder, the linker would find a C library whose parts it does not.
    arguments.extend(["libz.a", "libzstd.a"].map(|name| match &llvm.config.sysroot {
        Some(sysroot) => sysroot.library_folder().join(name).display().to_string(),
        None => format!("-l:{name}"),
    }));
    Some(arguments)
}
