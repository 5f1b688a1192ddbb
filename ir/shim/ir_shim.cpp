// What the LLVM C API lacks, as C functions with plain arguments. One section per Rust module that uses them.
//
// Rules: no exception leaves this file (it is compiled without them), no C++ type appears in a signature, and a
// handle passed in stays the caller's unless the function's comment says otherwise.

#include "llvm-c/Core.h"
#include "llvm/IR/Module.h"

using namespace llvm;

extern "C" {

// ---- module.rs ----

/// Removes the named metadata `name` from the module if it is there.
void offloom_ir_erase_named_metadata(LLVMModuleRef M, const char *name, size_t length) {
  if (NamedMDNode *N = unwrap(M)->getNamedMetadata(StringRef(name, length)))
    unwrap(M)->eraseNamedMetadata(N);
}

} // extern "C"
