//! Whether a program can tell a constant from a copy that is gone after a time.

use offloom_ir::gpu::is_address_observed;
use offloom_ir::inkwell::context::Context;
use offloom_ir::symbol::find;

use crate::parse;

#[expect(
    clippy::unwrap_used,
    reason = "a test that does not find its variable has failed"
)]
fn is_observed(code: &str) -> bool {
    let context = Context::create();
    let module = parse(
        &context,
        &format!(
            r#"@text = private unnamed_addr constant [2 x i8] c"a\00"
            @table = internal constant {{ i32, ptr }} {{ i32 1, ptr @text }}
            @tables = internal constant [1 x ptr] [ptr @table]
            declare void @__kmpc_reads(ptr)
            declare void @keeps(ptr)
            declare i32 @vprintf(ptr, ptr)
            declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
            define void @f(ptr %out, i1 %condition) {{
              %held = getelementptr {{ i32, ptr }}, ptr @table, i32 0, i32 1
              {code}
              ret void
            }}"#
        ),
    );
    module.verify().unwrap();
    is_address_observed(find(&module, "text").unwrap())
}

#[test]
fn what_is_only_read_is_not_observed() {
    for code in [
        "%c = load i8, ptr @text",
        "call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr @text, i64 2, i1 false)",
        "%p = load ptr, ptr %held\n %c = load i8, ptr %p",
        "%t = load ptr, ptr @tables\n %g = getelementptr { i32, ptr }, ptr %t, i32 0, i32 1\n %p = load ptr, ptr %g\n %c = load i8, ptr %p",
        "%n = load i32, ptr @table",
        "%p = select i1 %condition, ptr @text, ptr %out\n %c = load i8, ptr %p",
        "%same = icmp eq ptr @text, null",
        "call void @__kmpc_reads(ptr @text)\n call void @__kmpc_reads(ptr @tables)",
        "call i32 @vprintf(ptr @text, ptr %out)",
    ] {
        assert!(!is_observed(code), "{code}");
    }
}

#[test]
fn what_is_compared_or_kept_is_observed() {
    for code in [
        "store ptr @text, ptr %out",
        "%same = icmp eq ptr @text, %out",
        "call void @keeps(ptr @text)",
        "call void @keeps(ptr @table)",
        "call i32 @vprintf(ptr %out, ptr @text)",
        "%p = load ptr, ptr %held\n store ptr %p, ptr %out",
        "%n = load i64, ptr %held",
        "call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr @table, i64 16, i1 false)",
        "%t = load ptr, ptr @tables\n %g = getelementptr { i32, ptr }, ptr %t, i32 0, i32 1\n %p = load ptr, ptr %g\n store ptr %p, ptr %out",
        "%p = select i1 %condition, ptr @text, ptr %out\n store ptr %p, ptr %out",
        "%n = ptrtoint ptr @text to i64",
    ] {
        assert!(is_observed(code), "{code}");
    }
}
