//! The worker process compiles a kernel that spills many registers once more, with more vectors, and no
//! other.

use offloom_abi::jit_compile::Priority;

use crate::device_code::{DeviceCode, tool};
use crate::worker::Worker;

#[test]
fn vectors_are_preferred_where_registers_are_spilled() {
    let code = DeviceCode::compile();
    let mut worker = Worker::start(Priority::Program);
    let other = worker.compile(&code.bitcode, code.kernel("locals_of_level"), 4);
    let object = worker.compile(&code.bitcode, code.kernel("far_fields"), 3);
    let file = code.folder.path().join("far_fields.o");
    std::fs::write(&file, &object).expect("a file");
    let text = tool("llvm-objdump", &["-d"], &file);
    let count = |instruction| {
        text.split_whitespace()
            .filter(|word| *word == instruction)
            .count()
    };
    let (packed, scalar) = (count("vmulpd"), count("vmulsd"));
    assert!(
        packed > scalar,
        "{packed} packed and {scalar} scalar multiplications"
    );
    assert!(
        other == worker.compile(&code.bitcode, code.kernel("locals_of_level"), 4),
        "what is compiled afterwards is compiled as before"
    );
    worker.end();
}
