//! Carries what is known of arguments from a kernel into the bodies of its regions, down to the innermost.
//!
//! A region's body is a function of its own, called by the runtime with what the region captured. What is the
//! same at every way into such a function holds for its parameter; what follows from it holds at the calls
//! within, and so on until nothing new follows. The same goes for ordinary functions. A function with ways in
//! that are not known is left alone.

use offloom_ir::call_sites::{CallSite, CallSites, all_call_sites};
use offloom_ir::function_arguments::{
    as_number, constant_as, fold_constants, is_copied, known_alignment, raise_alignment, replace_argument,
};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue};

use crate::captured::{align_captured_loads, fold_captured_loads};

/// The highest alignment there is any use in carrying: the highest class of a descriptor.
const HIGHEST_ALIGNMENT: u64 = 128;

/// Carries constants and alignments as far as they go.
pub fn propagate(module: &Module<'_>) {
    loop {
        fold_constants(module);
        if !(carry_constants(module) | fold_captured_loads(module)) {
            break;
        }
    }
    while carry_alignments(module) | align_captured_loads(module) {}
}

/// Replaces parameters that always get the same number. Whether there were any.
fn carry_constants(module: &Module<'_>) -> bool {
    let mut changed = false;
    for (function, index, sites) in open_parameters(module) {
        if let Some(constant) = same_number(module, function, index, &sites) {
            changed |= replace_argument(function, index, constant);
        }
    }
    changed
}

/// Raises the declared alignment of parameters to what all ways in have. Whether there were any.
fn carry_alignments(module: &Module<'_>) -> bool {
    let mut changed = false;
    for (function, index, sites) in open_parameters(module) {
        if !function
            .get_nth_param(index)
            .is_some_and(|parameter| matches!(parameter, BasicValueEnum::PointerValue(_)))
        {
            continue;
        }
        let alignments = sites.known.iter().map(|site| alignment(site, index));
        let Some(lowest) = alignments.min() else {
            continue;
        };
        if lowest > 1 {
            changed |= raise_alignment(module, function, index, lowest);
        }
    }
    changed
}

/// The parameters of functions all of whose ways in are known.
fn open_parameters<'ctx>(
    module: &Module<'ctx>,
) -> impl Iterator<Item = (FunctionValue<'ctx>, u32, CallSites<'ctx>)> {
    all_call_sites(module)
        .into_iter()
        .filter(|(_, sites)| sites.complete)
        .flat_map(|(function, sites)| {
            (0..function.count_params())
                .filter(move |&index| !is_copied(function, index))
                .map(move |index| (function, index, sites.clone()))
        })
}

fn same_number<'ctx>(
    module: &Module<'ctx>,
    function: FunctionValue<'ctx>,
    index: u32,
    sites: &CallSites<'ctx>,
) -> Option<BasicValueEnum<'ctx>> {
    let parameter = function.get_nth_param(index)?;
    let mut same = None;
    for site in &sites.known {
        let value = site.arguments[index as usize]?.value;
        if value == parameter {
            // A recursive call that hands on what it got.
            continue;
        }
        let value = constant_as(module, as_number(value)?, parameter.get_type())?;
        if same.is_some_and(|same| same != value) {
            return None;
        }
        same = Some(value);
    }
    same
}

fn alignment(site: &CallSite<'_>, index: u32) -> u64 {
    match site.arguments[index as usize].map(|argument| argument.value) {
        Some(BasicValueEnum::PointerValue(pointer)) => {
            known_alignment(pointer, site.call).min(HIGHEST_ALIGNMENT)
        }
        _ => 1,
    }
}
