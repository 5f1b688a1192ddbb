//! What LLVM is told for NVIDIA GPUs has no effect on what the same worker compiles for others.

use offloom_abi::jit_bundle::ExecutionMode;
use offloom_abi::jit_compile::{GpuRequest, Priority, Reply, Request};

use crate::device_code::DeviceCode;
use crate::worker::Worker;

#[test]
fn a_kernel_for_a_gpu_changes_no_other() {
    let code = DeviceCode::compile();
    let mut worker = Worker::start(Priority::Program);
    let kernels = [("locals_of_level", 4), ("far_fields", 3), ("potentials", 4)];
    let compile = |worker: &mut Worker| {
        kernels.map(|(kernel, argument)| worker.compile(&code.bitcode, code.kernel(kernel), argument))
    };
    let before = compile(&mut worker);
    worker.send(&Request {
        target_triple: "nvptx64-nvidia-cuda",
        optimization_level: 3,
        processor: "sm_80",
        features: "+ptx83",
        kernel: "none",
        descriptor: "",
        match_floating_point: true,
        deadline: 600_000,
        gpu: Some(GpuRequest {
            assembler: "",
            assembler_arguments: "",
            mode: ExecutionMode::Spmd,
            anchor_count: 0,
            device_runtime: &[],
        }),
        bitcode: b"no bitcode",
    });
    let answer = worker.answer();
    assert!(!matches!(answer, Reply::Object { .. }), "{answer:?}");
    assert!(
        before == compile(&mut worker),
        "what is compiled afterwards is compiled as before"
    );
    worker.end();
}
