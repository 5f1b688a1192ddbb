// Conversions whose result code generation chooses, for passes.

#pragma once

#include "llvm/IR/Instructions.h"

namespace offloom {

/// Whether it makes an integer of fewer than 32 bits of a number. What becomes of a number that does not fit
/// is up to code generation: of one number the low bits of the integer of 32 bits, of a vector the nearest
/// integer that fits or these bits, as the processor and the vector's length have it; and of a constant
/// anything.
inline bool isNarrowConversion(const llvm::Instruction &I) {
  return (llvm::isa<llvm::FPToUIInst>(I) || llvm::isa<llvm::FPToSIInst>(I)) && I.getType()->getScalarSizeInBits() < 32;
}

} // namespace offloom
