//! What LLVM knows of processors.

use std::ffi::{CStr, CString, c_char};

use crate::codegen::initialize_x86;

const TRIPLE: &CStr = c"x86_64-unknown-linux-gnu";

unsafe extern "C" {
    fn offloom_ir_has_target(triple: *const c_char) -> bool;
    fn offloom_ir_knows_processor(triple: *const c_char, cpu: *const c_char) -> bool;
    fn offloom_ir_processor_has_feature(
        triple: *const c_char,
        cpu: *const c_char,
        feature: *const c_char,
    ) -> bool;
}

/// Whether LLVM knows no processor of this name for the triple's target. Of targets that this program does not have, or has not initialised,
/// nothing is known.
pub fn is_unknown_processor(triple: &str, name: &str) -> bool {
    let (Ok(triple), Ok(name)) = (CString::new(triple), CString::new(name)) else {
        return true;
    };
    // SAFETY: the strings live during the calls.
    unsafe {
        offloom_ir_has_target(triple.as_ptr()) && !offloom_ir_knows_processor(triple.as_ptr(), name.as_ptr())
    }
}

/// A processor that code for x86_64 can be generated for.
#[derive(Debug, Clone)]
pub struct Processor(CString);

impl Processor {
    /// The processor of this name; none if LLVM knows none.
    pub fn named(name: &str) -> Option<Self> {
        initialize_x86();
        let name = CString::new(name).ok()?;
        // SAFETY: both strings live during the call.
        let known = unsafe { offloom_ir_knows_processor(TRIPLE.as_ptr(), name.as_ptr()) };
        known.then_some(Self(name))
    }

    /// Whether it has the feature, named as LLVM names it (`avx2`).
    pub fn has(&self, feature: &str) -> bool {
        CString::new(feature).is_ok_and(|feature| {
            // SAFETY: the strings live during the call, and LLVM knows the processor.
            unsafe { offloom_ir_processor_has_feature(TRIPLE.as_ptr(), self.0.as_ptr(), feature.as_ptr()) }
        })
    }
}
