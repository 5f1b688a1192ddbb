// Operations that code generation may round twice, for passes.

#pragma once

#include "llvm/IR/Instructions.h"

namespace offloom {

/// Whether code generation for some processor rounds the operation's result twice, where LLVM folds it to the
/// number that is rounded once.
bool mayRoundTwice(const llvm::Instruction &I);

} // namespace offloom
