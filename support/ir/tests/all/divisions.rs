//! Loops that divide the numbers of their iterations, in the form in which Clang and LLVM leave them for a
//! thread of a processor.

#![expect(
    clippy::unwrap_used,
    reason = "a test that fails at a step that it takes has failed"
)]

use std::ptr;

use offloom_ir::divisions::{DividedLoops, divide_less};
use offloom_ir::inkwell::context::Context;

use crate::parse;
use crate::this_machine::{TRIPLE, with_function};

/// How the numbers of a loop's iterations are written.
#[derive(Debug, Clone, Copy)]
enum Numbers {
    Wide,
    WideUnsigned,
    /// 32 bits, which LLVM counts in 64.
    Narrow,
}

/// What [`divide_less`] says of a loop in which it could do both.
const BOTH: DividedLoops = DividedLoops {
    without_signs: 1,
    in_blocks: 1,
};
/// Of one that is not worth a loop of blocks.
const SIGNS: DividedLoops = DividedLoops {
    without_signs: 1,
    in_blocks: 0,
};
const NOTHING: DividedLoops = DividedLoops {
    without_signs: 0,
    in_blocks: 0,
};

/// A loop of `count` iterations, a part of which a thread runs: the runtime says which, here from `@part`.
/// The `body` computes `%value` from the iteration `%i`, or from `%number` where that is the narrow one; it
/// may branch, and come together again in `behind`.
struct Part<'t> {
    numbers: Numbers,
    count: u32,
    body: &'t str,
    schedule: u32,
    increment: u32,
    /// The first iteration of the whole loop.
    first: &'t str,
    /// Comes before the runtime is asked.
    before: &'t str,
}

impl<'t> Part<'t> {
    fn of(numbers: Numbers, count: u32, body: &'t str) -> Self {
        Self {
            numbers,
            count,
            body,
            schedule: 34,
            increment: 1,
            first: "0",
            before: "",
        }
    }

    fn text(&self) -> String {
        let (ty, suffix, is_above) = match self.numbers {
            Numbers::Wide => ("i64", "8", "sgt"),
            Numbers::WideUnsigned => ("i64", "8u", "ugt"),
            Numbers::Narrow => ("i32", "4", "sgt"),
        };
        let (wide, last) = match self.numbers {
            Numbers::Narrow => ("sext i32 %begin to i64", "sext i32 %end to i64"),
            _ => ("add i64 %begin, 0", "add i64 %end, 0"),
        };
        // As LLVM leaves a loop of narrow numbers.
        let more = match self.numbers {
            Numbers::Narrow => {
                "%narrow_next = trunc i64 %next to i32
                 %after = add i32 %end, 1
                 %done = icmp eq i32 %after, %narrow_next"
            }
            _ => "%done = icmp eq i64 %i, %last",
        };
        let minimum = match self.numbers {
            Numbers::WideUnsigned => "umin",
            _ => "smin",
        };
        let Self {
            count,
            body,
            schedule,
            increment,
            first,
            before,
            ..
        } = self;
        let latch = if body.contains("behind:") {
            "behind"
        } else {
            "loop"
        };
        format!(
            r#"target triple = "{TRIPLE}"
            @part = external global [2 x i64]
            declare {ty} @llvm.{minimum}.{ty}({ty}, {ty})
            define void @__kmpc_for_static_init_{suffix}(ptr %loc, i32 %thread, i32 %schedule, ptr %is_last, ptr %lower, ptr %upper, ptr %stride, {ty} %increment, {ty} %chunk) noinline {{
              %second = getelementptr i64, ptr @part, i64 1
              %first = load {ty}, ptr @part
              %last = load {ty}, ptr %second
              store {ty} %first, ptr %lower
              store {ty} %last, ptr %upper
              ret void
            }}
            define void @region(ptr noalias %out) {{
            entry:
              %lower = alloca {ty}
              %upper = alloca {ty}
              %stride = alloca {ty}
              %is_last = alloca i32
              store {ty} {first}, ptr %lower
              store {ty} {count}, ptr %upper
              {before}
              call void @__kmpc_for_static_init_{suffix}(ptr null, i32 0, i32 {schedule}, ptr %is_last, ptr %lower, ptr %upper, ptr %stride, {ty} {increment}, {ty} 1)
              %given = load {ty}, ptr %upper
              %end = call {ty} @llvm.{minimum}.{ty}({ty} %given, {ty} {count})
              %begin = load {ty}, ptr %lower
              %none = icmp {is_above} {ty} %begin, %end
              br i1 %none, label %exit, label %before
            before:
              %wide = {wide}
              %last = {last}
              br label %loop
            loop:
              %i = phi i64 [ %wide, %before ], [ %next, %{latch} ]
              %sum = phi i64 [ 0, %before ], [ %more_sum, %{latch} ]
              %number = trunc i64 %i to i32
              {body}
              %place = getelementptr inbounds i64, ptr %out, i64 %i
              store i64 %value, ptr %place
              %more_sum = add i64 %sum, %value
              %next = add nuw nsw i64 %i, 1
              {more}
              br i1 %done, label %after_loop, label %loop
            after_loop:
              %result = phi i64 [ %more_sum, %{latch} ]
              %sums = getelementptr inbounds i64, ptr %out, i64 {behind}
              store i64 %result, ptr %sums
              br label %exit
            exit:
              ret void
            }}"#,
            behind = count + 1,
        )
    }
}

/// What is done in the loops of a module, and the module then.
fn divided(text: &str) -> (DividedLoops, String) {
    let context = Context::create();
    let module = parse(&context, text);
    let done = divide_less(&module);
    module.verify().unwrap();
    (done, module.print_to_string().to_string())
}

/// Runs `region` of a module for parts of a loop of `count` iterations: each one's first and last iteration.
/// Returns what it writes, and behind that the sum.
#[expect(unsafe_code, reason = "the code is run")]
fn outputs(text: &str, pipeline: &str, count: u32, parts: &[(u32, u32)]) -> Vec<Vec<i64>> {
    let mut part = [0_i64; 2];
    let written = ptr::from_mut(&mut part);
    let given = [("part", written.cast_const().cast())];
    with_function(text, pipeline, &given, "region", |region| {
        // SAFETY: that is its type in the module.
        let region: unsafe extern "C" fn(*mut i64) = unsafe { std::mem::transmute(region) };
        let run = |&(first, last): &(u32, u32)| {
            let mut out = vec![-1; count as usize + 2];
            // SAFETY: the code reads what is written here, and writes to the elements of the part and the
            // one behind all.
            unsafe {
                written.write([first.into(), last.into()]);
                region(out.as_mut_ptr());
            }
            out
        };
        parts.iter().map(run).collect()
    })
}

/// Parts of a loop: at both ends, in the middle, of one iteration and of none.
fn parts(count: u32) -> Vec<(u32, u32)> {
    let last = count - 1;
    let mut parts = vec![(0, last), (0, 0), (last, last), (1, last - 1), (count, count - 1)];
    for length in [1, 2, 7, 8, 9, 31, 47, 48, 49, 97, 500] {
        let starts = (0..last).step_by(37).filter(|start| start + length <= count);
        parts.extend(starts.map(|start| (start, start + length - 1)));
    }
    parts
}

const WIDE: [(&str, DividedLoops); 7] = [
    // Four indices, the quotients of quotients put together by LLVM.
    (
        "%a = srem i64 %i, 12
         %q = sdiv i64 %i, 12
         %b = srem i64 %q, 5
         %r = sdiv i64 %i, 60
         %c = srem i64 %r, 7
         %d = sdiv i64 %i, 420
         %x = mul i64 %a, 1000
         %y = mul i64 %b, 77
         %z = add i64 %x, %y
         %w = mul i64 %c, 12345
         %v = add i64 %z, %w
         %value = sub i64 %v, %d",
        BOTH,
    ),
    // The inner number of `collapse(2)`, and that of `collapse(3)`.
    (
        "%q = sdiv i64 %i, 96
         %m = mul nsw i64 %q, -96
         %rest = add i64 %m, %i
         %p = sdiv i64 %rest, 8
         %n = mul nsw i64 %p, 8
         %inner = sub i64 %rest, %n
         %x = mul i64 %inner, %p
         %value = sub i64 %x, %q",
        BOTH,
    ),
    // What is left is divided again, through other types.
    (
        "%rest = srem i64 %i, 160
         %narrow = trunc i64 %rest to i32
         %sure = freeze i32 %narrow
         %p = sdiv i32 %sure, 16
         %wide_p = sext i32 %p to i64
         %again = srem i64 %wide_p, 3
         %value = mul i64 %again, %rest",
        BOTH,
    ),
    // In iterations that a condition chooses.
    (
        "%odd = and i64 %i, 1
         %is_odd = icmp eq i64 %odd, 1
         %q = sdiv i64 %i, 24
         %rest = srem i64 %i, 24
         %value = select i1 %is_odd, i64 %q, i64 %rest",
        BOTH,
    ),
    // The same by branches, with what the iterations before left.
    (
        "%fourth = and i64 %i, 3
         %is_fourth = icmp eq i64 %fourth, 0
         br i1 %is_fourth, label %then, label %behind
         then:
         %q = sdiv i64 %i, 24
         %rest = srem i64 %i, 24
         %x = mul i64 %q, %rest
         %y = add i64 %x, %sum
         br label %behind
         behind:
         %value = phi i64 [ %fourth, %loop ], [ %y, %then ]",
        BOTH,
    ),
    // Neither is a multiple of the other.
    (
        "%q = sdiv i64 %i, 12
         %p = sdiv i64 %i, 50
         %value = sub i64 %q, %p",
        SIGNS,
    ),
    // Too short.
    (
        "%q = sdiv i64 %i, 4
         %rest = srem i64 %i, 4
         %value = sub i64 %q, %rest",
        SIGNS,
    ),
];

const NARROW: [(&str, DividedLoops); 2] = [
    (
        "%q = sdiv i32 %number, 52
         %m = mul nsw i32 %q, -52
         %rest = add i32 %m, %number
         %x = mul nsw i32 %rest, 100
         %y = add nsw i32 %x, %q
         %value = sext i32 %y to i64",
        BOTH,
    ),
    (
        "%q = sdiv i32 %number, 3
         %value = sext i32 %q to i64",
        SIGNS,
    ),
];

fn cases() -> impl Iterator<Item = (Numbers, String, DividedLoops)> {
    let signed = |numbers| move |(body, done): (&str, _)| (numbers, body.to_owned(), done);
    let unsigned = |(body, done): (&str, _)| {
        let body = body.replace("sdiv", "udiv").replace("srem", "urem");
        (Numbers::WideUnsigned, body, done)
    };
    let wide = WIDE.into_iter().map(signed(Numbers::Wide));
    let narrow = NARROW.into_iter().map(signed(Numbers::Narrow));
    wide.chain(narrow).chain(WIDE.into_iter().map(unsigned))
}

#[test]
fn each_part_of_a_loop_computes_what_it_did() {
    const COUNT: u32 = 1230;
    let parts = parts(COUNT);
    for (numbers, body, expected) in cases() {
        let text = Part::of(numbers, COUNT - 1, &body).text();
        let (done, after) = divided(&text);
        assert_eq!(done, expected, "{numbers:?}\n{after}");
        let before = outputs(&text, "", COUNT, &parts);
        for pipeline in ["", "default<O3>"] {
            let now = outputs(&after, pipeline, COUNT, &parts);
            for ((before, now), part) in before.iter().zip(&now).zip(&parts) {
                assert_eq!(
                    before, now,
                    "{numbers:?} {body} of {part:?} with `{pipeline}`\n{after}"
                );
            }
        }
    }
}

#[test]
fn what_does_not_change_is_computed_once_for_a_block() {
    let (_, text) = divided(&Part::of(Numbers::Wide, 1229, WIDE[0].0).text());
    let (before, behind) = text.split_once("\nloop:").unwrap();
    let (in_loop, _) = behind.split_once("\nblock.end:").unwrap();
    let divides = |text: &str, name: &str| text.contains(&format!(" = {name} "));
    for name in ["udiv", "urem"] {
        assert!(divides(before, name), "{text}");
    }
    // What is left there is not used: later passes remove it.
    assert!(!divides(in_loop, "sdiv") && !divides(in_loop, "srem"), "{text}");
}

#[test]
fn a_part_that_may_begin_below_zero_stays_as_it_is() {
    let body = WIDE[0].0;
    let wide = || Part::of(Numbers::Wide, 1229, body);
    let others = [
        Part {
            first: "-5",
            ..wide()
        },
        // Parts in turn, by numbers that do not go up by one.
        Part {
            schedule: 33,
            ..wide()
        },
        Part {
            increment: 2,
            ..wide()
        },
        // Something else may change it.
        Part {
            before: "call void @change(ptr %lower)",
            ..wide()
        },
        Part {
            before: "store i64 7, ptr %lower",
            ..wide()
        },
    ];
    for other in others {
        let text = other.text() + "\ndeclare void @change(ptr)";
        let (done, after) = divided(&text);
        assert_eq!(done, NOTHING, "{after}");
    }
}

/// A loop of teams with a loop of threads in it: the inner part's first iteration is the outer one's.
fn composite(first: &str, start: &str, more: &str) -> String {
    format!(
        r#"define void @kernel(ptr %out) {{
          %lower = alloca i64
          %upper = alloca i64
          %stride = alloca i64
          %is_last = alloca i32
          store i64 {first}, ptr %lower
          store i64 999, ptr %upper
          call void @__kmpc_for_static_init_8(ptr null, i32 0, i32 92, ptr %is_last, ptr %lower, ptr %upper, ptr %stride, i64 1, i64 1)
          %last = load i64, ptr %upper
          %first = load i64, ptr %lower
          {start}
          {more}
          ret void
        }}
        define internal void @region(ptr %thread, ptr %bound, i64 %from, i64 %to, ptr %out) {{
        entry:
          %lower = alloca i64
          %upper = alloca i64
          %stride = alloca i64
          %is_last = alloca i32
          store i64 %from, ptr %lower
          store i64 %to, ptr %upper
          call void @__kmpc_for_static_init_8(ptr null, i32 0, i32 34, ptr %is_last, ptr %lower, ptr %upper, ptr %stride, i64 1, i64 1)
          %end = load i64, ptr %upper
          %begin = load i64, ptr %lower
          %none = icmp sgt i64 %begin, %end
          br i1 %none, label %exit, label %loop
        loop:
          %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
          %q = sdiv i64 %i, 48
          %place = getelementptr inbounds i64, ptr %out, i64 %i
          store i64 %q, ptr %place
          %next = add nsw i64 %i, 1
          %done = icmp eq i64 %i, %end
          br i1 %done, label %exit, label %loop
        exit:
          ret void
        }}
        declare void @__kmpc_for_static_init_8(ptr, i32, i32, ptr, ptr, ptr, ptr, i64, i64)
        declare void @__kmpc_fork_call(ptr, i32, ptr, ...)"#
    )
}

#[test]
fn the_first_iteration_is_followed_through_regions() {
    let start = "call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 3, ptr @region, i64 %first, i64 %last, ptr %out)";
    let unknown = start.replace("%first", "%last");
    let direct = "call void @region(ptr null, ptr null, i64 -1, i64 5, ptr %out)";
    let missing = start.replace(", i64 %first, i64 %last, ptr %out", "");
    for (text, expected) in [
        (composite("0", start, ""), BOTH),
        (composite("3", start, ""), BOTH),
        (composite("-3", start, ""), NOTHING),
        // It may be anything.
        (composite("0", &unknown, ""), NOTHING),
        (composite("0", start, direct), NOTHING),
        (composite("0", start, start), NOTHING),
        (composite("0", &missing, ""), NOTHING),
    ] {
        let (done, after) = divided(&text);
        assert_eq!(done, expected, "{after}");
    }
}

#[test]
fn any_loop_that_is_known_to_begin_at_zero_or_above_is_divided_less() {
    let text = |first: &str| {
        format!(
            r#"define void @f(ptr noalias %out, i64 %given, i64 %n) {{
            entry:
              %high = or i64 %given, 1
              %above = lshr i64 %high, 1
              %any = icmp sge i64 %n, {first}
              br i1 %any, label %loop, label %exit
            loop:
              %i = phi i64 [ {first}, %entry ], [ %next, %loop ]
              %q = sdiv i64 %i, 16
              %place = getelementptr inbounds i64, ptr %out, i64 %i
              store i64 %q, ptr %place
              %next = add nsw i64 %i, 1
              %done = icmp eq i64 %i, %n
              br i1 %done, label %exit, label %loop
            exit:
              ret void
            }}"#
        )
    };
    for (first, expected) in [
        ("0", BOTH),
        ("5", BOTH),
        ("%above", BOTH),
        ("-1", NOTHING),
        ("%given", NOTHING),
    ] {
        let (done, after) = divided(&text(first));
        assert_eq!(done, expected, "{after}");
    }
}

#[test]
fn a_loop_with_another_way_out_stays_as_it_is() {
    let text = |way_out: &str| {
        format!(
            r#"define i64 @f(ptr noalias %values) {{
            entry:
              br label %loop
            loop:
              %i = phi i64 [ 0, %entry ], [ %next, %more ]
              %q = sdiv i64 %i, 16
              %place = getelementptr inbounds i64, ptr %values, i64 %i
              %value = load i64, ptr %place
              %found = icmp eq i64 %value, %q
              br i1 %found, label %{way_out}, label %more
            more:
              %next = add nuw nsw i64 %i, 1
              %done = icmp eq i64 %i, 299
              br i1 %done, label %exit, label %loop
            exit:
              ret i64 0
            way_out:
              ret i64 1
            }}"#
        )
    };
    for (way_out, expected) in [("way_out", NOTHING), ("exit", NOTHING), ("more", BOTH)] {
        let (done, after) = divided(&text(way_out));
        assert_eq!(done, expected, "{way_out}\n{after}");
    }
}

#[test]
fn a_variable_that_does_not_decide_when_the_loop_ends_is_left_alone() {
    // It goes round more than once.
    let text = r#"define void @f(ptr noalias %out) {
        entry:
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %next, %loop ]
          %k = phi i8 [ 7, %entry ], [ %k_next, %loop ]
          %q = sdiv i8 %k, 12
          %place = getelementptr inbounds i8, ptr %out, i64 %i
          store i8 %q, ptr %place
          %k_next = add i8 %k, 1
          %next = add nuw nsw i64 %i, 1
          %done = icmp eq i64 %i, 299
          br i1 %done, label %exit, label %loop
        exit:
          ret void
        }"#;
    let (done, after) = divided(text);
    assert_eq!(done, NOTHING, "{after}");
}
