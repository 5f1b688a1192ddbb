//! Which iterations of a `distribute parallel for` a thread of a GPU runs, in the form in which Clang and
//! LLVM leave it before the link.

use offloom_ir::distribution::{Shared, share_iterations};
use offloom_ir::inkwell::context::Context;
use offloom_ir::symbol::{Symbol, find};

use crate::parse;

/// A kernel over `last + 1` iterations. `body` stands in the loop, where `%i` is the iteration and `%p` its
/// place; `phi` before it; `threads` is the `num_threads` clause.
fn kernel(last: &str, phi: &str, body: &str, threads: &str) -> String {
    format!(
        r#"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@team = internal addrspace(3) global i32 undef
define void @kernel(i64 %n, ptr %out) {{
entry:
  %lower = alloca i32
  %upper = alloca i32
  %stride = alloca i32
  %is_last = alloca i32
  %arguments = alloca [3 x ptr]
  %last = trunc i64 %n to i32
  store i32 0, ptr %lower
  store i32 {last}, ptr %upper
  store i32 1, ptr %stride
  store i32 0, ptr %is_last
  call void @__kmpc_distribute_static_init_4(ptr null, i32 0, i32 91, ptr %is_last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 128)
  %first_upper = load i32, ptr %upper
  %first_end = call i32 @llvm.smin.i32(i32 %first_upper, i32 {last})
  %first = load i32, ptr %lower
  %any = icmp sle i32 %first, {last}
  br i1 %any, label %chunk, label %done
chunk:
  %begin = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %end = phi i32 [ %first_end, %entry ], [ %next_end, %chunk ]
  %wide_begin = zext i32 %begin to i64
  %begin_word = inttoptr i64 %wide_begin to ptr
  store ptr %begin_word, ptr %arguments
  %wide_end = zext i32 %end to i64
  %end_word = inttoptr i64 %wide_end to ptr
  %second = getelementptr inbounds i8, ptr %arguments, i64 8
  store ptr %end_word, ptr %second
  %third = getelementptr inbounds i8, ptr %arguments, i64 16
  store ptr %out, ptr %third
  call void @__kmpc_parallel_51(ptr null, i32 0, i32 1, i32 {threads}, i32 -1, ptr @region, ptr null, ptr %arguments, i64 3)
  %step = load i32, ptr %stride
  %old = load i32, ptr %lower
  %next = add nsw i32 %old, %step
  store i32 %next, ptr %lower
  %old_end = load i32, ptr %upper
  %far_end = add nsw i32 %old_end, %step
  %next_end = call i32 @llvm.smin.i32(i32 %far_end, i32 {last})
  store i32 %next_end, ptr %upper
  %more = icmp sle i32 %next, {last}
  br i1 %more, label %chunk, label %done
done:
  call void @__kmpc_distribute_static_fini(ptr null, i32 0)
  ret void
}}
define internal void @region(ptr %thread, ptr %bound_thread, i64 %begin, i64 %end, ptr %out) {{
entry:
  %lower = alloca i32
  %upper = alloca i32
  %stride = alloca i32
  %is_last = alloca i32
  %begin_32 = trunc i64 %begin to i32
  %end_32 = trunc i64 %end to i32
  store i32 %begin_32, ptr %lower
  store i32 %end_32, ptr %upper
  store i32 1, ptr %stride
  store i32 0, ptr %is_last
  call void @__kmpc_for_static_init_4(ptr null, i32 0, i32 33, ptr %is_last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower
  %wide_first = sext i32 %first to i64
  %none = icmp ugt i64 %wide_first, %end
  br i1 %none, label %done, label %before
before:
  %step = load i32, ptr %stride
  br label %loop
loop:
  %i = phi i32 [ %first, %before ], [ %next, %loop ]
  {phi}
  %p = getelementptr i32, ptr %out, i32 %i
  {body}
  store i32 %i, ptr %p
  %next = add nsw i32 %i, %step
  %wide_next = sext i32 %next to i64
  %over = icmp ugt i64 %wide_next, %end
  br i1 %over, label %done, label %loop
done:
  call void @__kmpc_for_static_fini(ptr null, i32 0)
  ret void
}}
declare void @__kmpc_distribute_static_init_4(ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32)
declare void @__kmpc_distribute_static_fini(ptr, i32)
declare void @__kmpc_for_static_init_4(ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32)
declare void @__kmpc_for_static_fini(ptr, i32)
declare void @__kmpc_parallel_51(ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64)
declare i32 @omp_get_thread_num()
declare void @omp_set_num_threads(i32)
declare void @llvm.nvvm.barrier0()
"#
    )
}

/// The same for an AMD GPU: variables of a function are in an address space of their own, by which code reads
/// and writes them, and functions of the device runtime are handed generic addresses.
fn for_amd(text: &str) -> String {
    const VARIABLES: [&str; 5] = ["lower", "upper", "stride", "is_last", "arguments"];
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some((name, allocated)) = line.trim().split_once(" = alloca ") {
            lines.push(format!("  {name}_5 = alloca {allocated}, addrspace(5)"));
            lines.push(format!(
                "  {name} = addrspacecast ptr addrspace(5) {name}_5 to ptr"
            ));
            continue;
        }
        let mut line = line.to_owned();
        if !line.contains("call void @__kmpc_") {
            for name in VARIABLES {
                line = line.replace(&format!("ptr %{name}"), &format!("ptr addrspace(5) %{name}_5"));
            }
            for name in ["second", "third"] {
                line = line.replace(&format!("ptr %{name}"), &format!("ptr addrspace(5) %{name}"));
            }
        }
        lines.push(line);
    }
    lines
        .join("\n")
        .replace("nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa")
        .replace(
            "e-i64:64-i128:128-v16:16-v32:32-n16:32:64",
            "e-p:64:64-p1:64:64-p3:32:32-p4:64:64-p5:32:32-i64:64-n32:64-A5-G1",
        )
}

/// The same as of LLVM 22: the call that starts a region has one argument more, and each access to a variable
/// is by an address that is cast for it.
fn for_llvm_22(text: &str) -> String {
    const ADDRESSES: [&str; 7] = [
        "lower",
        "upper",
        "stride",
        "is_last",
        "arguments",
        "second",
        "third",
    ];
    let text = text
        .replace("@__kmpc_parallel_51", "@__kmpc_parallel_60")
        .replace("ptr %arguments, i64 3)", "ptr %arguments, i64 3, i32 0)")
        .replace("ptr, ptr, ptr, i64)", "ptr, ptr, ptr, i64, i32)");
    let mut lines = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        let (name, computed) = trimmed.split_once(" = ").unwrap_or_default();
        let name = name.trim_start_matches('%');
        let is_access = trimmed.starts_with("store ") || computed.starts_with("load ");
        let mut line = line.to_owned();
        for address in ADDRESSES.into_iter().filter(|_| is_access) {
            let cast = format!("ptr addrspace(5) %{address}_5");
            line = line.replace(&format!(", ptr %{address}"), &format!(", {cast}"));
        }
        lines.push(line);
        if ADDRESSES.contains(&name) {
            lines.push(format!(
                "  %{name}_5 = addrspacecast ptr %{name} to ptr addrspace(5)"
            ));
        }
    }
    lines.join("\n")
}

/// What is done to the kernel for so many threads in each of an unknown number of teams, and its code
/// afterwards.
fn share(text: &str, threads: u32) -> (Shared, String) {
    share_among(text, threads, None)
}

/// What is done to the kernel for so many threads and teams, and its code afterwards.
#[expect(
    clippy::unwrap_used,
    reason = "a test whose kernel is not there, or whose code is wrong, has failed"
)]
fn share_among(text: &str, threads: u32, teams: Option<u32>) -> (Shared, String) {
    let context = Context::create();
    let module = parse(&context, text);
    let function = find(&module, "kernel").and_then(Symbol::as_function).unwrap();
    let shared = share_iterations(function, 128, threads, teams);
    module.verify().unwrap();
    (shared, module.print_to_string().to_string())
}

const ALL: Shared = Shared {
    by_threads: true,
    once: true,
    directly: true,
};

#[test]
fn on_an_amd_gpu_too() {
    let (shared, code) = share(&for_amd(&kernel("%last", "", "", "-1")), 32);
    assert_eq!(shared, ALL);
    assert!(code.contains("llvm.amdgcn.workitem.id.x"), "{code}");
    assert!(!code.contains("call void @__kmpc_parallel_51"), "{code}");
    assert!(!code.contains("@region(ptr addrspace(5)"), "{code}");
    // Its assembly is not read.
    for knows in [
        "%lane = call i32 asm \"v_mbcnt_lo_u32_b32 $0, -1, 0\", \"=v\"()",
        "%mask = call i64 @llvm.read_register.i64(metadata !0)",
    ] {
        let text = for_amd(&kernel("%last", "", knows, "-1"))
            + "\ndeclare i64 @llvm.read_register.i64(metadata)\n!0 = !{!\"exec\"}\n";
        let (shared, code) = share(&text, 32);
        assert!(!shared.by_threads, "{knows}: {code}");
    }
}

#[test]
fn as_llvm_22_writes_it_too() {
    let text = for_llvm_22(&kernel("%last", "", "", "-1"));
    assert!(text.contains("load i32, ptr addrspace(5) %lower_5"), "{text}");
    let (shared, code) = share(&text, 32);
    assert_eq!(shared, ALL);
    assert!(!code.contains("call void @__kmpc_parallel_60"), "{code}");
}

#[test]
fn iterations_that_know_nothing_of_threads_are_shared_among_those_there_are() {
    let (shared, code) = share(&kernel("%last", "", "", "-1"), 32);
    assert_eq!(shared, ALL);
    assert!(code.contains("i32 1, i32 32)"), "{code}");
    assert!(!code.contains("call void @__kmpc_parallel_51"), "{code}");
    assert!(!code.contains("label %loop\n  br"), "{code}");
    // With as many threads as there may be, nothing changes hands.
    let (shared, _) = share(&kernel("%last", "", "", "-1"), 128);
    assert_eq!(
        shared,
        Shared {
            by_threads: false,
            ..ALL
        }
    );
}

#[test]
fn whether_there_is_an_iteration_is_asked_only_where_there_may_be_none() {
    for (last, is_asked) in [("999", true), ("991", false), ("%last", true)] {
        let (shared, code) = share(&kernel(last, "", "", "-1"), 32);
        assert_eq!(shared, ALL, "{last}");
        assert_eq!(code.contains("br i1 %none"), is_asked, "{last}: {code}");
    }
}

#[test]
fn each_thread_ends_behind_its_last_iteration_where_others_go_on() {
    for (last, teams, goes_alone) in [
        ("999", Some(4), true),
        ("999", None, false),
        // Each has as many as the others.
        ("991", Some(4), false),
        ("%last", Some(4), false),
        // A step behind the last would be no number.
        ("2147483000", Some(1 << 20), false),
    ] {
        let (shared, code) = share_among(&kernel(last, "", "", "-1"), 32, teams);
        assert_eq!(shared, ALL, "{last}");
        let asks = code
            .find("call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
            .unwrap_or_default();
        let region = code.find("define internal void @region").unwrap_or_default();
        assert!(asks > 0, "{last}: {code}");
        assert_eq!(asks < region, goes_alone, "{last}, {teams:?}: {code}");
    }
}

#[test]
fn the_runtime_ends_a_loop_that_stays_where_others_have_iterations_behind_it() {
    let body = "%stops = icmp eq i32 %i, 77\n br i1 %stops, label %endless, label %rest\nrest:";
    for (last, directly) in [("999", false), ("%last", false), ("991", true)] {
        let text = kernel(last, "", body, "-1")
            .replace("[ %next, %loop ]", "[ %next, %rest ]")
            .replace(
                "done:\n  call void @__kmpc_for",
                "endless:\n  br label %endless\ndone:\n  call void @__kmpc_for",
            );
        let expected = Shared {
            by_threads: true,
            once: false,
            directly,
        };
        for teams in [None, Some(4)] {
            let (shared, code) = share_among(&text, 32, teams);
            assert_eq!(shared, expected, "{last}, {teams:?}: {code}");
        }
    }
}

#[test]
fn who_can_tell_threads_apart_keeps_them() {
    let none = Shared::default();
    let once = Shared {
        once: true,
        ..Shared::default()
    };
    for (phi, body) in [
        ("", "%t = call i32 @omp_get_thread_num()"),
        (
            "",
            "%t = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n store i32 %t, ptr %p",
        ),
        ("", "%t = atomicrmw fadd ptr %p, float 1.0 monotonic"),
        ("", "%t = cmpxchg ptr %p, i32 0, i32 1 monotonic monotonic"),
        ("", "store i32 %i, ptr addrspace(3) @team"),
        ("", "call void @llvm.nvvm.barrier0()"),
        ("", "%t = call i32 asm \"mov.u32 $0, %laneid;\", \"=r\"()"),
    ] {
        assert_eq!(share(&kernel("%last", phi, body, "-1"), 32).0, none, "{body}");
        assert_eq!(share(&kernel("%last", phi, body, "-1"), 128).0, once, "{body}");
    }
}

#[test]
fn what_a_thread_keeps_for_its_next_iteration_stays_with_it() {
    let (phi, body) = (
        "%seen = phi i32 [ 5, %before ], [ %seen_more, %loop ]",
        "%seen_more = add i32 %seen, 1\n store i32 %seen, ptr %p",
    );
    assert_eq!(share(&kernel("%last", phi, body, "-1"), 32).0, Shared::default());
    let in_memory = kernel(
        "%last",
        "",
        "%kept = load i32, ptr %own\n store i32 %i, ptr %own",
        "-1",
    )
    .replace(
        "%begin_32 =",
        "%own = alloca i32\n store i32 7, ptr %own\n %begin_32 =",
    );
    assert_eq!(share(&in_memory, 32).0, Shared::default());
    // Where it begins anew in each iteration, nothing is kept.
    let anew = in_memory.replace(
        "%kept = load",
        "call void @llvm.lifetime.start.p0(i64 4, ptr %own)\n %kept = load",
    );
    assert_eq!(share(&anew, 32).0, ALL);
}

#[test]
fn regions_of_fewer_threads_are_left_alone() {
    assert_eq!(share(&kernel("%last", "", "", "16"), 32).0, Shared::default());
    let sets = kernel("%last", "", "call void @omp_set_num_threads(i32 4)", "-1");
    assert_eq!(share(&sets, 128).0, Shared::default());
}

/// The device runtime has each thread run all iterations of a chunk, once threads have states of their own.
#[test]
fn where_threads_may_have_states_of_their_own_nothing_is_shared() {
    for (call, declaration) in [
        (
            "%t = call i32 @__kmpc_omp_task(ptr null, i32 0, ptr null)",
            "declare i32 @__kmpc_omp_task(ptr, i32, ptr)",
        ),
        (
            "call void @omp_set_max_active_levels(i32 2)",
            "declare void @omp_set_max_active_levels(i32)",
        ),
        (
            "call void @__kmpc_parallel_51(ptr null, i32 0, i32 1, i32 -1, i32 -1, ptr @inner, ptr null, ptr null, i64 0)",
            "define internal void @inner(ptr %global, ptr %bound) {\n ret void\n}",
        ),
    ] {
        let text = kernel("%last", "", call, "-1") + declaration;
        for threads in [32, 128] {
            assert_eq!(share(&text, threads).0, Shared::default(), "{call}");
        }
    }
    // Locks are none of them, though they are set.
    let text =
        kernel("%last", "", "call void @omp_set_lock(ptr %out)", "-1") + "declare void @omp_set_lock(ptr)";
    assert!(share(&text, 128).0.once);
}
