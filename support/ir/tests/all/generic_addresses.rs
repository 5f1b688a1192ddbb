//! What a kernel's arguments lead to is accessed through generic addresses until code is generated.

use offloom_ir::gpu::use_generic_addresses;
use offloom_ir::inkwell::context::Context;

use crate::parse;

const CODE: &str = r#"
define void @kernel(ptr %a, ptr %b, i1 %c, i64 %i) {
entry:
  %next = getelementptr double, ptr %a, i64 %i
  %global = addrspacecast ptr %next to ptr addrspace(1)
  %loaded = load double, ptr addrspace(1) %global, align 8
  %one = select i1 %c, ptr %a, ptr %b
  %chosen = addrspacecast ptr %one to ptr addrspace(1)
  store double %loaded, ptr addrspace(1) %chosen, align 8
  %old = atomicrmw fadd ptr addrspace(1) %global, double %loaded monotonic
  store ptr addrspace(1) %global, ptr %b, align 8
  %elsewhere = load ptr, ptr %b, align 8
  %unknown = addrspacecast ptr %elsewhere to ptr addrspace(1)
  %other = load double, ptr addrspace(1) %unknown, align 8
  ret void
dead:
  %itself = getelementptr i8, ptr %itself, i64 8
  %round = addrspacecast ptr %itself to ptr addrspace(1)
  store double 0.0, ptr addrspace(1) %round, align 8
  br label %dead
}"#;

#[test]
fn only_loads_and_stores_of_what_arguments_lead_to_are_changed() {
    let context = Context::create();
    let module = parse(&context, CODE);
    let kernel = module.get_function("kernel").expect("it is there");
    assert_eq!(use_generic_addresses(kernel), 2);
    let text = module.print_to_string().to_string();
    for kept in [
        "load double, ptr %next,",
        "store double %loaded, ptr %one,",
        "atomicrmw fadd ptr addrspace(1) %global,",
        "store ptr addrspace(1) %global, ptr %b,",
        "load double, ptr addrspace(1) %unknown,",
        "store double 0.000000e+00, ptr addrspace(1) %round,",
    ] {
        assert!(text.contains(kept), "{kept}\n{text}");
    }
}
