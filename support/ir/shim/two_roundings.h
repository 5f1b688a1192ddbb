// Operations that code generation may round otherwise than LLVM folds them, for passes.

#pragma once

#include "llvm/IR/Instructions.h"

namespace offloom {

/// Whether code generation for some processor rounds the operation's result twice, or makes zero of a very
/// small one, where LLVM folds it to the number that is rounded once.
bool mayRoundOtherwise(const llvm::Instruction &I);

} // namespace offloom
