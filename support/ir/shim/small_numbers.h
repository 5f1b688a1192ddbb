// What becomes of numbers that are too small for their type's exponents (denormal numbers), for passes.

#pragma once

#include "llvm/ADT/FloatingPointMode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Type.h"

namespace offloom {

/// Whether they may be zeros in the function: LLVM folds some operations so then, whatever the processor
/// does.
inline bool mayTakeForZeros(const llvm::Function &F) {
  // Formats come from types: what `APFloat` hands out is a variable of LLVM 22, without which the plugin
  // could not even be loaded to say that it is for another release.
  llvm::Type *Numbers[] = {llvm::Type::getFloatTy(F.getContext()), llvm::Type::getDoubleTy(F.getContext())};
  return llvm::any_of(Numbers, [&](const llvm::Type *Number) {
    return F.getDenormalMode(Number->getFltSemantics()) != llvm::DenormalMode::getIEEE();
  });
}

} // namespace offloom
