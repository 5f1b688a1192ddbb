//! Cases of a library's functions that a program never selects.

use offloom_ir::inkwell::context::Context;
use offloom_ir::unused_code::drop_cases_not_passed;

use crate::parse;

/// A function that chooses by how many there are, and one that passes that on.
const LIBRARY: &str = r"
    define void @chooses(i64 %count, i32 %other) {
      switch i64 %count, label %rest [ i64 0, label %none  i64 1, label %one  i64 2, label %two ]
    none:
      call void @of(i64 100)
      ret void
    one:
      call void @of(i64 101)
      ret void
    two:
      call void @of(i64 102)
      ret void
    rest:
      call void @of(i64 103)
      ret void
    }
    define void @passes_on(i32 %first, i64 %count) {
      call void @chooses(i64 %count, i32 %first)
      ret void
    }
    declare void @of(i64)";

/// The cases of [`LIBRARY`] that are left for a program.
#[expect(clippy::unwrap_used, reason = "a test whose IR is not valid has failed")]
fn left_for(program: &str) -> Vec<u32> {
    let context = Context::create();
    let library = parse(&context, LIBRARY);
    let program = format!(
        "declare void @chooses(i64, i32) declare void @passes_on(i32, i64) declare void @take(ptr) {program}"
    );
    drop_cases_not_passed(&library, &parse(&context, &program));
    library.verify().unwrap();
    let text = library.to_string();
    (100..104)
        .filter(|case| text.contains(&format!("@of(i64 {case})")))
        .collect()
}

#[test]
fn cases_stay_that_the_program_passes_itself_or_through_another_function() {
    let direct = "define void @f() { call void @chooses(i64 1, i32 0) ret void }";
    let through = "define void @g() { call void @passes_on(i32 0, i64 2) ret void }";
    assert_eq!(left_for(through), [102, 103]);
    assert_eq!(left_for(&format!("{direct} {through}")), [101, 102, 103]);
}

#[test]
fn all_cases_stay_where_it_is_not_known_what_is_passed() {
    let all = [100, 101, 102, 103];
    for program in [
        "",
        "define void @f(i64 %n) { call void @passes_on(i32 0, i64 %n) ret void }",
        "define void @f() { call void @passes_on(i32 0, i64 1) call void @take(ptr @passes_on) ret void }",
        "define void @f() { call void @passes_on(i32 0, i64 1) call void @take(ptr @chooses) ret void }",
    ] {
        assert_eq!(left_for(program), all, "{program}");
    }
}
