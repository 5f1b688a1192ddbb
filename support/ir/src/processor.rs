//! What LLVM knows of processors.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use offloom_abi::HostProcessor;

use crate::codegen::initialize_native;

unsafe extern "C" {
    fn offloom_ir_has_target(triple: *const c_char) -> bool;
    fn offloom_ir_knows_processor(triple: *const c_char, cpu: *const c_char) -> bool;
    fn offloom_ir_processor_has_feature(
        triple: *const c_char,
        cpu: *const c_char,
        features: *const c_char,
        feature: *const c_char,
    ) -> bool;
    fn offloom_ir_has_by_name(
        triple: *const c_char,
        cpu: *const c_char,
        features: *const c_char,
        known: *mut u8,
    ) -> bool;
}

/// Whether LLVM knows no processor of this name for the triple's target. Of targets that this program does
/// not have, or has not initialised, nothing is known.
pub fn is_unknown_processor(triple: &str, name: &str) -> bool {
    let (Ok(triple), Ok(name)) = (CString::new(triple), CString::new(name)) else {
        return true;
    };
    // SAFETY: the strings live during the calls.
    unsafe {
        offloom_ir_has_target(triple.as_ptr()) && !offloom_ir_knows_processor(triple.as_ptr(), name.as_ptr())
    }
}

/// What means the same as these features for a processor, in fewer words ([`Processor::brief_features`]);
/// empty where there is no such thing, or LLVM knows no processor of this name. Only of the first that this
/// is asked of it is remembered: mostly there are no others in a process.
pub fn brief_features(processor: &str, features: &str) -> String {
    static FIRST: OnceLock<[String; 3]> = OnceLock::new();
    let brief = || {
        let known = Processor::named(processor);
        known
            .and_then(|known| known.brief_features(features))
            .unwrap_or_default()
    };
    let [first_processor, first_features, first] =
        FIRST.get_or_init(|| [processor.to_owned(), features.to_owned(), brief()]);
    if [first_processor, first_features] == [processor, features] {
        first.clone()
    } else {
        brief()
    }
}

/// A processor of this machine's kind.
#[derive(Debug, Clone)]
pub struct Processor {
    triple: CString,
    name: CString,
}

impl Processor {
    /// The processor of this name; none if LLVM knows none.
    pub fn named(name: &str) -> Option<Self> {
        initialize_native();
        let triple = CString::new(HostProcessor::NATIVE.triple).ok()?;
        let name = CString::new(name).ok()?;
        // SAFETY: both strings live during the call.
        let known = unsafe { offloom_ir_knows_processor(triple.as_ptr(), name.as_ptr()) };
        known.then_some(Self { triple, name })
    }

    /// What means the same as these features (`+a,-b`) for this processor in fewer words: without those that
    /// it has, or has not, by its name. LLVM goes through all features that it knows for each word of such a
    /// list, twice for each list.
    ///
    /// None where that is not the same: one feature switches others on or off. Nor where LLVM does not know
    /// one.
    pub fn brief_features(&self, features: &str) -> Option<String> {
        let words: Vec<&str> = features.split(',').collect();
        if words.iter().any(|word| !word.starts_with(['+', '-'])) {
            return None;
        }
        let list = CString::new(features).ok()?;
        let mut known = vec![0; words.len()];
        // SAFETY: the strings live during the call, there is room for each word, and LLVM knows the
        // processor.
        let mean_the_same = unsafe {
            offloom_ir_has_by_name(
                self.triple.as_ptr(),
                self.name.as_ptr(),
                list.as_ptr(),
                known.as_mut_ptr(),
            )
        };
        let rest = words.iter().zip(&known).filter(|(_, known)| **known == 0);
        let rest: Vec<&str> = rest.map(|(word, _)| *word).collect();
        mean_the_same.then(|| rest.join(","))
    }

    /// Whether it has the feature, named as LLVM names it (`avx2`).
    pub fn has(&self, feature: &str) -> bool {
        self.has_with("", feature)
    }

    /// Whether it has the feature if it has, or has not, these (`+a,-b`) and what they bring with them.
    pub fn has_with(&self, features: &str, feature: &str) -> bool {
        let (Ok(features), Ok(feature)) = (CString::new(features), CString::new(feature)) else {
            return false;
        };
        // SAFETY: the strings live during the call, and LLVM knows the processor.
        unsafe {
            offloom_ir_processor_has_feature(
                self.triple.as_ptr(),
                self.name.as_ptr(),
                features.as_ptr(),
                feature.as_ptr(),
            )
        }
    }
}
