// Branches, which are instructions of two kinds since LLVM 23.

#pragma once

#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Instructions.h"

namespace offloom {

/// The branch with a condition that ends the block; or null.
inline llvm::Instruction *conditionalBranch(llvm::BasicBlock &Block) {
#if LLVM_VERSION_MAJOR >= 23
  return llvm::dyn_cast_or_null<llvm::CondBrInst>(Block.getTerminator());
#else
  auto *Branch = llvm::dyn_cast_or_null<llvm::BranchInst>(Block.getTerminator());
  return Branch && Branch->isConditional() ? Branch : nullptr;
#endif
}

} // namespace offloom
