// Memory for linked objects, in which the code of many lies side by side.

#ifndef OFFLOOM_IR_CODE_MEMORY_H
#define OFFLOOM_IR_CODE_MEMORY_H

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include <memory>

namespace offloom {

/// Puts the code of objects that have nothing to write to into common pages, and what they only read apart
/// from it, into others. For all other objects, and where the system does not allow it, `Other` has pages for
/// each object, as JITLink's own memory manager has.
std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> packCode(std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> Other);

} // namespace offloom

#endif
