// What ORC's C API lacks, as C functions with plain arguments. Rules as in ir_shim.cpp. A file of its own: only what links kernels
// in memory needs ORC's symbols.

#include "llvm-c/Error.h"
#include "llvm-c/Orc.h"
#include "llvm/ExecutionEngine/Orc/Core.h"

using namespace llvm;

extern "C" {

// ---- orc.rs ----

/// Has what `user` does not define looked up in `used`.
void offloom_ir_orc_link_against(LLVMOrcJITDylibRef user, LLVMOrcJITDylibRef used) {
  reinterpret_cast<orc::JITDylib *>(user)->addToLinkOrder(*reinterpret_cast<orc::JITDylib *>(used));
}

/// Frees a dylib, and the memory of what is linked in it.
LLVMErrorRef offloom_ir_orc_remove_dylib(LLVMOrcExecutionSessionRef session, LLVMOrcJITDylibRef dylib) {
  return wrap(reinterpret_cast<orc::ExecutionSession *>(session)->removeJITDylib(*reinterpret_cast<orc::JITDylib *>(dylib)));
}

} // extern "C"
