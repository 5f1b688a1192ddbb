//! LLVM's own options.

use offloom_ir::command_line::reset_llvm_option;

/// LLVM says nothing of an option that it does not know.
#[test]
fn the_option_of_the_workers_variants_is_one() {
    assert!(reset_llvm_option("lsr-insns-cost"));
    assert!(!reset_llvm_option("no-such-option"));
}
