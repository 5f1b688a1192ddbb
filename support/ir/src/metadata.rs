//! Named metadata: lists of nodes with integers, strings and symbols, read and written as plain values.

use crate::symbol::Symbol;
use inkwell::llvm_sys::core::{
    LLVMAddNamedMetadataOperand, LLVMConstInt, LLVMConstIntGetZExtValue, LLVMGetIntTypeWidth,
    LLVMGetMDNodeNumOperands, LLVMGetMDNodeOperands, LLVMGetMDString, LLVMGetModuleContext,
    LLVMGetNamedMetadataNumOperands, LLVMGetNamedMetadataOperands, LLVMInt32TypeInContext,
    LLVMIsAConstantInt, LLVMIsAMDNode, LLVMMDNodeInContext2, LLVMMDStringInContext2, LLVMMetadataAsValue,
    LLVMTypeOf, LLVMValueAsMetadata,
};
use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMMetadataRef, LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use std::ffi::CString;

/// One operand of a metadata node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand<'ctx> {
    /// An integer that 32 bits can hold; written as `i32`.
    Integer(u32),
    /// A string. Bytes that are not UTF-8 are replaced when it is read.
    String(String),
    /// A symbol's address.
    Symbol(Symbol<'ctx>),
    /// Anything else: read, never written.
    Other,
}

/// The nodes of the named metadata `name`, in order; empty when the module has none.
pub fn nodes<'ctx>(module: &Module<'ctx>, name: &str) -> Vec<Vec<Operand<'ctx>>> {
    let Ok(name) = CString::new(name) else {
        return Vec::new();
    };
    // SAFETY: the module is live and the name ends with a NUL.
    let count = unsafe { LLVMGetNamedMetadataNumOperands(module.as_mut_ptr(), name.as_ptr()) };
    let mut nodes = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: as above; the array has room for as many nodes as there are.
    unsafe { LLVMGetNamedMetadataOperands(module.as_mut_ptr(), name.as_ptr(), nodes.as_mut_ptr()) };
    nodes.into_iter().map(operands).collect()
}

/// Appends a node to the named metadata `name`, which is made if the module has none.
pub fn append_node(module: &Module<'_>, name: &str, operands: &[Operand<'_>]) {
    let Ok(name) = CString::new(name) else { return };
    let raw_module: LLVMModuleRef = module.as_mut_ptr();
    // SAFETY: the module is live.
    let context = unsafe { LLVMGetModuleContext(raw_module) };
    let mut operands: Vec<_> = operands
        .iter()
        .map(|operand| operand.to_metadata(context))
        .collect();
    // SAFETY: the operands belong to the context and are passed with their number.
    let node = unsafe { LLVMMDNodeInContext2(context, operands.as_mut_ptr(), operands.len()) };
    // SAFETY: the node belongs to the context.
    let node = unsafe { LLVMMetadataAsValue(context, node) };
    // SAFETY: the module is live, the name ends with a NUL and the value holds a node.
    unsafe { LLVMAddNamedMetadataOperand(raw_module, name.as_ptr(), node) };
}

impl<'ctx> Operand<'ctx> {
    fn to_metadata(&self, context: LLVMContextRef) -> LLVMMetadataRef {
        match self {
            Self::Integer(value) => {
                // SAFETY: the context is live.
                let i32_type = unsafe { LLVMInt32TypeInContext(context) };
                // SAFETY: an integer type.
                let constant = unsafe { LLVMConstInt(i32_type, u64::from(*value), 0) };
                // SAFETY: a live constant.
                unsafe { LLVMValueAsMetadata(constant) }
            }
            // SAFETY: the text is passed with its length and copied.
            Self::String(text) => unsafe {
                LLVMMDStringInContext2(context, text.as_ptr().cast(), text.len())
            },
            // SAFETY: a live symbol.
            Self::Symbol(symbol) => unsafe { LLVMValueAsMetadata(symbol.as_value_ref()) },
            Self::Other => std::ptr::null_mut(),
        }
    }

    fn from_value(value: LLVMValueRef) -> Self {
        if value.is_null() {
            return Self::Other;
        }
        let mut length = 0;
        // SAFETY: a live value; the answer for one that is not a metadata string is null.
        let text = unsafe { LLVMGetMDString(value, &raw mut length) };
        if !text.is_null() {
            // SAFETY: LLVM returns the bytes with their number, and its context keeps them.
            let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length as usize) };
            return Self::String(String::from_utf8_lossy(bytes).into_owned());
        }
        // SAFETY: a live value.
        if !unsafe { LLVMIsAConstantInt(value) }.is_null() {
            // SAFETY: an integer constant.
            let integer_type = unsafe { LLVMTypeOf(value) };
            // SAFETY: an integer type.
            if unsafe { LLVMGetIntTypeWidth(integer_type) } <= 64 {
                // SAFETY: an integer constant of at most 64 bits.
                let wide = unsafe { LLVMConstIntGetZExtValue(value) };
                return u32::try_from(wide).map_or(Self::Other, Self::Integer);
            }
            return Self::Other;
        }
        Symbol::from_value(value).map_or(Self::Other, Self::Symbol)
    }
}

fn operands<'ctx>(node: LLVMValueRef) -> Vec<Operand<'ctx>> {
    // SAFETY: null or a live value.
    if node.is_null() || unsafe { LLVMIsAMDNode(node) }.is_null() {
        return Vec::new();
    }
    // SAFETY: a live node.
    let count = unsafe { LLVMGetMDNodeNumOperands(node) };
    let mut values = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: the array has room for as many operands as the node has.
    unsafe { LLVMGetMDNodeOperands(node, values.as_mut_ptr()) };
    values.into_iter().map(Operand::from_value).collect()
}
