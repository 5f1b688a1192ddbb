//! Sums that are computed with the bits that they are extended to.

use offloom_ir::gpu::widen_sums;
use offloom_ir::inkwell::context::Context;

use crate::parse;

/// How many sums of a function are widened, and the function then.
fn widened(body: &str) -> (usize, String) {
    let context = Context::create();
    let text = format!("define i64 @compute(i64 %counter, i32 %number) {{\n{body}\nret i64 %value\n}}");
    let module = parse(&context, &text);
    let count = widen_sums(&module);
    (count, module.print_to_string().to_string())
}

#[test]
fn sums_of_what_is_there_with_64_bits_are_widened() {
    for body in [
        "%cut = trunc nsw i64 %counter to i32
         %sum = sub nsw i32 %cut, 1
         %value = sext i32 %sum to i64",
        // A part that is extended itself, and a sum that is not negative.
        "%cell = add i32 %number, 7
         %index = zext nneg i32 %cell to i64
         %sum = sub nuw nsw i32 %cell, 1
         %neighbour = zext nneg i32 %sum to i64
         %value = mul i64 %index, %neighbour",
    ] {
        let (count, after) = widened(body);
        assert_eq!(count, 1, "{after}");
        assert!(after.contains("sub nsw i64"), "{after}");
    }
}

#[test]
fn other_sums_stay() {
    for body in [
        // It may overflow.
        "%cut = trunc nsw i64 %counter to i32
         %sum = sub i32 %cut, 1
         %value = sext i32 %sum to i64",
        // It may be negative, and become another number.
        "%cut = trunc nsw i64 %counter to i32
         %sum = sub nsw i32 %cut, 1
         %value = zext i32 %sum to i64",
        // Nothing is there with 64 bits.
        "%cut = trunc i64 %counter to i32
         %sum = sub nsw i32 %cut, 1
         %value = sext i32 %sum to i64",
    ] {
        let (count, after) = widened(body);
        assert_eq!(count, 0, "{after}");
    }
}
