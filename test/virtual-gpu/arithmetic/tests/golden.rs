//! What an H100 answered, instruction by instruction.
//!
//! `golden.txt.gz` holds what one computed from inputs in memory (driver 580.159, ptxas 12.9 at -O1): `=
//! INSTRUCTION INPUT-TYPES -> RESULT-TYPE ROWS`, then a row a line, inputs and result in hexadecimal,
//! predicates as 1 and 0. Approximations are compared by distance, all others by bits.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken fixture ends the test")]

use std::io::Read as _;

use flate2::read::GzDecoder;
use offloom_ptx_arithmetic::{LANES, Lanes, Operation, operation};

struct Instruction {
    opcode: String,
    result: String,
    rows: Vec<Vec<u64>>,
}

fn golden() -> Vec<Instruction> {
    let mut text = String::new();
    GzDecoder::new(include_bytes!("golden.txt.gz").as_slice())
        .read_to_string(&mut text)
        .unwrap();
    let mut instructions: Vec<Instruction> = Vec::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix("= ") {
            let words: Vec<&str> = header.split(' ').collect();
            instructions.push(Instruction {
                opcode: words[0].to_owned(),
                result: words[3].to_owned(),
                rows: Vec::new(),
            });
        } else {
            let row = line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap());
            instructions.last_mut().unwrap().rows.push(row.collect());
        }
    }
    instructions
}

/// What our function answers, computed 32 rows at a time.
fn answers(instruction: &Instruction) -> Vec<u64> {
    let function =
        operation(&instruction.opcode).unwrap_or_else(|| panic!("{} is not implemented", instruction.opcode));
    let mut answers = Vec::new();
    for rows in instruction.rows.chunks(LANES) {
        let input = |index: usize| -> Lanes {
            std::array::from_fn(|lane| rows.get(lane).map_or(0, |row| row[index]))
        };
        let mask = |mask: u32| -> Lanes { std::array::from_fn(|lane| (mask >> lane & 1).into()) };
        let result = match function {
            Operation::Unary(f) => f(&input(0)),
            Operation::Binary(f) => f(&input(0), &input(1)),
            Operation::Ternary(f) => f(&input(0), &input(1), &input(2)),
            Operation::Quaternary(f) => f(&input(0), &input(1), &input(2), &input(3)),
            Operation::Compare(f) => mask(f(&input(0), &input(1))),
            Operation::Test(f) => mask(f(&input(0))),
        };
        answers.extend_from_slice(&result[..rows.len()]);
    }
    answers
}

fn is_approximation(opcode: &str) -> bool {
    opcode.contains(".approx") || opcode.contains(".full")
}

#[test]
fn every_row_but_approximations_has_the_devices_bits() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for instruction in golden()
        .iter()
        .filter(|instruction| !is_approximation(&instruction.opcode))
    {
        let answers = answers(instruction);
        let different: Vec<String> = instruction
            .rows
            .iter()
            .zip(&answers)
            .filter(|(row, answer)| row.last() != Some(answer))
            .map(|(row, answer)| format!("{row:x?} gave {answer:x}"))
            .collect();
        compared += answers.len();
        if !different.is_empty() {
            wrong.push(format!(
                "{}: {} of {}: {}",
                instruction.opcode,
                different.len(),
                answers.len(),
                different[..different.len().min(6)].join("; ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 50_000, "only {compared} rows");
}

/// Numbers of the format between two values of the same sign; none where one is no number.
fn distance(result: &str, a: u64, b: u64) -> u64 {
    let (a, b) = match result {
        "f32" => (
            i64::from((a as u32 & 0x7fff_ffff) as i32) * if a >> 31 != 0 { -1 } else { 1 },
            i64::from((b as u32 & 0x7fff_ffff) as i32) * if b >> 31 != 0 { -1 } else { 1 },
        ),
        _ => (
            (a & i64::MAX as u64) as i64 * if a >> 63 != 0 { -1 } else { 1 },
            (b & i64::MAX as u64) as i64 * if b >> 63 != 0 { -1 } else { 1 },
        ),
    };
    a.abs_diff(b)
}

#[test]
fn approximations_are_near_the_devices() {
    let mut wrong = Vec::new();
    for instruction in golden()
        .iter()
        .filter(|instruction| is_approximation(&instruction.opcode))
    {
        let answers = answers(instruction);
        for (row, &answer) in instruction.rows.iter().zip(&answers) {
            let device = *row.last().unwrap();
            if !is_near(&instruction.opcode, &instruction.result, row, device, answer) {
                wrong.push(format!("{} {row:x?} gave {answer:x}", instruction.opcode));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the PTX ISA allows an approximation to be off by.
fn is_near(opcode: &str, result: &str, row: &[u64], device: u64, answer: u64) -> bool {
    if device == answer {
        return true;
    }
    if result == "f64" {
        // The high half is what the instruction computes: the last of its bits may differ.
        return distance(result, device, answer) <= 2 << 32;
    }
    let (device_value, value) = (f32::from_bits(device as u32), f32::from_bits(answer as u32));
    let input = f32::from_bits(row[0] as u32);
    match opcode.split('.').next() {
        // Errors are absolute, in a range of inputs.
        Some("sin" | "cos") => {
            input.abs() > 100.0 * std::f32::consts::PI || (device_value - value).abs() < 1e-4
        }
        Some("lg2") => (device_value - value).abs() < 1e-5 * value.abs().max(1.0),
        Some("tanh") => (device_value - value).abs() <= value.abs() * 1e-3,
        // Divisors of 2^126 and more may give zero.
        Some("div") if f32::from_bits(row[1] as u32).abs() >= 8.507_059e37 => true,
        _ => distance(result, device, answer) <= 4,
    }
}
