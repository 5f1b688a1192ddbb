//! Masked loads that choices by the same mask follow, which LLVM 22's InstCombine moves behind stores.

use crate::pipelines::optimized;

const CHOICE: &str = "%chosen = select <4 x i1> %mask, <4 x double> %loaded, <4 x double> %other";
const INVERTED_CHOICE: &str = "%not = xor <4 x i1> %mask, <i1 true, i1 true, i1 true, i1 true>
    %chosen = select <4 x i1> %not, <4 x double> %other, <4 x double> %loaded";
/// InstCombine finds out that the sum is not used.
const CHOICE_AND_SUM: &str = "%sum = fadd <4 x double> %loaded, %other
    %chosen = select <4 x i1> %mask, <4 x double> %loaded, <4 x double> %other";
/// InstCombine finds out that the same lane is chosen by the same bit.
const REVERSED_CHOICE: &str = "%reverse = call <4 x double> @llvm.vector.reverse.v4f64(<4 x double> %loaded)
    %backwards = call <4 x i1> @llvm.vector.reverse.v4i1(<4 x i1> %mask)
    %chosen = select <4 x i1> %backwards, <4 x double> %reverse, <4 x double> %other";
const STORE: &str =
    "call void @llvm.masked.store.v4f64.p0(<4 x double> %new, ptr %at, i32 8, <4 x i1> %mask)";

fn combined(behind_load: [&str; 2]) -> String {
    let behind_load = behind_load.join("\n");
    let module = format!(
        r#"target triple = "x86_64-pc-linux-gnu"
        define <4 x double> @kernel(ptr %at, <4 x i1> %mask, <4 x double> %new, <4 x double> %other) {{
          %loaded = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %at, i32 8, <4 x i1> %mask, <4 x double> poison)
          {behind_load}
          ret <4 x double> %chosen
        }}
        declare <4 x double> @llvm.vector.reverse.v4f64(<4 x double>)
        declare <4 x i1> @llvm.vector.reverse.v4i1(<4 x i1>)
        declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, i32, <4 x i1>, <4 x double>)
        declare void @llvm.masked.store.v4f64.p0(<4 x double>, ptr, i32, <4 x i1>)"#
    );
    optimized(&module, "function(instcombine)")
}

#[test]
fn what_was_there_before_a_store_is_loaded_before_it() {
    for choice in [CHOICE, INVERTED_CHOICE, CHOICE_AND_SUM, REVERSED_CHOICE] {
        let text = combined([STORE, choice]);
        let function = text.split_once("define").unwrap().1;
        let place = |what: &str| function.find(&format!("@llvm.masked.{what}.v4f64.p0(")).unwrap();
        assert!(place("load") < place("store"), "{text}");
        assert!(text.contains("select <4 x i1>"), "{text}");
    }
}

#[test]
fn loads_that_no_store_follows_are_left_to_llvm() {
    let text = combined([CHOICE, ""]);
    assert!(!text.contains("freeze"), "{text}");
}
