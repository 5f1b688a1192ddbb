// What LLVM knows of a processor, for passes.

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/MCSubtargetInfo.h"

#include <memory>

namespace offloom {

/// The processor with these features; null if this LLVM has no such target. LLVM prints what it thinks of a
/// processor or a feature that it does not know.
std::unique_ptr<llvm::MCSubtargetInfo> subtarget(llvm::StringRef Triple, llvm::StringRef Processor,
                                                 llvm::StringRef Features = "");

/// The processor that a function is compiled for. It has features by its name too, and by those that it is
/// given: Clang writes out all of them, other compilers need not. Null if this process has no such target.
std::unique_ptr<llvm::MCSubtargetInfo> processorOf(const llvm::Function &F);

} // namespace offloom
