//! Hostile bytes: an answer or an error for each, and for large ones soon.
#![expect(clippy::unwrap_used, reason = "a fault of a fixture ends the test")]

use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use offloom_ptx::{cubin, image};
use proptest::prelude::*;

/// What compilers write, in small: every kind of statement.
const SAMPLE: &str = r#"//
.version 7.8
.target sm_80
.address_size 64
.file 1 "a.c"
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.weak .global .align 4 .u32 x = 7;
.extern .shared .align 16 .b8 dynamic[];
.global .align 8 .u64 table[3] = {8589934592, generic(x)+8, f};
.global .align 1 .b8 bytes[4] = {0xFF(x), 0xFF00(x), -1, 0};
.global .align 4 .f32 numbers[2] = {0f3F800000, 1.5e-3};
.visible .func  (.param .b64 func_retval0) f(.param .b64 f_param_0, .param .align 8 .b8 f_param_1[16])
{
	.local .align 8 .b8 	__local_depot0[16];
	.reg .b64 	%SP;
	.reg .pred 	%p<3>;
	.reg .b32 	%r<5>;
	.reg .f32 	%f<3>;
	.reg .b64 	%rd<9>;
	.loc	1 12 3, function_name $L__info_string0, inlined_at 1 4 2
	mov.u64 	%SP, __local_depot0;
	ld.param.u64 	%rd1, [f_param_0];
	mov.u32 	%r1, %tid.x;
	setp.lt.s32 	%p1|%p2, %r1, 0x1F;
	@!%p1 bra 	$L__BB0_2;
	{ // callseq 0, 0
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd1;
	.param .b32 retval0;
	prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _);
	call (retval0), %rd1, (param0), prototype_0;
	ld.param.b32 	%r2, [retval0+0];
	} // callseq 0
	$L_targets: .branchtargets $L__BB0_1, $L__BB0_2;
	brx.idx %r1, $L_targets;
$L__BB0_1:
	.pragma "nounroll";
	ld.global.v2.u32 	{%r3, _}, [%rd1+-8];
	fma.rn.f32 	%f1, %f2, 0f3F800000, %f1;
	shfl.sync.down.b32 	%r4|%p2, %r1, 1, 31, -1;
$L__BB0_2:
	ret;
}
.visible .func g(.param .b64 a);
.alias g, f;
.visible .entry k(.param .u64 .ptr .global .align 8 a) .maxntid 128, 1, 1
{
	.shared .align 4 .b8 own[64];
	exit;
}
.section .debug_str { .b8 1,2 }
"#;

/// What Clang 19 makes of two programs of the corpus: one at -O1, one at -O2 with the device runtime.
static FUNCTION_POINTERS: &[u8] = include_bytes!("data/function-pointers.ptx");
static REDUCTIONS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut text = Vec::new();
    let mut packed = GzDecoder::new(include_bytes!("data/reductions.ptx.gz").as_slice());
    packed.read_to_end(&mut text).unwrap();
    text
});

fn parse(bytes: &[u8]) {
    if let Ok(module) = offloom_ptx::parse("hostile.ptx", bytes) {
        // What is accepted links with itself or not, without a panic.
        let _ = offloom_ptx::link(vec![module.clone(), module]);
    }
}

#[test]
fn the_sample_is_right() {
    let module = offloom_ptx::parse("sample.ptx", SAMPLE.as_bytes()).unwrap();
    assert_eq!(module.symbols.len(), 10);
}

#[test]
fn the_compilers_texts_are_right() {
    for text in [FUNCTION_POINTERS, &REDUCTIONS] {
        let module = offloom_ptx::parse("real.ptx", text).unwrap();
        assert!(module.symbols.len() > 5, "{}", module.symbols.len());
    }
}

#[test]
fn every_beginning_of_a_file_is_an_error_or_right() {
    for end in 0..SAMPLE.len() {
        parse(&SAMPLE.as_bytes()[..end]);
    }
}

/// Texts that would take a careless parser all its stack, or time or memory beyond measure.
#[test]
fn large_and_deep_texts_end_soon() {
    const MANY: usize = 100_000;
    let mut names = String::new();
    for number in 0..MANY / 10 {
        let _ = write!(
            names,
            ".func f{number}() {{ {{ .shared .b8 x; }} {{ .shared .b8 x; }} }} .global .u8 v{number}; "
        );
    }
    let scopes = format!(".func f() {{ {} }}", "{ .shared .b8 x; }".repeat(MANY));
    let deep = [
        format!(".func f() {}", "{".repeat(MANY)),
        format!(".func f() {{ {}", "{}".repeat(MANY)),
        format!(".func f() {{ mov.b64 x, {}", "{".repeat(MANY)),
        format!(".func f() {{ mov.b64 x, {}", "-".repeat(MANY)),
        format!(".func f() {{ mov.b64 x, {}", "[".repeat(MANY)),
        format!(".func f() {{ call {}", "(".repeat(MANY)),
        format!(".func f() {{ bra L; {}", "L: ".repeat(MANY)),
        format!(".global .u8 x{}", "[1]".repeat(MANY)),
        format!(".global .u8 x[1] = {}", "{".repeat(MANY)),
        format!(".global .u64 x = {}", "generic(".repeat(MANY)),
        format!(".global .u8 x[] = {{ {} }};", "0, ".repeat(MANY)),
        format!(".func f(){}", "/*".repeat(MANY)),
        format!(".func f{}(", "x".repeat(MANY)),
        "\n".repeat(MANY),
        ".visible ".repeat(MANY),
        "\"".repeat(MANY),
        "9".repeat(MANY),
        names,
        scopes,
    ];
    for text in &deep {
        parse(text.as_bytes());
    }
}

/// Replaces, removes, repeats or swaps bytes.
fn mutated(text: &[u8]) -> impl Strategy<Value = Vec<u8>> {
    let length = text.len();
    let text = text.to_vec();
    let change = (0..length, 0..40_usize, 0..length, any::<u8>(), 0..4_u8);
    prop::collection::vec(change, 1..6).prop_map(move |changes| {
        let mut text = text.clone();
        for (at, size, from, byte, kind) in changes {
            let at = at.min(text.len());
            let end = (at + size).min(text.len());
            let from = from.min(text.len());
            let piece = text[from..(from + size).min(text.len())].to_vec();
            match kind {
                0 => drop(text.splice(at..end, [])),
                1 => drop(text.splice(at..at, piece)),
                2 => drop(text.splice(at..end, piece)),
                _ => {
                    if let Some(place) = text.get_mut(at) {
                        *place = byte;
                    }
                }
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn mutations_of_ptx(text in mutated(SAMPLE.as_bytes())) {
        parse(&text);
    }

    #[test]
    fn mutations_of_a_compilers_ptx(text in mutated(FUNCTION_POINTERS)) {
        parse(&text);
    }

    #[test]
    fn bytes_of_any_kind(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        parse(&bytes);
    }

    #[test]
    fn tokens_in_any_order(words in prop::collection::vec(0..TOKENS.len(), 0..60)) {
        let text: Vec<_> = words.iter().map(|&word| TOKENS[word]).collect();
        parse(text.join(" ").as_bytes());
    }

    #[test]
    fn mutations_of_cubins(bytes in mutated(CUBIN)) {
        let _ = (cubin::read(&bytes).is_ok(), image::parts(&bytes).is_ok());
    }
}

proptest! {
    // The text is large.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn mutations_of_ptx_with_the_device_runtime(text in mutated(&REDUCTIONS)) {
        parse(&text);
    }
}

const TOKENS: &[&str] = &[
    ".func",
    ".entry",
    ".visible",
    ".extern",
    ".global",
    ".shared",
    ".reg",
    ".param",
    ".local",
    ".b32",
    ".u64",
    ".pred",
    ".align",
    "8",
    "f",
    "x",
    "%r",
    "<",
    ">",
    "4",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    ":",
    "=",
    "+",
    "-",
    "!",
    "|",
    "@",
    "_",
    "generic",
    "0xFF",
    "call",
    "bra",
    "brx.idx",
    "mov.b32",
    "ret",
    ".callprototype",
    ".branchtargets",
    ".alias",
    ".loc",
    ".file",
    "\"a\"",
    "0f3F800000",
    "1.5",
];

/// A cubin by ptxas 12.9.
const CUBIN: &[u8] = include_bytes!("data/kernel.cubin");
