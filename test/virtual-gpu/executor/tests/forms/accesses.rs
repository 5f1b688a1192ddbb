//! Loads, stores and atomics in every space.

use crate::arithmetic::{bits_of, mask, register};
use crate::case::{Case, PARAMETER, THREADS, Words};

/// Words of which each byte differs from its neighbours.
fn words() -> Vec<Words> {
    let word =
        |thread: u64, index: u64| (thread * 4 + index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x8000_7F01;
    (0..THREADS as u64)
        .map(|thread| std::array::from_fn(|index| word(thread, index as u64)))
        .collect()
}

/// The kernel that executes a load, a store or an atomic.
pub(super) fn case(form: &str) -> Option<Case> {
    let parts: Vec<&str> = form.split('.').collect();
    let space = ["global", "shared", "local", "param", "const"]
        .into_iter()
        .find(|space| parts.contains(space));
    let kind = *parts.last()?;
    let count = parts
        .iter()
        .find_map(|part| part.strip_prefix('v')?.parse().ok())
        .unwrap_or(1);
    match parts[0] {
        "ld" => Some(load(form, space, kind, count)),
        "st" => Some(store(form, space, kind, count)),
        "atom" => atomic(form, space, kind),
        _ => None,
    }
}

/// A place with the thread's words: what the module declares for it, the code that fills it, and its address.
fn place(space: Option<&str>) -> (String, String, &'static str) {
    let fill = |space: &str| {
        let copies = (0..4).map(|word| {
            format!(
                "ld.global.b64 %d9,[%a+{}]; st.{space}.b64 [%d8+{}],%d9; ",
                8 * word,
                8 * word
            )
        });
        copies.collect::<String>()
    };
    match space {
        Some("shared") => (
            format!(".shared .align 16 .b8 place[{}];", 32 * THREADS),
            format!(
                "mov.u64 %d8,place; mul.wide.u32 %d9,%x,32; add.u64 %d8,%d8,%d9; {}",
                fill("shared")
            ),
            "%d8",
        ),
        Some("local") => (
            String::new(),
            format!(
                ".local .align 16 .b8 place[32]; mov.u64 %d8,place; {}",
                fill("local")
            ),
            "%d8",
        ),
        Some("param") => (String::new(), String::new(), "words"),
        Some("const") => {
            let values = PARAMETER.map(|word| word.to_string()).join(",");
            (
                format!(".const .align 16 .u64 place[4] = {{{values}}};"),
                String::new(),
                "place",
            )
        }
        _ => (String::new(), String::new(), "%a"),
    }
}

/// Elements as an operand: one register, or a vector of them.
fn elements(kind: &str, count: usize) -> String {
    let registers: Vec<_> = (1..=count).map(|number| register(kind, number)).collect();
    if count == 1 {
        registers[0].clone()
    } else {
        format!("{{{}}}", registers.join(","))
    }
}

/// The bytes of words.
fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The sum that [`SUM`] makes of elements.
fn sum(elements: impl Iterator<Item = u64>) -> u64 {
    elements.fold(0_u64, |sum, element| sum.wrapping_mul(3).wrapping_add(element))
}

/// An instruction that adds `%d9` to three times the sum.
const SUM: &str = "mad.lo.s64 %d0,%d0,3,%d9; ";

fn load(form: &str, space: Option<&str>, kind: &str, count: usize) -> Case {
    let (module, fill, address) = place(space);
    let mut code = format!(
        "{fill}{form} {},[{address}]; mov.b64 %d0,0; ",
        elements(kind, count)
    );
    for number in 1..=count {
        let register = register(kind, number);
        code += &match bits_of(kind) {
            8 | 16 => format!("cvt.u64.u16 %d9,{register}; "),
            32 => format!("cvt.u64.u32 %d9,{register}; "),
            _ => format!("mov.b64 %d9,{register}; "),
        };
        code += SUM;
    }
    let is_shared_by_all = matches!(space, Some("param" | "const"));
    let bits = bits_of(kind);
    let size = bits as usize / 8;
    Case::new(code, words(), |_, words| {
        let bytes = bytes(if is_shared_by_all { &PARAMETER } else { words });
        sum(bytes.chunks(size).take(count).map(|element| {
            let mut whole = [0; 8];
            whole[..size].copy_from_slice(element);
            let value = u64::from_le_bytes(whole);
            let negative = kind.starts_with('s') && value >> (bits - 1) == 1;
            let extended = if negative { value | !mask(bits) } else { value };
            extended & mask(bits.max(16))
        }))
    })
    .with(module)
}

/// The second half of the words over the beginning of the first.
fn store(form: &str, space: Option<&str>, kind: &str, count: usize) -> Case {
    let size = bits_of(kind) as usize / 8;
    let (mut module, fill, address) = place(space);
    let mut code = String::new();
    for number in 1..=count {
        let register = register(kind, number);
        let offset = 16 + (number - 1) * size;
        // Registers are at least 16 bits wide.
        let width = if size == 1 {
            "u8".to_owned()
        } else {
            format!("b{}", size * 8)
        };
        code += &format!("ld.global.{width} {register},[%a+{offset}]; ");
    }
    let read_back = |space: &str| {
        let reads = (0..2).map(|word| format!("ld{space}.b64 %d9,[{address}+{}]; {SUM}", 8 * word));
        reads.collect::<String>()
    };
    if space == Some("param") {
        // The argument of a call.
        ".func (.param .b64 r) added(.param .align 16 .b8 p[16]) {
        .reg .b64 %d<3>; ld.param.b64 %d1,[p]; ld.param.b64 %d2,[p+8]; mad.lo.s64 %d1,%d1,3,%d2; st.param.b64 [r],%d1; ret; }"
            .clone_into(&mut module);
        code += &format!(
            "ld.global.b64 %d8,[%a]; ld.global.b64 %d9,[%a+8]; {{ .param .align 16 .b8 p[16]; .param .b64 q;
            st.param.b64 [p],%d8; st.param.b64 [p+8],%d9; {form} [p],{}; call.uni (q), added, (p); ld.param.b64 %d0,[q]; }}",
            elements(kind, count)
        );
    } else {
        let space = space.map_or(String::new(), |space| format!(".{space}"));
        code = format!(
            "{fill}{code}{form} [{address}],{}; mov.b64 %d0,0; {}",
            elements(kind, count),
            read_back(&space)
        );
    }
    Case::new(code, words(), |_, words| {
        let mut bytes = bytes(words);
        bytes.copy_within(16..16 + size * count, 0);
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        sum([word(0), word(8)].into_iter())
    })
    .with(module)
}

/// What was there and three times what is there then. The first word is changed; the second and third are
/// operands.
fn atomic(form: &str, space: Option<&str>, kind: &str) -> Option<Case> {
    let bits = bits_of(kind);
    let name = form.split('.').find(|part| {
        matches!(
            *part,
            "add" | "cas" | "exch" | "inc" | "dec" | "or" | "and" | "xor" | "max" | "min"
        )
    })?;
    let (module, fill, address) = place(space);
    let (old, one, two) = (register(kind, 1), register(kind, 2), register(kind, 3));
    let more = if name == "cas" {
        format!(",{two}")
    } else {
        String::new()
    };
    let space = space.map_or(String::new(), |space| format!(".{space}"));
    let widen = |register: &str| {
        if bits == 32 {
            format!("cvt.u64.u32 %d9,{register};")
        } else {
            format!("mov.b64 %d9,{register};")
        }
    };
    let code = format!(
        "{fill}ld.global.b{bits} {one},[%a+8]; ld.global.b{bits} {two},[%a+16]; {form} {old},[{address}],{one}{more}; mov.b64 %d0,0;
        {} {SUM} ld{space}.b{bits} {old},[{address}]; {} {SUM}",
        widen(&old),
        widen(&old)
    );
    let mut words = words();
    for (thread, words) in words.iter_mut().enumerate() {
        if name == "cas" && thread % 2 == 0 {
            words[1] = words[0];
        }
        if kind == "f64" {
            words[..2].copy_from_slice(&[(thread as f64).to_bits(), (0.1 * thread as f64).to_bits()]);
        }
        if name == "inc" && thread % 2 == 0 {
            words[1] = words[0] - 1;
        }
    }
    let result = |old: u64, one: u64, two: u64| match (name, kind) {
        ("add", "f64") => (f64::from_bits(old) + f64::from_bits(one)).to_bits(),
        ("add", _) => old.wrapping_add(one),
        ("cas", _) => {
            if old == one {
                two
            } else {
                old
            }
        }
        ("exch", _) => one,
        ("inc", _) => {
            if old >= one {
                0
            } else {
                old + 1
            }
        }
        ("or", _) => old | one,
        ("max", "s32") => (old as i32).max(one as i32) as u64,
        _ => panic!("{form}: nobody says what it does"),
    };
    let case = Case::new(code, words, |_, words| {
        let [old, one, two] = [0, 1, 2].map(|index| words[index] & mask(bits));
        sum([old, result(old, one, two) & mask(bits)].into_iter())
    });
    Some(case.with(module))
}
