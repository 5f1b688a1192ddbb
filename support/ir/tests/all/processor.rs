//! Lists of features in fewer words.

use offloom_ir::processor::Processor;

fn brief(features: &str) -> Option<String> {
    Processor::named("skylake-avx512").and_then(|processor| processor.brief_features(features))
}

#[test]
fn what_a_processor_has_by_its_name_need_not_be_said() {
    let expect = |features: &str, expected: &str| {
        assert_eq!(brief(features).as_deref(), Some(expected), "{features}");
    };
    expect("+avx2,+avx512f,-avx512bf16", "");
    expect("+sse2,+avx512bf16,+prefer-256-bit,-xop", "+avx512bf16");
    expect("+avx2,-avx512bw,-avx512f", "-avx512bw,-avx512f");
    // On at first, and off by what comes later.
    expect("+avx512bf16,-avx512bw", "-avx512bw");
}

#[test]
fn what_does_not_come_to_the_same_is_left() {
    // AVX2 and more go with AVX, and all but AVX2 stay gone: the first two words look like nothing.
    assert_eq!(brief("-avx,+avx2"), None);
    assert_eq!(brief("+avx2,+no-such-feature"), None);
    assert_eq!(brief("avx2"), None);
    assert_eq!(brief(""), None);
}

#[test]
fn this_machine_has_a_name_for_most() {
    use offloom_ir::inkwell::targets::TargetMachine;
    let name = TargetMachine::get_host_cpu_name().to_string();
    let features = TargetMachine::get_host_cpu_features().to_string();
    let brief = Processor::named(&name).unwrap().brief_features(&features);
    assert!(brief.is_none_or(|brief| brief.len() < features.len()));
}

#[test]
fn features_count_with_what_they_bring() {
    let registers = |cpu: &str, features: &str| {
        let processor = Processor::named(cpu).unwrap();
        ["avx", "avx512f"].map(|feature| processor.has_with(features, feature))
    };
    for cpu in ["x86-64", "westmere", "silvermont"] {
        assert_eq!(registers(cpu, ""), [false, false], "{cpu}");
    }
    for cpu in ["sandybridge", "skylake", "znver3"] {
        assert_eq!(registers(cpu, ""), [true, false], "{cpu}");
    }
    assert_eq!(registers("skylake-avx512", ""), [true, true]);
    assert_eq!(registers("skylake-avx512", "-avx512f"), [true, false]);
    assert_eq!(registers("skylake", "-avx"), [false, false]);
    assert_eq!(registers("x86-64", "+fma"), [true, false]);
    assert_eq!(registers("x86-64", "+avx512vl"), [true, true]);
}
