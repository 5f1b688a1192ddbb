//! Divisions with as many bits as their numbers need.

#![expect(
    clippy::unwrap_used,
    reason = "a test that fails at a step that it takes has failed"
)]

use offloom_ir::divisions::narrow_divisions;
use offloom_ir::inkwell::context::Context;

use crate::parse;
use crate::this_machine::{TRIPLE, with_function};

/// A function that computes `%value` from `%argument` by `body`.
fn function(body: &str) -> String {
    format!(
        "target triple = \"{TRIPLE}\"
         define i64 @compute(i64 %argument, i64 %other) {{
           {body}
           ret i64 %value
         }}"
    )
}

/// A function that adds up what `body` computes, `%value`, from `%i`: from `first`, by steps, as long as
/// `again` says. `before` comes before the loop.
fn looping(before: &str, first: &str, body: &str, step: u32, again: &str) -> String {
    format!(
        "target triple = \"{TRIPLE}\"
         define i64 @compute(i64 %argument, i64 %other) {{
         entry:
           {before}
           br label %loop
         loop:
           %i = phi i64 [ {first}, %entry ], [ %next, %loop ]
           %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
           {body}
           %more = add i64 %sum, %value
           %next = add nuw nsw i64 %i, {step}
           %again = {again}
           br i1 %again, label %loop, label %exit
         exit:
           ret i64 %more
         }}"
    )
}

/// How many divisions of a module are changed, and the module then.
fn narrowed(text: &str) -> (u32, String) {
    let context = Context::create();
    let module = parse(&context, text);
    let changed = narrow_divisions(&module);
    module.verify().unwrap();
    (changed, module.print_to_string().to_string())
}

/// What the function computes of each pair of arguments.
#[expect(unsafe_code, reason = "the code is run")]
fn values(text: &str, arguments: &[(u64, u64)]) -> Vec<u64> {
    with_function(text, "default<O1>", &[], "compute", |compute| {
        // SAFETY: that is its type in the module.
        let compute: unsafe extern "C" fn(u64, u64) -> u64 = unsafe { std::mem::transmute(compute) };
        // SAFETY: the code reads nothing but its arguments.
        let value = |&(argument, other)| unsafe { compute(argument, other) };
        arguments.iter().map(value).collect()
    })
}

/// Numbers at the ends of what 32 and 64 bits hold, and around what is divided by.
const NUMBERS: [u64; 12] = [
    0,
    1,
    249,
    250,
    62_499,
    62_500,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    u64::MAX,
];

/// A body whose divisions all fit has none of 64 bits then, and computes what it did.
#[track_caller]
fn fits(body: &str) -> String {
    let before = function(body);
    let (changed, after) = narrowed(&before);
    assert_ne!(changed, 0, "{after}");
    for wide in ["udiv i64", "urem i64", "sdiv", "srem", "shr i64"] {
        assert!(!after.contains(wide), "{after}");
    }
    same(&before, &after);
    after
}

#[track_caller]
fn same(before: &str, after: &str) {
    let arguments: Vec<_> = NUMBERS
        .iter()
        .flat_map(|&argument| [1, 7, 0xffff_ffff].map(|other| (argument, other)))
        .collect();
    assert_eq!(values(before, &arguments), values(after, &arguments), "{after}");
}

/// A body that stays as it is.
#[track_caller]
fn stays(body: &str) {
    let text = function(body);
    let (changed, after) = narrowed(&text);
    assert_eq!(changed, 0, "{after}");
    let context = Context::create();
    assert_eq!(after, parse(&context, &text).print_to_string().to_string());
}

#[test]
fn numbers_of_32_bits_are_divided_by_32_bits() {
    fits(
        "%number = and i64 %argument, 4294967295
         %value = udiv i64 %number, 62500",
    );
    fits(
        "%number = and i64 %argument, 4294967295
         %value = srem i64 %number, 62500",
    );
    // By something that is not known, too.
    fits(
        "%number = and i64 %argument, 4294967295
         %low = and i64 %other, 4294967295
         %value = udiv i64 %number, %low",
    );
}

/// As loops with `collapse` take their numbers apart: what the first division leaves has no sign either,
/// which only the first division tells.
#[test]
fn what_divisions_leave_is_divided_by_32_bits() {
    for rest in [
        "%negative = mul i64 %planes, -62500
         %rest = add i64 %number, %negative",
        "%negative = mul i64 %planes, -62500
         %rest = add i64 %negative, %number",
        "%whole = mul i64 %planes, 62500
         %rest = sub i64 %number, %whole",
        "%rest = urem i64 %number, 62500",
    ] {
        fits(&format!(
            "%number = and i64 %argument, 4294967295
                 %planes = udiv i64 %number, 62500
                 {rest}
                 %rows = sdiv i64 %rest, 250
                 %left = mul i64 %rows, -250
                 %columns = add i64 %rest, %left
                 %high = shl i64 %planes, 40
                 %middle = shl i64 %rows, 20
                 %both = or i64 %high, %middle
                 %value = or i64 %both, %columns"
        ));
    }
}

/// A loop that goes on by steps until a number that is known.
#[test]
fn a_loop_tells_what_its_numbers_may_be() {
    let text = |last: &str| {
        looping(
            "%first = and i64 %argument, 1023",
            "%first",
            "%value = sdiv i64 %i, 250",
            409_600,
            &format!("icmp ult i64 %i, {last}"),
        )
    };
    let before = text("15215400");
    let (_, after) = narrowed(&before);
    assert!(after.contains("udiv i32"), "{after}");
    same(&before, &after);

    // Too many for 32 bits, but without a sign.
    let (_, after) = narrowed(&text("68719476736"));
    assert!(after.contains("udiv i64"), "{after}");

    // Nobody knows how many.
    let (_, after) = narrowed(&text("%other"));
    assert!(!after.contains("i32"), "{after}");
}

#[test]
fn numbers_that_may_be_larger_or_negative_stay() {
    stays("%value = udiv i64 %argument, 62500");
    stays("%value = sdiv i64 %argument, 62500");
    stays("%value = udiv i64 %argument, %other");
    // 33 bits.
    stays(
        "%number = and i64 %argument, 8589934591
         %value = udiv i64 %number, 62500",
    );
    stays(
        "%number = and i64 %argument, 4294967295
         %value = sdiv i64 %number, -3",
    );
    stays(
        "%number = and i64 %argument, 4294967295
         %less = sub i64 %number, 1
         %value = sdiv i64 %less, 3",
    );
    // Not what the division leaves: another factor, and a dividend that may be negative.
    stays(
        "%quotient = sdiv i64 %argument, 250
         %product = mul i64 %quotient, 250
         %rest = sub i64 %argument, %product
         %value = sdiv i64 %rest, 10",
    );
}

/// A sum or a product is as large as its parts allow, and no smaller where it may overflow.
#[test]
fn sums_and_products_are_as_large_as_their_parts() {
    let of = |operation: &str, one: u64, two: u64| {
        format!(
            "%one = and i64 %argument, {one}
             %two = and i64 %other, {two}
             %both = {operation} i64 %one, %two
             %value = udiv i64 %both, 3"
        )
    };
    fits(&of("add", 0x7fff_ffff, 0x7fff_ffff));
    stays(&of("add", 0xffff_ffff, 1));
    fits(&of("mul", 0xffff, 0xffff));
    stays(&of("mul", 0x1_ffff, 0xffff));
    stays(&of("mul", u64::MAX, 0xffff));
}

/// What a division by a power of two leaves of a sum, in the forms that LLVM gives it.
#[test]
fn low_bits_of_sums_are_known() {
    for sum in ["add i64 %of, %more", "or disjoint i64 %more, %of"] {
        for high in [-65536_i64, 0xffff_0000] {
            fits(&format!(
                "%number = and i64 %argument, 16777215
                 %of = shl i64 %number, 7
                 %more = and i64 %other, 127
                 %sum = {sum}
                 %high = and i64 %of, {high}
                 %rest = sub i64 %sum, %high
                 %value = sdiv i64 %rest, 3"
            ));
        }
    }
    // A mask without some of the high bits that there may be.
    stays(
        "%of = and i64 %argument, 16777215
         %more = and i64 %other, 127
         %sum = add i64 %of, %more
         %high = and i64 %of, 65408
         %rest = sub i64 %sum, %high
         %value = sdiv i64 %rest, 3",
    );
    // What is added may be negative. Overflow must not be excluded then.
    let after = fits(
        "%low = and i64 %argument, 1
         %of = add nuw nsw i64 %low, 21
         %sum = add i64 %of, -5
         %high = and i64 %of, -8
         %rest = sub i64 %sum, %high
         %value = udiv i64 %rest, 3",
    );
    assert!(!after.contains("add nuw i32"), "{after}");
}

/// By sign extension LLVM shifts to the left and back, and puts sums and products in between.
#[test]
fn numbers_that_are_shifted_back_are_not_shifted() {
    let shifted = |between: &str, distance: u32| {
        format!(
            "%number = and i64 %argument, 65535
             %low = and i64 %other, 255
             %left = shl i64 %number, 32
             {between}
             %value = ashr i64 %all, {distance}"
        )
    };
    for between in [
        "%all = add i64 %left, 8589934592",
        "%factor = mul i64 %low, 1099511627776
         %all = add i64 %left, %factor",
        "%rows = udiv i64 %number, 250
         %product = mul i64 %rows, 1073741824000
         %all = sub i64 %left, %product",
    ] {
        for distance in [29, 32, 40] {
            let after = fits(&shifted(between, distance));
            assert!(!after.contains("shl i64 %number, 32"), "{after}");
        }
    }
    // It may be negative, or loses bits by the shift to the left.
    stays(&shifted(
        "%product = mul i64 %low, 1073741824000
         %all = sub i64 %left, %product",
        32,
    ));
    stays(
        "%number = and i64 %argument, 2147483648
         %left = shl i64 %number, 32
         %value = ashr i64 %left, 32",
    );
    // Somebody else needs the sum.
    stays(
        "%number = and i64 %argument, 65535
         %left = shl i64 %number, 32
         %all = add i64 %left, 8589934592
         %back = ashr i64 %all, 32
         %value = xor i64 %back, %all",
    );
}

/// What does not change in a loop stays before it.
#[test]
fn parts_are_computed_where_they_were() {
    let before = looping(
        "%number = and i64 %argument, 65535
         %product = mul i64 %number, 53687091200000",
        "0",
        "%left = shl i64 %i, 32
         %all = add i64 %left, %product
         %value = ashr i64 %all, 32",
        1,
        "icmp ult i64 %next, 10",
    );
    let (changed, after) = narrowed(&before);
    assert_ne!(changed, 0, "{after}");
    let (start, rest) = after.split_once("loop:").unwrap();
    assert!(start.contains("mul i64 %number, 12500"), "{after}");
    assert!(!rest.contains("mul") && !rest.contains("ashr"), "{after}");
    same(&before, &after);
}

/// Long sums take no longer than they are, and no more of the stack.
#[test]
fn long_sums_are_looked_at_in_parts() {
    let mut body = String::from("%v0 = and i64 %argument, 255\n");
    for step in 1..3000 {
        let before = step - 1;
        body += &format!("%a{step} = add i64 %v{before}, 3\n%v{step} = and i64 %a{step}, 255\n");
    }
    body += "%value = sdiv i64 %v2999, 3";
    fits(&body);
}

/// Code that nobody reaches may be computed from itself.
#[test]
fn unreachable_code_is_left_alone() {
    let text = format!(
        "target triple = \"{TRIPLE}\"
         define i64 @compute(i64 %argument, i64 %other) {{
         entry:
           ret i64 %argument
         nowhere:
           %a = add i64 %b, 1
           %b = sdiv i64 %a, 3
           br label %nowhere
         }}"
    );
    assert_eq!(narrowed(&text).0, 0);
}
