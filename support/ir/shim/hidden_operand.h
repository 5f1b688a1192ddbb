// Operands that nobody is to see through until code is generated, for passes.

#pragma once

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

namespace offloom {

/// Assembly that stands before an operand of an approximation until code is generated: opaque to LLVM, and
/// without effect.
constexpr char HiddenOperand[] = "// offloom: an operand that nobody is to see through";

/// Whether the value is a call of that.
inline bool isHiddenOperand(const llvm::Value *V) {
  auto *Call = llvm::dyn_cast<llvm::CallInst>(V);
  auto *Assembly = Call ? llvm::dyn_cast<llvm::InlineAsm>(Call->getCalledOperand()) : nullptr;
  return Assembly && llvm::StringRef(Assembly->getAsmString()).starts_with(HiddenOperand);
}

} // namespace offloom
