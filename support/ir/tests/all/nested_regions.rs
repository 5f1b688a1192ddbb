//! Parallel regions and tasks that start others, before the device runtime is linked in.

use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::context::Context;
use offloom_ir::nested_regions::keep_nesting_regions_apart;

use crate::parse;

#[test]
fn regions_and_tasks_that_start_others_stay_functions() {
    let context = Context::create();
    let module = parse(
        &context,
        r"
define void @kernel() {
  call void @__kmpc_parallel_51(ptr null, i32 0, i32 1, i32 -1, i32 -1, ptr @outer, ptr null, ptr null, i64 0)
  call void @__kmpc_parallel_51(ptr null, i32 0, i32 1, i32 -1, i32 -1, ptr @alone, ptr null, ptr null, i64 0)
  ret void
}
define internal void @outer(ptr %global, ptr %bound) alwaysinline {
  call void @between()
  ret void
}
define internal void @between() {
  call void @__kmpc_parallel_51(ptr null, i32 0, i32 1, i32 -1, i32 -1, ptr @inner, ptr null, ptr null, i64 0)
  ret void
}
define internal void @inner(ptr %global, ptr %bound) alwaysinline {
  ret void
}
define internal void @alone(ptr %global, ptr %bound) alwaysinline {
  ret void
}
define internal i32 @task(i32 %thread, ptr %task) alwaysinline {
  %inner = call ptr @__kmpc_omp_task_alloc(ptr null, i32 0, i32 0, i64 8, i64 8, ptr @task_in_task)
  ret i32 0
}
define internal i32 @task_in_task(i32 %thread, ptr %task) alwaysinline {
  ret i32 0
}
define internal void @maker(ptr %global, ptr %bound) {
  %outer = call ptr @__kmpc_omp_task_alloc(ptr null, i32 0, i32 0, i64 8, i64 8, ptr @task)
  ret void
}
declare ptr @__kmpc_omp_task_alloc(ptr, i32, i32, i64, i64, ptr)
declare void @__kmpc_parallel_51(ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64)
",
    );
    assert_eq!(keep_nesting_regions_apart(&module), 2);
    module.verify().unwrap();
    let attributes = |name: &str| {
        let function = module.get_function(name).unwrap();
        ["alwaysinline", "noinline"].map(|attribute| {
            let kind = Attribute::get_named_enum_kind_id(attribute);
            function
                .get_enum_attribute(AttributeLoc::Function, kind)
                .is_some()
        })
    };
    assert_eq!(attributes("outer"), [false, true]);
    assert_eq!(attributes("inner"), [true, false]);
    assert_eq!(attributes("alone"), [true, false]);
    assert_eq!(attributes("task"), [false, true]);
    assert_eq!(attributes("task_in_task"), [true, false]);
}
