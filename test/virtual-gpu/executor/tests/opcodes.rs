//! Every opcode of the PTX that there is to run is known.

use offloom_virtual_gpu::supports;

/// The opcode forms of all PTX that tests run, of the device runtime and of libdevice.
const OPCODES: &str = include_str!("../../ptx/opcodes.txt");

#[test]
fn every_opcode_is_known() {
    let forms: Vec<&str> = OPCODES.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(forms.len() >= 529, "{} forms", forms.len());
    let unknown: Vec<&&str> = forms.iter().filter(|form| !supports(form)).collect();
    assert!(unknown.is_empty(), "{} unknown: {unknown:?}", unknown.len());
}

#[test]
fn what_is_no_opcode_is_not_known() {
    for form in [
        "",
        "ld",
        "ld.u128",
        "add",
        "add.q32",
        "mov.x",
        "atom.add",
        "shfl.sync.b32",
        "bar",
        "frob.u32",
        "ld.moon.u32",
    ] {
        assert!(!supports(form), "{form}");
    }
}
