//! Which package may use which, for every kind of dependency, and that `ARCHITECTURE.md` names them all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::workspace::metadata;

/// Each package of the workspace, and the packages of the workspace that it may depend on.
///
/// Nothing may depend on `offloom-passes` or `offloom-jit-runtime`: they are what is loaded, not libraries.
const MAY_USE: &[(&str, &[&str])] = &[
    ("llvm-plugin", &["llvm-plugin-macros"]),
    ("llvm-plugin-macros", &[]),
    (
        "offloom",
        &[
            "offloom-abi",
            "offloom-descriptor",
            "offloom-jit-cache",
            "offloom-jit-variants",
            "offloom-signals",
            "offloom-text-table",
        ],
    ),
    ("offloom-abi", &[]),
    ("offloom-cuda-tools", &["offloom-nvjitlink", "offloom-ptx"]),
    ("offloom-descriptor", &[]),
    ("offloom-device-linker", &[]),
    ("offloom-find-llvm", &[]),
    ("offloom-gpu-bundle", &["offloom-text-table"]),
    ("offloom-ir", &["offloom-abi", "offloom-thread"]),
    (
        "offloom-jit-cache",
        &[
            "offloom-abi",
            "offloom-descriptor",
            "offloom-jit-variants",
            "offloom-whole-file",
        ],
    ),
    ("offloom-jit-variants", &["offloom-abi", "offloom-descriptor"]),
    (
        "offloom-jit-cuda",
        &[
            "offloom-abi",
            "offloom-descriptor",
            "offloom-jit-cache",
            "offloom-jit-variants",
            "offloom-jit-policy",
            "offloom-thread",
        ],
    ),
    ("offloom-jit-cuda-test", &["offloom-jit-cuda"]),
    (
        "offloom-jit-hsa",
        &[
            "offloom-abi",
            "offloom-descriptor",
            "offloom-jit-cache",
            "offloom-jit-variants",
            "offloom-jit-policy",
        ],
    ),
    (
        "offloom-jit-passes",
        &["offloom-abi", "offloom-ir", "offloom-descriptor"],
    ),
    (
        "offloom-jit-policy",
        &[
            "offloom-abi",
            "offloom-descriptor",
            "offloom-jit-cache",
            "offloom-jit-variants",
            "offloom-text-table",
            "offloom-thread",
        ],
    ),
    (
        "offloom-jit-remote",
        &[
            "offloom-abi",
            "offloom-jit-cache",
            "offloom-jit-variants",
            "offloom-text-table",
        ],
    ),
    (
        "offloom-jit-runtime",
        &[
            "offloom-abi",
            "offloom-ir",
            "offloom-descriptor",
            "offloom-jit-cache",
            "offloom-jit-variants",
            "offloom-jit-cuda",
            "offloom-jit-hsa",
            "offloom-jit-passes",
            "offloom-jit-policy",
            "offloom-text-table",
            "offloom-thread",
        ],
    ),
    ("offloom-nvjitlink", &[]),
    (
        "offloom-jit-worker",
        &[
            "offloom-abi",
            "offloom-ir",
            "offloom-jit-passes",
            "offloom-thread",
        ],
    ),
    ("offloom-launch", &["offloom-abi"]),
    ("offloom-launch-test", &["offloom-abi", "offloom-launch"]),
    (
        "offloom-passes",
        &[
            "llvm-plugin",
            "offloom-abi",
            "offloom-ir",
            "offloom-descriptor",
            "offloom-jit-passes",
        ],
    ),
    ("offloom-ptx", &[]),
    ("offloom-ptx-arithmetic", &[]),
    (
        "offloom-test-plugin",
        &["llvm-plugin", "offloom-abi", "offloom-ir"],
    ),
    ("offloom-text-table", &[]),
    ("offloom-signals", &[]),
    ("offloom-thread", &[]),
    ("offloom-whole-file", &[]),
    ("offloom-virtual-cuda", &["offloom-ptx", "offloom-virtual-gpu"]),
    ("offloom-virtual-gpu", &["offloom-ptx", "offloom-ptx-arithmetic"]),
    ("offloom-virtual-hsa", &[]),
    (
        "wrapgen",
        &[
            "offloom-abi",
            "offloom-ir",
            "offloom-jit-passes",
            "offloom-jit-policy",
            "offloom-signals",
            "offloom-text-table",
            "offloom-thread",
            "offloom-whole-file",
        ],
    ),
    (
        "xtask",
        &["offloom-abi", "offloom-find-llvm", "offloom-gpu-bundle"],
    ),
];

/// What only build scripts (and `xtask`) may use.
const FOR_BUILD_SCRIPTS: &str = "offloom-find-llvm";

#[test]
fn packages_depend_only_on_what_is_below_them() {
    let metadata = metadata().unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeSet<_> = packages
        .iter()
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    let may_use: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let listed: BTreeSet<_> = may_use.keys().copied().collect();
    assert_eq!(
        ours, listed,
        "packages of the workspace (left) and packages with a rule (right)"
    );

    for package in packages {
        let user = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let for_build_script = dependency["kind"].as_str() == Some("build");
            if !ours.contains(used) || (for_build_script && used == FOR_BUILD_SCRIPTS) {
                continue;
            }
            assert!(
                may_use[user].contains(&used),
                "`{user}` must not depend on `{used}`"
            );
        }
    }
}

#[test]
fn the_architecture_page_names_every_package_and_every_dependency() {
    let metadata = metadata().unwrap();
    let root = Path::new(metadata["workspace_root"].as_str().unwrap());
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let mut missing = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap())
            .parent()
            .unwrap();
        let folder = format!("`{}/`", folder.strip_prefix(root).unwrap().display());
        if !page.contains(&folder) {
            missing.insert(folder);
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            let ours = MAY_USE.iter().any(|(package, _)| *package == name);
            let named = page
                .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')
                .any(|word| word == name);
            if !ours && !named {
                missing.insert(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "not in ARCHITECTURE.md: {missing:?}");
}

/// Code that the worker and the runtime have, and that decides nothing of what a compile makes.
const OF_NO_EFFECT_ON_CODE: &[&str] = &["offloom-text-table", "offloom-thread", "offloom-whole-file"];

#[test]
fn cached_code_is_known_by_all_sources_that_decide_on_it() {
    let metadata = metadata().unwrap();
    let root = Path::new(metadata["workspace_root"].as_str().unwrap());
    let list = fs::read_to_string(root.join("jit/worker/sources.rs")).unwrap();
    let may_use: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let mut packages = BTreeSet::from(["offloom-jit-worker", "offloom-jit-runtime"]);
    let mut open: Vec<_> = packages.iter().copied().collect();
    while let Some(package) = open.pop() {
        open.extend(may_use[package].iter().filter(|used| packages.insert(used)));
    }
    let mut missing = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if !packages.contains(name) || OF_NO_EFFECT_ON_CODE.contains(&name) {
            continue;
        }
        let folder = Path::new(package["manifest_path"].as_str().unwrap())
            .parent()
            .unwrap();
        for part in ["src", "shim", "passes"].map(|part| folder.join(part)) {
            let part_in_root = part.strip_prefix(root).unwrap().display().to_string();
            let beside = part_in_root.strip_prefix("jit/").unwrap_or(&part_in_root);
            let is_listed = list.contains(&format!("\"../../{part_in_root}\""))
                || list.contains(&format!("\"../{beside}\""));
            if part.is_dir() && !is_listed {
                missing.insert(part_in_root);
            }
        }
    }
    assert!(missing.is_empty(), "not in jit/worker/sources.rs: {missing:?}");
}
