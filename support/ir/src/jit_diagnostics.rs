//! Keeps LLVM's diagnostics as values: what a context reports as an error is collected instead of ending the
//! process.
//!
//! Without a handler of ours, an error diagnostic (from linking modules or from the code generator, for
//! instance) makes LLVM print it and call `exit(1)`.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMDiagnosticInfoRef};

/// Collects the errors of one context from the moment it is installed until it is dropped. Warnings and
/// remarks are dropped.
pub struct CollectedErrors<'ctx> {
    messages: Box<RefCell<Vec<String>>>,
    context: LLVMContextRef,
    lifetime: PhantomData<&'ctx Context>,
}

impl<'ctx> CollectedErrors<'ctx> {
    /// Installs the collector in place of the context's diagnostic handler.
    pub fn install(context: &'ctx Context) -> Self {
        let messages = Box::new(RefCell::new(Vec::new()));
        let collector = Self {
            messages,
            context: context.as_ctx_ref(),
            lifetime: PhantomData,
        };
        collector.set_handler();
        collector
    }

    /// Makes the collector the handler of its context.
    fn set_handler(&self) {
        let messages = (&raw const *self.messages).cast_mut().cast::<c_void>();
        // SAFETY: the context outlives `self`; the box stays where it is and outlives the handler, which is
        // removed on drop.
        unsafe { llvm::LLVMContextSetDiagnosticHandler(self.context, Some(collect), messages) }
    }

    /// The errors so far, joined to one message, or nothing; the collector is empty afterwards.
    pub fn take(&self) -> Option<String> {
        let messages = self.messages.take();
        (!messages.is_empty()).then(|| messages.join("; "))
    }
}

impl Drop for CollectedErrors<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is live; it goes back to having no handler.
        unsafe { llvm::LLVMContextSetDiagnosticHandler(self.context, None, std::ptr::null_mut()) }
    }
}

extern "C" fn collect(diagnostic: LLVMDiagnosticInfoRef, messages: *mut c_void) {
    // SAFETY: LLVM hands over a live diagnostic and the pointer that was installed with this handler. A
    // context is used by one thread at a time. The description is copied, then given back.
    unsafe {
        if !matches!(
            llvm::LLVMGetDiagInfoSeverity(diagnostic),
            LLVMDiagnosticSeverity::LLVMDSError
        ) {
            return;
        }
        let description = llvm::LLVMGetDiagInfoDescription(diagnostic);
        let text = CStr::from_ptr(description).to_string_lossy().into_owned();
        llvm::LLVMDisposeMessage(description);
        let messages = &*messages.cast::<RefCell<Vec<String>>>();
        messages.borrow_mut().push(text);
    }
}
