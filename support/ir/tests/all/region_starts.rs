//! Functions that only start regions, and such that do more.

use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::context::Context;
use offloom_ir::region_starts::leave_region_starts;

const MODULE: &str = r#"
declare void @__kmpc_fork_call(ptr, i32, ptr, ...)
declare void @__kmpc_fork_teams(ptr, i32, ptr, ...)
declare void @__kmpc_for_static_init_4(ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
declare double @sin(double)

define void @kernel(i64 %count, double %factor) alwaysinline {
  %bits = bitcast double %factor to i64
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr null, i32 1, ptr @teams, i64 %bits)
  ret void
}

define internal void @teams(ptr %thread, ptr %bound, i64 %count) alwaysinline {
  %last = alloca i32
  call void @__kmpc_for_static_init_4(ptr null, i32 0, i32 92, ptr null, ptr null, ptr %last, ptr null, i32 1, i32 1)
  br label %next
next:
  %n = phi i32 [ 0, %0 ], [ %more, %go_on ]
  %least = call i32 @llvm.smin.i32(i32 %n, i32 7)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @region, i32 %least)
  br label %go_on
go_on:
  %more = add i32 %n, 1
  %done = icmp eq i32 %more, 10
  br i1 %done, label %end, label %next
end:
  ret void
}

define internal void @region(ptr %thread, ptr %bound, i32 %n) {
  ret void
}

define void @has_a_loop_of_its_own(ptr %values) {
  br label %next
next:
  %n = phi i32 [ 0, %0 ], [ %more, %next ]
  store i32 %n, ptr %values
  %more = add i32 %n, 1
  %done = icmp eq i32 %more, 10
  br i1 %done, label %start, label %next
start:
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @region)
  ret void
}

define void @starts_in_some_rounds(i32 %count) {
  br label %next
next:
  %n = phi i32 [ 0, %0 ], [ %more, %go_on ]
  %odd = trunc i32 %n to i1
  br i1 %odd, label %start, label %go_on
start:
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @region)
  br label %go_on
go_on:
  %more = add i32 %n, 1
  %done = icmp eq i32 %more, %count
  br i1 %done, label %end, label %next
end:
  ret void
}

define void @computes(double %x) {
  %square = fmul double %x, %x
  %bits = bitcast double %square to i64
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @region, i64 %bits)
  ret void
}

define void @calls_others(ptr %object) {
  call void %object()
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @region)
  ret void
}

define void @is_called() alwaysinline {
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @region)
  ret void
}

define void @calls() {
  call void @is_called()
  ret void
}
"#;

#[test]
fn only_what_does_nothing_else_is_left_as_it_is() {
    let context = Context::create();
    let module = super::parse(&context, MODULE);
    leave_region_starts(&module);
    module.verify().unwrap();
    let kind = Attribute::get_named_enum_kind_id("optnone");
    let left = module
        .get_functions()
        .filter(|function| {
            function
                .get_enum_attribute(AttributeLoc::Function, kind)
                .is_some()
        })
        .map(|function| function.get_name().to_string_lossy().into_owned());
    assert_eq!(left.collect::<Vec<_>>(), ["kernel", "teams"]);
}
