//! What is no opcode. `forms` has all that are some.

use offloom_virtual_gpu::supports;

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
