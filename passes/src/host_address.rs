//! Addresses that offload entries hold, some of which the module has only once they are asked for.

use crate::error::PassError;
use offloom_abi::kernel_name::region_id_name;
use offloom_abi::names::LINK_REFERENCE_SUFFIX;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::types::BasicTypeEnum;
use offloom_ir::inkwell::values::GlobalValue;
use offloom_ir::inkwell::{AddressSpace, GlobalVisibility};
use offloom_ir::module::pointer_size;
use offloom_ir::symbol::{Symbol, find_variable};

/// The address that an entry holds.
#[derive(Debug)]
pub(crate) enum Address<'ctx> {
    /// That of a symbol.
    Symbol(Symbol<'ctx>),
    /// That of the region id of a kernel; the visibility is that of the function which it stands for.
    RegionId(String, GlobalVisibility),
    /// That of the pointer to a `link` variable.
    LinkReference(Symbol<'ctx>),
}

impl<'ctx> Address<'ctx> {
    /// The symbol with that address, added to the module where it is missing.
    pub(crate) fn resolve(&self, module: &Module<'ctx>) -> Result<Symbol<'ctx>, PassError> {
        match self {
            Self::Symbol(symbol) => Ok(*symbol),
            Self::RegionId(kernel, visibility) => define_region_id(module, kernel, *visibility),
            Self::LinkReference(variable) => define_link_reference(module, *variable),
        }
    }
}

/// `@.<kernel>.region_id = weak constant i8 0`. A declaration, which launching code needs, becomes the
/// definition.
fn define_region_id<'ctx>(
    module: &Module<'ctx>,
    kernel: &str,
    visibility: GlobalVisibility,
) -> Result<Symbol<'ctx>, PassError> {
    let name = region_id_name(kernel);
    let i8_type = module.get_context().i8_type();
    let global = match module.get_global(&name) {
        None => add_global(module, i8_type.into(), &name, "region id of a kernel")?,
        Some(global) if Symbol::from(global).variable_type() == Some(i8_type.into()) => global,
        Some(_) => return Err(PassError::RegionIdTaken { symbol: name }),
    };
    if global.is_declaration() {
        global.set_initializer(&i8_type.const_zero());
        global.set_constant(true);
        global.set_linkage(Linkage::WeakAny);
        restrict(global, visibility);
    }
    Ok(global.into())
}

/// Gives a symbol the visibility of the one that it stands for: where that is another one in each shared
/// library, so is this.
fn restrict(global: GlobalValue<'_>, visibility: GlobalVisibility) {
    if visibility != GlobalVisibility::Default {
        global.set_visibility(visibility);
    }
}

/// `@<variable>_decl_tgt_ref_ptr = weak global ptr @<variable>`.
fn define_link_reference<'ctx>(
    module: &Module<'ctx>,
    variable: Symbol<'ctx>,
) -> Result<Symbol<'ctx>, PassError> {
    let global = link_reference(module, &variable.name())?;
    if !global.is_declaration() {
        return Ok(global.into());
    }
    global.set_initializer(&variable.as_generic_pointer());
    global.set_linkage(Linkage::WeakAny);
    restrict(global, variable.visibility());
    global.set_alignment(pointer_size(module));
    Ok(global.into())
}

/// The pointer through which device code reaches a `link` variable. Declared, where the module has it not;
/// code that maps the variable declares it, too.
pub(crate) fn link_reference<'ctx>(
    module: &Module<'ctx>,
    variable: &str,
) -> Result<GlobalValue<'ctx>, PassError> {
    let expected = "pointer to a `link` variable";
    let name = format!("{variable}{LINK_REFERENCE_SUFFIX}");
    let Some(existing) = find_variable(module, &name) else {
        let pointer_type = module.get_context().ptr_type(AddressSpace::default());
        return add_global(module, pointer_type.into(), &name, expected);
    };
    let is_pointer = matches!(existing.variable_type(), Some(BasicTypeEnum::PointerType(_)));
    existing
        .as_variable()
        .filter(|_| is_pointer)
        .ok_or(PassError::NameTaken {
            symbol: name,
            expected,
        })
}

/// Adds a variable under exactly this name, in address space 0 on every target.
fn add_global<'ctx>(
    module: &Module<'ctx>,
    value_type: BasicTypeEnum<'ctx>,
    name: &str,
    expected: &'static str,
) -> Result<GlobalValue<'ctx>, PassError> {
    let global = module.add_global(value_type, Some(AddressSpace::default()), name);
    // LLVM gives it another name where a function or an alias has this one.
    if global.get_name().to_bytes() == name.as_bytes() {
        return Ok(global);
    }
    Err(PassError::NameTaken {
        symbol: name.to_owned(),
        expected,
    })
}
