//! Straight-line code that gets a second form for memory that does not overlap.

#![expect(
    clippy::unwrap_used,
    reason = "a test that fails at a step that it takes has failed"
)]

use std::fmt::Write as _;

use offloom_ir::disjoint::version_straight_line_code;
use offloom_ir::inkwell::context::Context;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::parse;
use crate::this_machine::{TRIPLE, with_function};

/// Words of the memory that code uses, and how many of them lie behind an address that it is given.
const WORDS: usize = 96;
const REACH: usize = 18;

/// In how many places a module gets a second form, and the module then.
fn versioned(text: &str) -> (u32, String) {
    let context = Context::create();
    let module = parse(&context, text);
    let places = version_straight_line_code(&module);
    module.verify().unwrap();
    (places, module.print_to_string().to_string())
}

/// What is in memory after `code` has run, for each choice of three addresses in it.
#[expect(unsafe_code, reason = "the code is run")]
fn outputs(text: &str, pipeline: &str, places: &[[usize; 3]]) -> Vec<[i32; WORDS]> {
    with_function(text, pipeline, &[], "code", |code| {
        // SAFETY: that is its type in the module.
        let code: unsafe extern "C" fn(*mut i32, *mut i32, *mut i32) = unsafe { std::mem::transmute(code) };
        let run = |&[a, b, c]: &[usize; 3]| {
            let mut memory = [0; WORDS];
            for (word, value) in memory.iter_mut().zip(1..) {
                *word = value * 1_000_003;
            }
            let start = memory.as_mut_ptr();
            // SAFETY: the code uses no more words behind each address than are there.
            unsafe { code(start.add(a), start.add(b), start.add(c)) };
            memory
        };
        places.iter().map(run).collect()
    })
}

/// Random accesses to words behind three addresses, and now and then something that is no access. With a
/// loop, the addresses go up by a word each time. Returns the module's text.
fn random_code(random: &mut StdRng, in_loop: bool) -> String {
    let rounds = if in_loop { 3 } else { 1 };
    let reach = random.random_range(7..=REACH) - 2 * (rounds - 1);
    let mut body = String::new();
    let mut stored_to = "%c.at".to_owned();
    let mut known = vec!["1".to_owned(), "%i.low".to_owned()];
    let any = |random: &mut StdRng, known: &[String]| known[random.random_range(0..known.len())].clone();
    for at in 0..random.random_range(12..120) {
        let object = ["a", "b", "c"][random.random_range(0..3)];
        let word = random.random_range(0..reach - 1);
        let byte = 4 * word;
        writeln!(body, "%p{at} = getelementptr i8, ptr %{object}.at, i64 {byte}").unwrap();
        let value = format!("%v{at}");
        match random.random_range(0..150) {
            0..68 => {
                writeln!(body, "{value} = load i32, ptr %p{at}, align 4").unwrap();
                known.push(value);
            }
            68..120 => {
                let (left, right) = (any(random, &known), any(random, &known));
                writeln!(body, "{value} = sub i32 {left}, {right}").unwrap();
                writeln!(body, "store i32 {value}, ptr %p{at}, align 4").unwrap();
                stored_to = format!("%p{at}");
            }
            // Accesses of other sizes overlap those.
            120..130 => {
                writeln!(body, "%l{at} = load i64, ptr %p{at}, align 4").unwrap();
                writeln!(body, "%m{at} = mul i64 %l{at}, 4294967299").unwrap();
                writeln!(body, "%n{at} = lshr i64 %m{at}, 32").unwrap();
                writeln!(body, "{value} = trunc i64 %n{at} to i32").unwrap();
                known.push(value);
            }
            130..140 => {
                let stored = any(random, &known);
                writeln!(body, "%l{at} = sext i32 {stored} to i64").unwrap();
                writeln!(body, "%m{at} = mul i64 %l{at}, 4294967299").unwrap();
                writeln!(body, "store i64 %m{at}, ptr %p{at}, align 4").unwrap();
            }
            // An address that the code itself loads.
            140..143 => {
                let from = any(random, &known);
                writeln!(body, "%k{at} = urem i32 {from}, {}", reach - 1).unwrap();
                writeln!(body, "%q{at} = getelementptr i32, ptr %{object}.at, i32 %k{at}").unwrap();
                writeln!(body, "{value} = load i32, ptr %q{at}, align 4").unwrap();
                writeln!(body, "store i32 {value}, ptr %p{at}, align 4").unwrap();
                writeln!(body, "store i32 {from}, ptr %q{at}, align 4").unwrap();
            }
            143 => {
                writeln!(body, "{value} = atomicrmw add ptr %p{at}, i32 3 monotonic").unwrap();
                known.push(value);
            }
            144 => writeln!(body, "store volatile i32 7, ptr %p{at}, align 4").unwrap(),
            145 => writeln!(body, "fence seq_cst").unwrap(),
            146..149 => {
                writeln!(
                    body,
                    "{value} = load atomic i32, ptr {stored_to} unordered, align 4"
                )
                .unwrap();
                known.push(value);
            }
            _ => writeln!(body, "call void @barrier()").unwrap(),
        }
    }
    format!(
        r#"target triple = "{TRIPLE}"
        define void @barrier() noinline nounwind willreturn convergent {{
          ret void
        }}
        define void @code(ptr %a, ptr %b, ptr %c) {{
        entry:
          br label %round
        round:
          %i = phi i64 [ 0, %entry ], [ %next, %round ]
          %i.low = trunc i64 %i to i32
          %a.at = getelementptr i32, ptr %a, i64 %i
          %b.at = getelementptr i32, ptr %b, i64 %i
          %c.at = getelementptr i32, ptr %c, i64 %i
          {body}
          %next = add i64 %i, 1
          %more = icmp ult i64 %next, {rounds}
          br i1 %more, label %round, label %exit
        exit:
          ret void
        }}"#
    )
}

#[test]
fn random_code_computes_what_it_did_wherever_its_memory_lies() {
    let mut random = StdRng::seed_from_u64(41);
    let mut with_second_form = [0, 0];
    for case in 0..500 {
        let in_loop = case % 2 == 1;
        let text = random_code(&mut random, in_loop);
        let (places, with_versions) = versioned(&text);
        if places == 0 {
            continue;
        }
        with_second_form[usize::from(in_loop)] += 1;
        // Threads wait for each other where they wait in the same place.
        let barriers = |text: &str| text.matches("call void @barrier").count();
        assert_eq!(barriers(&with_versions), barriers(&text), "{with_versions}");
        // What was compared says nothing of another iteration.
        assert!(!in_loop || !with_versions.contains("!noalias"), "{with_versions}");
        let mut place = || random.random_range(0..WORDS - REACH);
        let addresses: Vec<_> = (0..64)
            .map(|_| [place(), place(), place()])
            .chain([[0, REACH, 2 * REACH]])
            .collect();
        let expected = outputs(&text, "", &addresses);
        for pipeline in ["", "function(early-cse<memssa>)", "default<O3>"] {
            let found = outputs(&with_versions, pipeline, &addresses);
            for ((found, expected), addresses) in found.iter().zip(&expected).zip(&addresses) {
                assert_eq!(
                    found, expected,
                    "{pipeline} {addresses:?}\n{text}\n{with_versions}"
                );
            }
        }
    }
    assert!(
        with_second_form.iter().all(|&count| count > 20),
        "{with_second_form:?}"
    );
}

/// A function that loads a word, and then each of `loads` again behind a store of its own.
fn reloads(loads: impl Iterator<Item = u32>, kind: &str, arguments: &str) -> String {
    let mut body = String::new();
    for (at, word) in loads.enumerate() {
        writeln!(body, "%p{at} = getelementptr {kind}, ptr %a, i64 {word}").unwrap();
        writeln!(body, "%q{at} = getelementptr {kind}, ptr %b, i64 {at}").unwrap();
        writeln!(body, "%v{at} = load {kind}, ptr %p{at}").unwrap();
        writeln!(body, "store {kind} %v{at}, ptr %q{at}").unwrap();
    }
    format!("define void @code({arguments}) {{ {body} ret void }}")
}

/// In how many places [`reloads`] gets a second form, and how often both forms load.
fn loads(text: &str, kind: &str) -> (u32, usize) {
    let (places, text) = versioned(text);
    (places, text.matches(&format!("= load {kind}")).count())
}

#[test]
fn what_was_loaded_is_not_loaded_again_where_nothing_overlaps() {
    let text = reloads([3; 6].into_iter(), "i32", "ptr %a, ptr %b");
    assert_eq!(loads(&text, "i32"), (1, 6 + 1));
}

#[test]
fn nothing_changes_where_little_is_saved() {
    let few = reloads([3; 4].into_iter(), "i32", "ptr %a, ptr %b");
    assert_eq!(loads(&few, "i32"), (0, 4));
    let of_many = reloads((0..20).chain([0; 4]), "i32", "ptr %a, ptr %b");
    assert_eq!(loads(&of_many, "i32"), (0, 24));
}

#[test]
fn nothing_changes_where_it_is_known_what_overlaps() {
    let apart = reloads([3; 6].into_iter(), "i32", "ptr noalias %a, ptr %b");
    assert_eq!(loads(&apart, "i32"), (0, 6));
}

#[test]
fn no_more_is_kept_than_registers_hold() {
    let text = reloads((0..40).chain(0..40).chain(0..40), "i64", "ptr %a, ptr %b");
    assert_eq!(loads(&text, "i64"), (1, 120 + 120 - 2 * 32));
}

#[test]
fn variables_of_the_stack_stay_in_the_first_block() {
    let text = reloads([3; 6].into_iter(), "i32", "ptr %a, ptr %b").replace(
        "{ ",
        "{ entry: %x = alloca i32\n store volatile i32 1, ptr %x\n %y = alloca i32\n",
    );
    let (places, text) = versioned(&text);
    assert_eq!(places, 1);
    let (first, others) = text.split_once("br i1").unwrap();
    assert_eq!(first.matches("= alloca").count(), 2, "{text}");
    assert!(!others.contains("= alloca"), "{text}");
}

#[test]
fn what_is_said_of_a_loaded_value_is_not_said_where_it_is_used_again() {
    let text = reloads([3; 6].into_iter(), "i32", "ptr %a, ptr %b")
        .replace("load i32, ptr %p0", "load i32, ptr %p0, !range !0")
        + "\n!0 = !{i32 0, i32 2}";
    let (places, text) = versioned(&text);
    assert_eq!((places, text.matches("!range !").count()), (1, 1), "{text}");
}
