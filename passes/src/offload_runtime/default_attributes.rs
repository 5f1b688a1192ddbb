//! The attributes that a front end gives every function it defines, found in a module and added to functions
//! of a library.
//!
//! Clang adds those of its command line (`mergeDefaultFunctionDefinitionAttributes` in
//! `clang/lib/CodeGen/CGCall.cpp`); a pass sees the command line only in the functions that came of it. So a
//! default is what all of them have alike.

use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::symbol::Symbol;

const TARGET_CPU: &str = "target-cpu";
const TARGET_FEATURES: &str = "target-features";
const DENORMALS: &str = "denormal-fp-math";
const DENORMALS_F32: &str = "denormal-fp-math-f32";
/// Both of these, since LLVM 23: an enum attribute of four numbers of two bits (`DenormalFPEnv` of
/// `llvm/ADT/FloatingPointMode.h`).
const DENORMAL_ENVIRONMENT: &str = "denormal_fpenv";

/// Those that take the place of the library's.
const REPLACED: &[&str] = &[
    TARGET_CPU,
    "approx-func-fp-math",
    "backchain",
    "branch-protection-pauth-lr",
    "branch-target-enforcement",
    "frame-pointer",
    "guarded-control-stack",
    "indirect-tls-seg-refs",
    "less-precise-fpmad",
    "no-infs-fp-math",
    "no-nans-fp-math",
    "no-signed-zeros-fp-math",
    "no-trapping-math",
    "prefer-vector-width",
    "reciprocal-estimates",
    "sign-return-address",
    "sign-return-address-key",
    "split-stack",
    "stack-protector-buffer-size",
    "stackrealign",
    "tune-cpu",
    "unsafe-fp-math",
    "use-soft-float",
    "zero-call-used-regs",
];

/// Those without a value.
const FLAGS: &[&str] = &[
    "convergent",
    "noimplicitfloat",
    "noredzone",
    "null_pointer_is_valid",
    "speculative_load_hardening",
];

/// Those without a value that a function which is not to be optimised must not have.
const SIZE_FLAGS: &[&str] = &["minsize", "optsize"];

/// What the functions of a module have in common.
#[derive(Debug, Default)]
pub(super) struct DefaultAttributes {
    replaced: Vec<(&'static str, String)>,
    flags: Vec<&'static str>,
    size_flags: Vec<&'static str>,
    features: Option<String>,
    denormals: Option<String>,
    denormals_f32: Option<String>,
    /// 0: as IEEE 754 says.
    denormal_environment: u64,
}

impl DefaultAttributes {
    /// Reads them off the functions of a module. Where some name a processor, others were made without its
    /// front end's help, as the functions of the OpenMP builder are, and do not count.
    pub(super) fn of(functions: &[Symbol<'_>]) -> Self {
        let mut defined: Vec<_> = functions
            .iter()
            .copied()
            .filter(|function| function.is_definition())
            .collect();
        if defined.iter().any(|function| has(*function, TARGET_CPU)) {
            defined.retain(|function| has(*function, TARGET_CPU));
        }
        let flags = |names: &'static [&'static str]| {
            let common = |name: &&&str| {
                !defined.is_empty() && defined.iter().all(|function| has_flag(*function, name))
            };
            names.iter().filter(common).copied().collect()
        };
        let environments = defined.iter().filter_map(|symbol| symbol.as_function());
        let environments = environments.map(denormal_environment);
        Self {
            replaced: REPLACED
                .iter()
                .filter_map(|&key| Some((key, common(&defined, key)?)))
                .collect(),
            flags: flags(FLAGS),
            size_flags: flags(SIZE_FLAGS),
            features: common(&defined, TARGET_FEATURES),
            denormals: common(&defined, DENORMALS),
            denormals_f32: common(&defined, DENORMALS_F32),
            denormal_environment: alike(environments).unwrap_or_default(),
        }
    }

    /// Adds them to a function of a library that will be internal.
    pub(super) fn add_to(&self, symbol: Symbol<'_>) {
        let Some(function) = symbol.as_function() else {
            return;
        };
        for (key, value) in &self.replaced {
            symbol.set_string_attribute(key, value);
        }
        for flag in &self.flags {
            add_flag(function, flag);
        }
        if !has_flag(symbol, "optnone") {
            for flag in &self.size_flags {
                add_flag(function, flag);
            }
        }
        self.merge_denormals(symbol);
        self.merge_denormal_environment(function);
        self.merge_features(symbol);
    }

    /// `dynamic` in a library stands for what its user has.
    fn merge_denormals(&self, symbol: Symbol<'_>) {
        let defaults = mode(self.denormals.as_ref()).unwrap_or(DenormalMode::IEEE);
        let defaults_f32 = mode(self.denormals_f32.as_ref()).unwrap_or(defaults);
        let own = symbol.string_attribute(DENORMALS);
        let own_f32 = symbol.string_attribute(DENORMALS_F32);
        let merged = mode(own.as_ref())
            .unwrap_or(DenormalMode::IEEE)
            .or_for_dynamic(defaults);
        let merged_f32 = mode(own_f32.as_ref()).map_or(defaults_f32, |own| own.or_for_dynamic(defaults_f32));
        symbol.remove_string_attribute(DENORMALS);
        symbol.remove_string_attribute(DENORMALS_F32);
        if merged != DenormalMode::IEEE {
            symbol.set_string_attribute(DENORMALS, &merged.text());
        }
        // Clang writes the second one also where it says what the first one does.
        if merged_f32 != merged || merged_f32 != DenormalMode::IEEE {
            symbol.set_string_attribute(DENORMALS_F32, &merged_f32.text());
        }
    }

    fn merge_denormal_environment(&self, function: FunctionValue<'_>) {
        let kind = Attribute::get_named_enum_kind_id(DENORMAL_ENVIRONMENT);
        // Earlier releases do not know it.
        if kind == 0 {
            return;
        }
        let own = denormal_environment(function);
        let bits = |environment: u64, mode: u32| environment & (DYNAMIC << (2 * mode));
        let merged = (0..4).map(|mode| match bits(own, mode) == DYNAMIC << (2 * mode) {
            true => bits(self.denormal_environment, mode),
            false => bits(own, mode),
        });
        let merged = merged.fold(0, |all, mode| all | mode);
        function.remove_enum_attribute(AttributeLoc::Function, kind);
        if merged != 0 {
            let context = function.get_type().get_context();
            function.add_attribute(
                AttributeLoc::Function,
                context.create_enum_attribute(kind, merged),
            );
        }
    }

    /// The library's own features stay; of the others come those that it neither has nor lacks on purpose.
    fn merge_features(&self, symbol: Symbol<'_>) {
        let own = symbol.string_attribute(TARGET_FEATURES).unwrap_or_default();
        let mut merged: Vec<&str> = Vec::new();
        let defaults = self.features.as_deref().unwrap_or_default();
        for feature in own.split(',').chain(defaults.split(',')) {
            let is_new = |other: &&str| other.get(1..) != feature.get(1..);
            if !feature.is_empty() && merged.iter().all(is_new) {
                merged.push(feature);
            }
        }
        if !merged.is_empty() {
            merged.sort_unstable();
            symbol.set_string_attribute(TARGET_FEATURES, &merged.join(","));
        }
    }
}

/// How numbers too small for the format are treated, as a result and as an operand
/// (`llvm/ADT/FloatingPointMode.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DenormalMode<'a> {
    output: &'a str,
    input: &'a str,
}

impl<'a> DenormalMode<'a> {
    /// That of functions which do not say.
    const IEEE: Self = Self {
        output: "ieee",
        input: "ieee",
    };

    /// Reads `output,input`, or one word for both.
    fn parse(text: &'a str) -> Self {
        let (output, input) = text.split_once(',').unwrap_or((text, text));
        Self { output, input }
    }

    /// `dynamic` replaced by what `caller` has.
    fn or_for_dynamic(self, caller: Self) -> Self {
        let pick = |own, caller| if own == "dynamic" { caller } else { own };
        Self {
            output: pick(self.output, caller.output),
            input: pick(self.input, caller.input),
        }
    }

    fn text(self) -> String {
        format!("{},{}", self.output, self.input)
    }
}

fn mode(attribute: Option<&String>) -> Option<DenormalMode<'_>> {
    attribute.map(|text| DenormalMode::parse(text))
}

/// One of the modes of [`DENORMAL_ENVIRONMENT`]: as whoever calls has it.
const DYNAMIC: u64 = 3;

/// How a function treats such numbers, if it says so by [`DENORMAL_ENVIRONMENT`]; 0 as IEEE 754 does.
fn denormal_environment(function: FunctionValue<'_>) -> u64 {
    let kind = Attribute::get_named_enum_kind_id(DENORMAL_ENVIRONMENT);
    let attribute = function.get_enum_attribute(AttributeLoc::Function, kind);
    attribute
        .filter(|_| kind != 0)
        .map_or(0, Attribute::get_enum_value)
}

fn has(function: Symbol<'_>, key: &str) -> bool {
    function.string_attribute(key).is_some()
}

/// The value of an attribute that all the functions have alike.
fn common(functions: &[Symbol<'_>], key: &str) -> Option<String> {
    alike(functions.iter().map(|function| function.string_attribute(key))).flatten()
}

/// The value that all of these are.
fn alike<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

fn has_flag(function: Symbol<'_>, name: &str) -> bool {
    let kind = Attribute::get_named_enum_kind_id(name);
    function.as_function().is_some_and(|function| {
        function
            .get_enum_attribute(AttributeLoc::Function, kind)
            .is_some()
    })
}

fn add_flag(function: FunctionValue<'_>, name: &str) {
    let kind = Attribute::get_named_enum_kind_id(name);
    let attribute = function.get_type().get_context().create_enum_attribute(kind, 0);
    function.add_attribute(AttributeLoc::Function, attribute);
}
