// Which of NVIDIA's processors a function is for, for passes.

#pragma once

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Function.h"

namespace offloom {

/// The number of the processor that a function for NVIDIA's GPUs is compiled for: 90 of `sm_90a`. 0 where it
/// names none: the oldest.
inline unsigned nvidiaProcessor(const llvm::Function &F) {
  llvm::StringRef Name = F.getFnAttribute("target-cpu").getValueAsString();
  unsigned Number = 0;
  if (Name.consume_front("sm_"))
    Name.take_while(llvm::isDigit).getAsInteger(10, Number);
  return Number;
}

} // namespace offloom
