// Accesses through generic addresses, in the place of those that LLVM casts for each access by itself.

#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace offloom {

/// Has loads and stores through a cast address use the address that is cast. Returns how many.
inline size_t accessUncast(llvm::AddrSpaceCastInst &Cast) {
  size_t Count = 0;
  for (llvm::Use &U : llvm::make_early_inc_range(Cast.uses())) {
    const bool IsAddress =
        llvm::isa<llvm::LoadInst>(U.getUser()) ||
        (llvm::isa<llvm::StoreInst>(U.getUser()) && U.getOperandNo() == llvm::StoreInst::getPointerOperandIndex());
    if (IsAddress) {
      U.set(Cast.getPointerOperand());
      ++Count;
    }
  }
  return Count;
}

/// Has a function access its variables through generic addresses: since LLVM 22 NVIDIA's are cast for each
/// access by itself. Later passes find the address space again.
inline void accessVariablesUncast(llvm::Function &F) {
  for (llvm::Instruction &I : llvm::instructions(F))
    if (auto *Cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(&I);
        Cast && Cast->getSrcAddressSpace() == 0 &&
        llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(Cast->getPointerOperand())))
      accessUncast(*Cast);
}

} // namespace offloom
