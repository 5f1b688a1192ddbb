//! Arithmetic: a kernel must give what the function of the opcode gives, which is compared with an H100
//! elsewhere.

use offloom_ptx_arithmetic::{LANES, Lanes, Operation, operation};

use crate::case::{Case, THREADS, Words};

/// Words with every kind of number that is at the edge of some format.
const EDGES: [u64; 20] = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0x7FFF,
    0x8000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    0xFFFF_FFFF_FFFF_FFFF,
    0x3FF8_0000_3FC0_3E00,
    0xC002_0000_C010_C080,
    0x4059_0ABC_42C8_5640,
    0x7FF0_0000_7F80_7C00,
    0xFFF8_0000_FFC0_FE00,
    0x0000_0000_0040_0001,
    0x3FB9_9999_3DCC_CCCD,
];

/// The kernel that applies a form to edges of its formats.
pub(super) fn case(form: &str) -> Option<Case> {
    let function = operation(form)?;
    let (inputs, result) = types(form, function)?;
    let words: Vec<Words> = (0..THREADS)
        .map(|thread| std::array::from_fn(|index| number(&inputs, index, thread * (index + 3) + index)))
        .collect();
    let results = answers(function, &words);
    let bits = bits_of(&result);
    Some(Case::new(code(form, &inputs, &result), words, |x, _| {
        results[x] & mask(bits)
    }))
}

/// An edge, or for floating point a number in the format's middle too.
fn number(inputs: &[String], index: usize, pick: usize) -> u64 {
    let edge = EDGES[pick % EDGES.len()];
    match inputs.get(index).map(String::as_str) {
        Some("f64") if pick.is_multiple_of(3) => (pick as f64 * 0.75 - 9.0).to_bits(),
        Some("f32") if pick.is_multiple_of(3) => u64::from((pick as f32 * 0.75 - 9.0).to_bits()),
        // The half of the edge in which a number of the format is.
        Some("f32") if pick % 3 == 1 => edge >> 16,
        _ => edge,
    }
}

/// What the function answers to each row of words.
pub(super) fn answers(function: Operation, rows: &[Words]) -> Vec<u64> {
    let mut answers = Vec::new();
    for rows in rows.chunks(LANES) {
        let input = |index: usize| -> Lanes {
            std::array::from_fn(|lane| rows.get(lane).map_or(0, |words| words[index]))
        };
        let bits = |mask: u32| -> Lanes { std::array::from_fn(|lane| (mask >> lane & 1).into()) };
        let result = match function {
            Operation::Unary(f) => f(&input(0)),
            Operation::Binary(f) => f(&input(0), &input(1)),
            Operation::Ternary(f) => f(&input(0), &input(1), &input(2)),
            Operation::Quaternary(f) => f(&input(0), &input(1), &input(2), &input(3)),
            Operation::Compare(f) => bits(f(&input(0), &input(1))),
            Operation::Test(f) => bits(f(&input(0))),
        };
        answers.extend_from_slice(&result[..rows.len()]);
    }
    answers
}

/// The types of a form's inputs and of its result.
fn types(form: &str, function: Operation) -> Option<(Vec<String>, String)> {
    let count = match function {
        Operation::Unary(_) | Operation::Test(_) => 1,
        Operation::Binary(_) | Operation::Compare(_) => 2,
        Operation::Ternary(_) => 3,
        Operation::Quaternary(_) => 4,
    };
    let parts: Vec<&str> = form.split('.').collect();
    let last = (*parts.last()?).to_owned();
    let mut inputs = vec![last.clone(); count];
    let amount = "u32".to_owned();
    let double = || format!("{}{}", &last[..1], bits_of(&last) * 2);
    let result = match parts[0] {
        "cvt" => parts[parts.len() - 2].to_owned(),
        "setp" | "testp" => "pred".to_owned(),
        "popc" | "clz" | "bfind" => amount.clone(),
        "mul" | "mad" if parts.contains(&"wide") => double(),
        _ => last.clone(),
    };
    match parts[0] {
        "shl" | "shr" => inputs[1] = amount,
        "shf" => inputs[2] = amount,
        "bfe" => inputs[1..].fill(amount),
        "bfi" => inputs[2..].fill(amount),
        "mad" if parts.contains(&"wide") => inputs[2].clone_from(&result),
        _ => {}
    }
    Some((inputs, result))
}

/// Loads the inputs, applies the form, and leaves the result in `%d0`.
pub(super) fn code(form: &str, inputs: &[String], result: &str) -> String {
    let mut code = String::new();
    let mut registers = vec![register(result, 0)];
    for (index, kind) in inputs.iter().enumerate() {
        let register = register(kind, index + 1);
        let bits = bits_of(kind).max(16);
        code += &format!("ld.global.b{bits} {register},[%a+{}]; ", 8 * index);
        registers.push(register);
    }
    code += &format!("{form} {}; ", registers.join(","));
    code + match bits_of(result) {
        1 => "selp.b64 %d0,1,0,%p0;",
        8 | 16 => "cvt.u64.u16 %d0,%h0;",
        32 => "cvt.u64.u32 %d0,%r0;",
        _ => "",
    }
}

/// The register with a number that holds values of a type.
pub(super) fn register(kind: &str, number: usize) -> String {
    let letter = match bits_of(kind) {
        1 => 'p',
        8 | 16 => 'h',
        32 => 'r',
        _ => 'd',
    };
    format!("%{letter}{number}")
}

/// How many bits a type has.
pub(super) fn bits_of(kind: &str) -> u32 {
    match kind {
        "pred" => 1,
        "bf16" => 16,
        _ => kind[1..].parse().unwrap(),
    }
}

/// The lowest bits.
pub(super) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
