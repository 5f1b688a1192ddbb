//! Moves, predicates, carries, control flow, and what threads do together.

use crate::case::{Case, THREADS, UNTOUCHED, Words};

/// Words of no pattern.
fn words() -> Vec<Words> {
    let word = |thread: u64, index: u64| (thread * 4 + index + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
    (0..THREADS as u64)
        .map(|thread| std::array::from_fn(|index| word(thread, index as u64)))
        .collect()
}

const WIDE: &str = "cvt.u64.u32 %d0,%r1;";

/// A function that adds one.
const FUNCTION: &str = ".func (.param .b64 r) more(.param .b64 a) {
    .reg .b64 %d<3>; ld.param.b64 %d1,[a]; add.s64 %d2,%d1,1; st.param.b64 [r],%d2; ret; }";

/// The kernel that executes a form of these; nothing where it is none.
pub(super) fn case(form: &str) -> Option<Case> {
    let parts: Vec<&str> = form.split('.').collect();
    let parts = parts.as_slice();
    moves(form, parts)
        .or_else(|| carries(form))
        .or_else(|| control(form, parts))
        .or_else(|| addresses(form, parts))
        .or_else(|| together(form, parts))
}

fn moves(form: &str, parts: &[&str]) -> Option<Case> {
    let thread_is_odd = "and.b32 %r9,%x,1; setp.eq.u32 %p1,%r9,1; setp.gt.u32 %p2,%x,9;";
    let flag = |code: String, expected: fn(bool, bool) -> bool| {
        let code = format!("{thread_is_odd} {code}; selp.b64 %d0,1,0,%p3;");
        Case::new(code, words(), |x, _| expected(x % 2 == 1, x > 9).into())
    };
    Some(match *parts {
        ["mov", "pred"] => flag(format!("{form} %p3,%p1"), |one, _| one),
        ["not", "pred"] => flag(format!("{form} %p3,%p1"), |one, _| !one),
        ["and", "pred"] => flag(format!("{form} %p3,%p1,%p2"), |one, two| one & two),
        ["or", "pred"] => flag(format!("{form} %p3,%p1,%p2"), |one, two| one | two),
        ["xor", "pred"] => flag(format!("{form} %p3,%p1,%p2"), |one, two| one ^ two),
        ["mov" | "selp", kind] => {
            let bits = crate::arithmetic::bits_of(kind);
            let [to, one, two] = [3, 1, 2].map(|number| crate::arithmetic::register(kind, number));
            let rest = if parts[0] == "mov" {
                String::new()
            } else {
                format!(",{two},%p1")
            };
            let widen = if bits == 64 {
                "mov.b64 %d0,%d3;".to_owned()
            } else {
                format!("cvt.u64.u{bits} %d0,{to};")
            };
            let code = format!(
                "{thread_is_odd} ld.global.b{bits} {one},[%a]; ld.global.b{bits} {two},[%a+8]; {form} {to},{one}{rest}; {widen}"
            );
            let is_move = parts[0] == "mov";
            Case::new(code, words(), |x, words| {
                words[usize::from(!is_move && x % 2 == 0)] & crate::arithmetic::mask(bits)
            })
        }
        _ => return None,
    })
}

/// Numbers of two words, word by word.
fn carries(form: &str) -> Option<Case> {
    const LOAD: &str = "ld.global.v2.b32 {%r1,%r2},[%a]; ld.global.v2.b32 {%r3,%r4},[%a+8];";
    const JOIN: &str = "mov.b64 %d0,{%r5,%r6};";
    // The carry out of the second word, three times.
    const CARRY: &str = "cvt.u64.u32 %d1,%r7; mad.lo.s64 %d0,%d1,3,%d0;";
    let halves = |word: u64| (word & 0xFFFF_FFFF, word >> 32);
    Some(match form {
        "add.cc.u32" | "addc.u32" => {
            let code = format!("{LOAD} add.cc.u32 %r5,%r1,%r3; addc.u32 %r6,%r2,%r4; {JOIN}");
            Case::new(code, words(), |_, words| words[0].wrapping_add(words[1]))
        }
        "addc.cc.u32" => {
            let code = format!(
                "{LOAD} add.cc.u32 %r5,%r1,%r3; addc.cc.u32 %r6,%r2,%r4; addc.u32 %r7,0,0; {JOIN} {CARRY}"
            );
            Case::new(code, words(), |_, words| {
                let (sum, carry) = words[0].overflowing_add(words[1]);
                sum.wrapping_add(3 * u64::from(carry))
            })
        }
        "sub.cc.u32" | "subc.u32" => {
            let code = format!("{LOAD} sub.cc.u32 %r5,%r1,%r3; subc.u32 %r6,%r2,%r4; {JOIN}");
            Case::new(code, words(), |_, words| words[0].wrapping_sub(words[1]))
        }
        "subc.cc.u32" => {
            let code = format!(
                "{LOAD} sub.cc.u32 %r5,%r1,%r3; subc.cc.u32 %r6,%r2,%r4; subc.u32 %r7,0,0; {JOIN} {CARRY}"
            );
            Case::new(code, words(), |_, words| {
                let (difference, borrow) = words[0].overflowing_sub(words[1]);
                difference.wrapping_add(3 * if borrow { 0xFFFF_FFFF } else { 0 })
            })
        }
        "mad.lo.cc.u32" | "madc.hi.u32" => {
            let code = format!("{LOAD} mad.lo.cc.u32 %r5,%r1,%r2,%r3; madc.hi.u32 %r6,%r1,%r2,%r4; {JOIN}");
            Case::new(code, words(), |_, words| {
                let (low, high) = halves(words[0]);
                (low * high).wrapping_add(words[1])
            })
        }
        "madc.hi.cc.u32" | "madc.lo.cc.u32" => {
            let code = format!(
                "{LOAD} mad.lo.cc.u32 %r5,%r1,%r2,%r3; {form} %r6,%r1,%r2,%r4; addc.u32 %r7,0,0; {JOIN} {CARRY}"
            );
            let takes_high = form.contains("hi");
            Case::new(code, words(), move |_, words| {
                let (one, two) = halves(words[0]);
                let (three, four) = halves(words[1]);
                let (product_low, product_high) = halves(one * two);
                let low = product_low + three;
                let second = if takes_high { product_high } else { product_low };
                let high = second + four + (low >> 32);
                (low & 0xFFFF_FFFF | high << 32).wrapping_add(3 * (high >> 32))
            })
        }
        _ => return None,
    })
}

fn control(form: &str, parts: &[&str]) -> Option<Case> {
    const CALL: &str = "ld.global.b64 %d1,[%a]; { .param .b64 p; .param .b64 q; st.param.b64 [p],%d1;";
    Some(match *parts {
        ["bra"] => {
            let code = format!("mov.b64 %d0,1; setp.gt.u32 %p1,%x,4; @%p1 {form} END; mov.b64 %d0,2;");
            Case::new(code, words(), |x, _| if x > 4 { 1 } else { 2 })
        }
        ["bra", "uni"] => Case::new(
            format!("mov.b64 %d0,1; {form} END; mov.b64 %d0,2;"),
            words(),
            |_, _| 1,
        ),
        ["call"] => {
            let code = format!(
                "{CALL} mov.u64 %d2,more; type: .callprototype (.param .b64 _) _ (.param .b64 _);
                {form} (q), %d2, (p), type; ld.param.b64 %d0,[q]; }}"
            );
            Case::new(code, words(), |_, words| words[0] + 1).with(FUNCTION)
        }
        ["call", "uni"] | ["ret"] => {
            let code = format!("{CALL} call.uni (q), more, (p); ld.param.b64 %d0,[q]; }}");
            Case::new(code, words(), |_, words| words[0] + 1).with(FUNCTION)
        }
        ["exit"] => {
            let code = format!("setp.lt.u32 %p1,%x,7; @%p1 {form}; mov.b64 %d0,3;");
            Case::new(code, words(), |x, _| if x < 7 { UNTOUCHED } else { 3 })
        }
        ["membar", _] | ["fence", ..] => {
            // One block of one warp: the order of its own accesses.
            let code = format!("st.global.b32 [%a],%x; {form}; ld.global.b32 %r1,[%a]; {WIDE}");
            Case::new(code, words(), |x, _| x as u64)
        }
        _ => return None,
    })
}

fn addresses(form: &str, parts: &[&str]) -> Option<Case> {
    let shared = format!(".shared .align 8 .b64 place[{THREADS}];");
    let (own, load, module) = match *parts {
        ["cvta", .., "shared", "u64"] => (
            "mov.u64 %d1,place; mul.wide.u32 %d2,%x,8; add.u64 %d1,%d1,%d2;",
            "shared",
            shared,
        ),
        ["cvta", .., "local", "u64"] => (
            ".local .align 8 .b64 place; mov.u64 %d1,place;",
            "local",
            String::new(),
        ),
        ["cvta", .., "global", "u64"] => ("mov.b64 %d1,%a;", "global", String::new()),
        ["isspacep", "shared"] => {
            let code = format!(
                "mov.u64 %d1,place; cvta.shared.u64 %d2,%d1; setp.gt.u32 %p1,%x,4; selp.b64 %d3,%d2,%a,%p1;
                {form} %p2,%d3; selp.b64 %d0,1,0,%p2;"
            );
            return Some(Case::new(code, words(), |x, _| (x > 4).into()).with(shared));
        }
        ["alloca" | "stacksave" | "stackrestore", _] => {
            // What comes after the stack was restored gets the same place.
            let code = "stacksave.u64 %d1; mov.u64 %d2,64; alloca.u64 %d3,%d2,16; cvt.u64.u32 %d5,%x; st.local.b64 [%d3],%d5;
                ld.local.b64 %d6,[%d3]; stackrestore.u64 %d1; alloca.u64 %d4,%d2,16; sub.s64 %d0,%d4,%d3; add.s64 %d0,%d0,%d6;";
            return Some(Case::new(code, words(), |x, _| x as u64));
        }
        _ => return None,
    };
    // There and back, by generic and by plain accesses.
    let code = if parts[1] == "to" {
        format!(
            "{own} cvta.{load}.u64 %d4,%d1; st.b64 [%d4],%d4; {form} %d3,%d4; ld.{load}.b64 %d5,[%d3]; sub.s64 %d0,%d5,%d4;"
        )
    } else {
        format!("{own} st.{load}.b64 [%d1],77; {form} %d3,%d1; ld.b64 %d0,[%d3];")
    };
    let expected = if parts[1] == "to" { 0 } else { 77 };
    Some(Case::new(code, words(), |_, _| expected).with(module))
}

fn together(form: &str, parts: &[&str]) -> Option<Case> {
    let lanes = || 0..THREADS as u64;
    Some(match *parts {
        ["activemask", _] => {
            let code = format!("mov.b64 %d0,0; setp.lt.u32 %p1,%x,5; @%p1 bra END; {form} %r1; {WIDE}");
            Case::new(code, words(), |x, _| if x < 5 { 0 } else { 0xFFFF_FFE0 })
        }
        ["bar", "red", "popc", "u32"] => {
            let code = format!("setp.lt.u32 %p1,%x,5; {form} %r1,0,%p1; {WIDE}");
            Case::new(code, words(), |_, _| 5)
        }
        ["bar" | "barrier", "sync"] | ["bar", "warp", "sync"] => {
            // Each thread reads what another has written before.
            let operand = if parts.contains(&"warp") { "-1" } else { "0" };
            let code = format!(
                "mov.u32 %r1,place; shl.b32 %r2,%x,2; add.u32 %r3,%r1,%r2; st.shared.b32 [%r3],%x; {form} {operand};
                xor.b32 %r2,%r2,124; add.u32 %r3,%r1,%r2; ld.shared.b32 %r1,[%r3]; {WIDE}"
            );
            Case::new(code, words(), |x, _| 31 - x as u64).with(".shared .align 4 .b32 place[32];")
        }
        ["shfl", "sync", how, "b32"] => {
            let (operand, bound) = match how {
                "up" => (3, 0),
                "bfly" => (9, 31),
                "down" => (3, 31),
                _ => (7, 31),
            };
            let code = format!("ld.global.b32 %r2,[%a]; {form} %r1|%p1,%r2,{operand},{bound},-1; {WIDE}");
            let words = words();
            let all = words.clone();
            Case::new(code, words, move |x, _| {
                let source = match how {
                    "up" => {
                        if x < 3 {
                            x
                        } else {
                            x - 3
                        }
                    }
                    "bfly" => x ^ 9,
                    "down" => {
                        if x > 28 {
                            x
                        } else {
                            x + 3
                        }
                    }
                    _ => 7,
                };
                all[source][0] & 0xFFFF_FFFF
            })
        }
        ["vote", "sync", "ballot", "b32"] => {
            let code = format!("setp.gt.u32 %p1,%x,20; {form} %r1,%p1,-1; {WIDE}");
            Case::new(code, words(), |_, _| {
                lanes().filter(|&lane| lane > 20).map(|lane| 1 << lane).sum()
            })
        }
        ["match", "any", "sync", "b32"] => {
            let code = format!("and.b32 %r2,%x,3; {form} %r1,%r2,-1; {WIDE}");
            Case::new(code, words(), |x, _| {
                lanes()
                    .filter(|lane| lane % 4 == x as u64 % 4)
                    .map(|lane| 1 << lane)
                    .sum()
            })
        }
        ["redux", "sync", "add", "u32"] => {
            let code = format!("{form} %r1,%x,-1; {WIDE}");
            Case::new(code, words(), |_, _| lanes().sum())
        }
        _ => return None,
    })
}
