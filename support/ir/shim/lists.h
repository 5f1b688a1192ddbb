// LLVM's lists of symbols with appending linkage, for the shims.

#pragma once

#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace offloom {

/// Leaves only some elements in a list whose value is `Array`; a list without any goes.
inline void setElements(llvm::GlobalVariable &List, llvm::ConstantArray &Array, llvm::ArrayRef<llvm::Constant *> Elements) {
  if (Elements.size() == Array.getNumOperands())
    return;
  if (!Elements.empty()) {
    auto *Type = llvm::ArrayType::get(Array.getType()->getElementType(), Elements.size());
    auto *New = new llvm::GlobalVariable(*List.getParent(), Type, false, llvm::GlobalValue::AppendingLinkage,
                                         llvm::ConstantArray::get(Type, Elements));
    New->setSection(List.getSection());
    New->takeName(&List);
  }
  List.eraseFromParent();
}

} // namespace offloom
