//! Linking objects into the running process with ORC and JITLink.
//!
//! What is linked are objects, so a session is an ORC session with an object layer. LLJIT would add layers
//! that compile IR: starting it takes as long as all else that a first link does (`docs/dev/jit-runtime.md`).

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::*;

/// What comes before a symbol's name in an ELF object: nothing.
const NO_PREFIX: c_char = 0;

unsafe extern "C" {
    fn offloom_ir_orc_start_session(
        session: *mut LLVMOrcExecutionSessionRef,
        layer: *mut LLVMOrcObjectLayerRef,
    ) -> LLVMErrorRef;
    fn offloom_ir_orc_link_against(user: LLVMOrcJITDylibRef, used: LLVMOrcJITDylibRef);
    fn offloom_ir_orc_remove_dylib(
        session: LLVMOrcExecutionSessionRef,
        dylib: LLVMOrcJITDylibRef,
    ) -> LLVMErrorRef;
}

/// An error of ORC or JITLink, in LLVM's words.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct OrcError(String);

/// An ORC session for objects of this process's own architecture, which debuggers see: each linked object is
/// registered by GDB's interface for JIT compilers, with what it holds of debug information. Dropping it is a
/// leak, on purpose: linked code may be running until the process ends.
pub struct Session {
    session: LLVMOrcExecutionSessionRef,
    layer: LLVMOrcObjectLayerRef,
    reported: &'static Reported,
}

/// What ORC reported while it worked: a lookup that fails only says which symbols are missing because of
/// that. Not kept by thread, since kernels are launched by threads that are ending, too.
type Reported = Mutex<Vec<String>>;

// SAFETY: LLVM's execution session locks itself; its object layer may be used from several threads.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

/// A set of linked objects and absolute symbols that see each other: one per copy of a device image, for what
/// its variants share with it, and one per variant.
pub struct Dylib<'s> {
    session: &'s Session,
    dylib: LLVMOrcJITDylibRef,
}

// SAFETY: a JITDylib is guarded by its session's lock and lives as long as the session, which is never
// destroyed.
unsafe impl Send for Dylib<'_> {}
// SAFETY: as above.
unsafe impl Sync for Dylib<'_> {}

impl Session {
    /// Starts a session.
    ///
    /// # Errors
    /// When the process's symbols cannot be searched.
    pub fn start() -> Result<Self, OrcError> {
        let (mut session, mut layer) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: on success both handles are written.
        unsafe { check(offloom_ir_orc_start_session(&raw mut session, &raw mut layer))? };
        let reported: &'static Reported = Box::leak(Box::default());
        let context = (&raw const *reported).cast_mut().cast::<c_void>();
        // SAFETY: the session is live; the reporter and its context live as long as the program.
        unsafe { LLVMOrcExecutionSessionSetErrorReporter(session, report_error, context) };
        Ok(Self {
            session,
            layer,
            reported,
        })
    }

    /// Makes an empty dylib. What its objects need and it does not define is looked up in the process: C and
    /// C++ library functions that only the code generator knows of.
    ///
    /// # Errors
    /// When the process's symbols cannot be searched.
    pub fn create_dylib(&self, name: &str) -> Result<Dylib<'_>, OrcError> {
        let name = c_string(name)?;
        let mut generator = ptr::null_mut();
        // SAFETY: the session is live, the name is copied, and the dylib takes the generator. A null filter
        // allows every symbol.
        let dylib = unsafe {
            check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &raw mut generator,
                NO_PREFIX,
                None,
                ptr::null_mut(),
            ))?;
            let dylib = LLVMOrcExecutionSessionCreateBareJITDylib(self.session, name.as_ptr());
            LLVMOrcJITDylibAddGenerator(dylib, generator);
            dylib
        };
        Ok(Dylib { session: self, dylib })
    }

    /// Makes an empty dylib, whose objects find in `base` what it does not define.
    ///
    /// # Errors
    /// When the name contains a NUL.
    pub fn create_dylib_over(&self, name: &str, base: &Dylib<'_>) -> Result<Dylib<'_>, OrcError> {
        let name = c_string(name)?;
        // SAFETY: the session and the base are live, the name is copied.
        let dylib = unsafe {
            let dylib = LLVMOrcExecutionSessionCreateBareJITDylib(self.session, name.as_ptr());
            offloom_ir_orc_link_against(dylib, base.dylib);
            dylib
        };
        Ok(Dylib { session: self, dylib })
    }

    fn intern(&self, name: &str) -> Result<LLVMOrcSymbolStringPoolEntryRef, OrcError> {
        let name = c_string(name)?;
        // SAFETY: the session is live; the name is copied. The caller gets one reference to the entry.
        Ok(unsafe { LLVMOrcExecutionSessionIntern(self.session, name.as_ptr()) })
    }
}

impl Dylib<'_> {
    /// Defines symbols by their addresses.
    ///
    /// # Errors
    /// When one of them is defined already.
    pub fn define_absolute<'a>(
        &self,
        symbols: impl IntoIterator<Item = (&'a str, *const c_void)>,
    ) -> Result<(), OrcError> {
        const EXPORTED: u8 = LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8;
        let mut pairs = Vec::new();
        for (name, address) in symbols {
            pairs.push(LLVMOrcCSymbolMapPair {
                Name: self.session.intern(name)?,
                Sym: LLVMJITEvaluatedSymbol {
                    Address: address as u64,
                    Flags: LLVMJITSymbolFlags {
                        GenericFlags: EXPORTED,
                        TargetFlags: 0,
                    },
                },
            });
        }
        // SAFETY: the pairs are live during the call, which takes the references to their names. The dylib
        // takes the unit unless defining fails, in which case it is given back here.
        unsafe {
            let unit = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
            let result = check(LLVMOrcJITDylibDefine(self.dylib, unit));
            if result.is_err() {
                LLVMOrcDisposeMaterializationUnit(unit);
            }
            result
        }
    }

    /// Adds a relocatable object, of which a copy is kept until it is linked.
    ///
    /// # Errors
    /// When it is not an object for this machine, or defines what is defined already.
    pub fn add_object(&self, object: &[u8], name: &str) -> Result<(), OrcError> {
        let name = c_string(name)?;
        // SAFETY: the range is live and copied; the layer takes the buffer whether or not it succeeds.
        unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                object.as_ptr().cast(),
                object.len(),
                name.as_ptr(),
            );
            check(LLVMOrcObjectLayerAddObjectFile(
                self.session.layer,
                self.dylib,
                buffer,
            ))
        }
    }

    /// Frees the dylib and the memory of what is linked in it.
    ///
    /// # Safety
    /// No thread runs its code, or ever will.
    ///
    /// # Errors
    /// When memory cannot be given back.
    pub unsafe fn remove(self) -> Result<(), OrcError> {
        // SAFETY: both are live; the caller promises that the code is not in use.
        unsafe { check(offloom_ir_orc_remove_dylib(self.session.session, self.dylib)) }
    }

    /// Links what defines `symbol`, if that is not done yet, and returns its address.
    ///
    /// # Errors
    /// When it is not defined, or when something it needs is not.
    pub fn look_up(&self, symbol: &str) -> Result<*const c_void, OrcError> {
        let mut order = LLVMOrcCJITDylibSearchOrderElement {
            JD: self.dylib,
            JDLookupFlags: LLVMOrcJITDylibLookupFlags::LLVMOrcJITDylibLookupFlagsMatchAllSymbols,
        };
        let mut wanted = LLVMOrcCLookupSetElement {
            Name: self.session.intern(symbol)?,
            LookupFlags: LLVMOrcSymbolLookupFlags::LLVMOrcSymbolLookupFlagsRequiredSymbol,
        };
        let (sender, receiver) = std::sync::mpsc::channel::<Result<u64, OrcError>>();
        let sender = Box::into_raw(Box::new(sender)).cast::<c_void>();
        // SAFETY: search order and set are live during the call, which takes the reference to the name; the
        // handler is called exactly once and frees the sender.
        unsafe {
            LLVMOrcExecutionSessionLookup(
                self.session.session,
                LLVMOrcLookupKind::LLVMOrcLookupKindStatic,
                &raw mut order,
                1,
                &raw mut wanted,
                1,
                on_lookup,
                sender,
            );
        }
        let result = receiver.recv();
        let mut reported = self
            .session
            .reported
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut messages = std::mem::take(&mut *reported);
        let address = result.map_err(|_| OrcError("the lookup was given up".to_owned()))?;
        let address = address.map_err(|OrcError(text)| {
            messages.push(text);
            OrcError(messages.join("; "))
        })?;
        Ok(address as *const c_void)
    }
}

type LookupSender = std::sync::mpsc::Sender<Result<u64, OrcError>>;

extern "C" fn on_lookup(
    error: LLVMErrorRef,
    result: LLVMOrcCSymbolMapPairs,
    count: usize,
    sender: *mut c_void,
) {
    // SAFETY: `sender` comes from `look_up`, which hands it over once; LLVM gives an error or `count` live
    // pairs.
    unsafe {
        let sender = Box::from_raw(sender.cast::<LookupSender>());
        let answer = check(error).and_then(|()| {
            if result.is_null() || count == 0 {
                return Err(OrcError("the lookup found nothing".to_owned()));
            }
            Ok((*result).Sym.Address)
        });
        // The receiver waits for this; it cannot be gone.
        let _ = sender.send(answer);
    }
}

extern "C" fn report_error(context: *mut c_void, error: LLVMErrorRef) {
    // SAFETY: the reporter owns the error it is given; the context is what was set with the reporter.
    let (result, reported) = unsafe { (check(error), &*context.cast::<Reported>()) };
    if let Err(OrcError(text)) = result {
        reported.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

/// Takes the error, if there is one, and turns it into text.
///
/// # Safety
/// `error` is null or an error that the caller owns.
unsafe fn check(error: LLVMErrorRef) -> Result<(), OrcError> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the error is owned and consumed by asking for its message, which is copied and then freed.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(OrcError(text))
    }
}

fn c_string(text: &str) -> Result<CString, OrcError> {
    CString::new(text).map_err(|_| OrcError(format!("the name {text:?} contains a NUL")))
}
