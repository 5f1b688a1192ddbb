//! What an H100 answered, through kernels: the format is that of `arithmetic/tests/golden.rs`.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::arithmetic::code;
use crate::case::{Case, Words};

#[test]
fn kernels_give_the_devices_bits() {
    let mut text = String::new();
    GzDecoder::new(include_bytes!("../../../arithmetic/tests/golden.txt.gz").as_slice())
        .read_to_string(&mut text)
        .unwrap();
    let (mut wrong, mut rows, mut instructions) = (Vec::new(), 0, 0);
    for part in text.split("= ").skip(1) {
        let mut lines = part.lines();
        let words: Vec<&str> = lines.next().unwrap().split(' ').collect();
        let [opcode, inputs, _, result, _] = words[..] else {
            panic!("{words:?}");
        };
        // Those of the arithmetic follow a rule of their own.
        if opcode.contains(".approx") || opcode.contains(".full") {
            continue;
        }
        let inputs: Vec<String> = inputs.split(',').map(str::to_owned).collect();
        let (mut words, mut expected) = (Vec::<Words>::new(), Vec::new());
        for line in lines {
            let mut row: Vec<u64> = line
                .split(' ')
                .map(|word| u64::from_str_radix(word, 16).unwrap())
                .collect();
            expected.push(row.pop().unwrap());
            row.resize(4, 0);
            words.push(row.try_into().unwrap());
        }
        instructions += 1;
        rows += words.len();
        let case = Case {
            module: String::new(),
            code: code(opcode, &inputs, result),
            words,
            expected,
        };
        wrong.extend(case.difference().map(|what| format!("{opcode}: {what}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        instructions > 230 && rows > 50_000,
        "only {instructions} instructions, {rows} rows"
    );
}
