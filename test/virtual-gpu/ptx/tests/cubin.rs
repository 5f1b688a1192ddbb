//! What is read from a cubin is what `ptxas -v` printed when it made it, and what the PTX says.
//!
//! `ptxas` 12.9 said of `data/kernel.cubin`: 24 bytes gmem, 4 bytes cmem[3], 64 bytes stack frame, 10
//! registers, 48 bytes smem.

use offloom_ptx::cubin::{self, CubinError, CubinKernel, CubinVariable, Mismatch};
use offloom_ptx::image;
use offloom_ptx::tree::StateSpace;

const CUBIN: &[u8] = include_bytes!("data/kernel.cubin");
const PTX: &str = include_str!("data/kernel.ptx");

#[test]
fn kernels_and_variables_are_as_the_assembler_said() {
    let cubin = cubin::read(CUBIN).unwrap();
    assert_eq!(cubin.processor, 80);
    assert_eq!(
        cubin.kernels,
        [CubinKernel {
            name: "kernel".to_owned(),
            registers: 10,
            frame_bytes: 64,
            min_stack_bytes: Some(64),
            shared_bytes: 48,
            parameter_bytes: 16,
            max_threads: Some([128, 2, 1]),
            required_threads: None,
        }]
    );
    let variable = |name: &str, size, space| CubinVariable {
        name: name.to_owned(),
        size,
        space,
        is_internal: false,
    };
    let mut visible = cubin.variables;
    visible.retain(|variable| !variable.is_internal);
    visible.sort_by(|first, second| first.name.cmp(&second.name));
    assert_eq!(
        visible,
        [
            variable("constant", 4, StateSpace::Const),
            variable("variable", 24, StateSpace::Global)
        ]
    );
}

#[test]
fn a_cubin_that_carries_ptx_says_the_same_and_is_compared_with_it() {
    let image = image::append(CUBIN, &[PTX.as_bytes()]).unwrap();
    let parts = image::parts(&image).unwrap();
    assert_eq!(parts, [PTX.as_bytes()]);
    let cubin = cubin::read(&image).unwrap();
    assert_eq!(cubin.kernels, cubin::read(CUBIN).unwrap().kernels);

    let compared = |text: &str| {
        cubin::compare(
            &cubin,
            &offloom_ptx::parse("kernel.ptx", text.as_bytes()).unwrap(),
        )
    };
    assert_eq!(compared(PTX), Ok(()));
    assert_eq!(
        compared(&PTX.replace("variable[24]", "variable[32]")),
        Err(Mismatch::Size {
            name: "variable".to_owned(),
            cubin: 24,
            ptx: 32
        })
    );
    assert_eq!(
        compared(&PTX.replace(".param .u64 pointer", ".param .u64 pointer, .param .u64 more")),
        Err(Mismatch::Size {
            name: "kernel".to_owned(),
            cubin: 16,
            ptx: 24
        })
    );
    assert_eq!(
        compared(&PTX.replace("constant", "another")),
        Err(Mismatch::Missing("constant".to_owned()))
    );
}

#[test]
fn what_is_no_cubin_is_an_error() {
    assert!(matches!(cubin::read(b"no ELF file"), Err(CubinError::Elf(_))));
    let mut other = CUBIN.to_vec();
    other[18] = 62;
    assert!(matches!(cubin::read(&other), Err(CubinError::OtherMachine(62))));
}
