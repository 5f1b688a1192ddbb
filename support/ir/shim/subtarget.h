// What LLVM knows of a processor, for passes.

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCSubtargetInfo.h"

#include <memory>

namespace offloom {

/// The processor with these features; null if this LLVM has no such target. LLVM prints what it thinks of a
/// processor or a feature that it does not know.
std::unique_ptr<llvm::MCSubtargetInfo> subtarget(llvm::StringRef Triple, llvm::StringRef Processor,
                                                 llvm::StringRef Features = "");

} // namespace offloom
