//! Which opcodes there are, and which are none.

use offloom_ptx_arithmetic::{LANES, Operation, operation};

#[test]
fn default_rounding_of_sums_and_products_may_be_left_out() {
    for opcode in ["add.f32", "sub.f64", "mul.ftz.f32", "add.f16"] {
        assert!(operation(opcode).is_some(), "{opcode}");
    }
}

#[test]
fn what_is_no_instruction_is_refused() {
    for opcode in [
        "",
        "add",
        "add.",
        "add.b32",
        "add.rn.s32",
        "add.rn.rz.f32",
        "div.f32",
        "fma.f32",
        "add.ftz.f64",
        "mul.s32",
        "mul.wide.u64",
        "setp.s32",
        "setp.lt.b32",
        "setp.num.s32",
        "cvt.f32.f64",
        "cvt.s32.f32",
        "cvt.rzi.f32.f64",
        "cvt.ftz.f64.s32",
        "abs.u32",
        "popc.b16",
        "sqrt.f32",
        "ex2.f32",
        "ex2.approx.f64",
        "add.sat.u32",
        "min.rn.f32",
        "neg.sat.f32",
        "testp.lt.f32",
        "mov.u32",
        "ld.global.u32",
        "bra",
        "add.f32.f32",
    ] {
        assert!(operation(opcode).is_none(), "{opcode}");
    }
}

#[test]
fn bits_above_the_type_are_neither_read_nor_written() {
    let dirty = |value: u64| [value | 0xabcd_ef01_0000_0000; 32];
    let Some(Operation::Binary(add)) = operation("add.s32") else {
        panic!("add.s32 takes two inputs");
    };
    assert_eq!(add(&dirty(0xffff_ffff), &dirty(2)), [1; 32]);
    let Some(Operation::Unary(not)) = operation("not.b16") else {
        panic!("not.b16 takes one input");
    };
    assert_eq!(not(&dirty(0x1_00ff)), [0xff00; 32]);
}

#[test]
fn square_roots_are_rounded_in_each_direction() {
    let root = |opcode: &str, value: f64| {
        let Some(Operation::Unary(root)) = operation(opcode) else {
            panic!("{opcode} takes one input");
        };
        f64::from_bits(root(&[value.to_bits(); 32])[0])
    };
    let nearest = 2f64.sqrt();
    assert_eq!(root("sqrt.rn.f64", 2.0), nearest);
    // The nearest number to the root of two is above it.
    assert_eq!(root("sqrt.rp.f64", 2.0), nearest);
    assert_eq!(root("sqrt.rm.f64", 2.0), nearest.next_down());
    assert_eq!(root("sqrt.rz.f64", 2.0), nearest.next_down());
    // And to that of three below.
    assert_eq!(root("sqrt.rp.f64", 3.0), 3f64.sqrt().next_up());
    for opcode in ["sqrt.rm.f64", "sqrt.rp.f64", "sqrt.rz.f64"] {
        assert_eq!(root(opcode, 49.0), 7.0, "{opcode}");
        assert_eq!(root(opcode, f64::INFINITY), f64::INFINITY, "{opcode}");
        assert!(root(opcode, -1.0).is_nan(), "{opcode}");
    }
}

#[test]
fn two_numbers_in_one_register_do_not_touch_one_another() {
    let compute = |opcode, a: u64, b: u64| {
        let Some(Operation::Binary(run)) = operation(opcode) else {
            panic!("{opcode}")
        };
        run(&[a; LANES], &[b; LANES])[0]
    };
    let (a, b) = (0xDEAD_BEEF_FFFF_7FFF, 0x0001_0001);
    assert_eq!(compute("add.s16x2", a, b), 0x0000_8000);
    assert_eq!(compute("add.u16x2", a, b), 0x0000_8000);
    assert_eq!(compute("min.s16x2", a, b), 0xFFFF_0001);
    assert_eq!(compute("min.u16x2", a, b), 0x0001_0001);
    assert_eq!(compute("max.s16x2", a, b), 0x0001_7FFF);
    assert_eq!(compute("max.u16x2", a, b), 0xFFFF_7FFF);
    for wrong in ["add.sat.s16x2", "mul.lo.s16x2", "min.relu.u16x2", "sub.s16x2"] {
        assert!(operation(wrong).is_none(), "{wrong}");
    }
    // 1.5 and -2; 0.25 and 4.
    let (a, b) = (0xABCD_0000_3E00_C000, 0x3400_4400);
    assert_eq!(compute("add.rn.f16x2", a, b), 0x3F00_4000);
    assert_eq!(compute("mul.rn.f16x2", a, b), 0x3600_C800);
    assert_eq!(compute("min.f16x2", a, b), 0x3400_C000);
    // The first number goes to the upper half.
    let (a, b) = (1.5_f32.to_bits().into(), (-2.0_f32).to_bits().into());
    assert_eq!(compute("cvt.rn.f16x2.f32", a, b), 0x3E00_C000);
    assert_eq!(compute("cvt.rn.bf16x2.f32", a, b), 0x3FC0_C000);
}
