// Functions that do nothing but start regions, as a C function with plain arguments. Rules: those of
// shim/ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include <utility>

using namespace llvm;

namespace {

/// Whether control can come to a block again without going through one of `Excluded`.
bool hasCycle(const Function &F, const SmallPtrSetImpl<const BasicBlock *> &Excluded) {
  SmallPtrSet<const BasicBlock *, 16> Finished, OnPath;
  SmallVector<std::pair<const BasicBlock *, const_succ_iterator>, 16> Path;
  const auto Enter = [&](const BasicBlock *B) {
    OnPath.insert(B);
    Path.emplace_back(B, succ_begin(B));
  };
  for (const BasicBlock &Start : F) {
    if (Excluded.contains(&Start) || Finished.contains(&Start))
      continue;
    Enter(&Start);
    while (!Path.empty()) {
      auto &[Block, Next] = Path.back();
      if (Next == succ_end(Block)) {
        OnPath.erase(Block);
        Finished.insert(Block);
        Path.pop_back();
        continue;
      }
      const BasicBlock *Successor = *Next++;
      if (OnPath.contains(Successor))
        return true;
      if (!Excluded.contains(Successor) && !Finished.contains(Successor))
        Enter(Successor);
    }
  }
  return false;
}

/// Whether an instruction is one that starts a region on other threads.
bool startsRegion(const CallInst &Call) {
  const Function *Callee = Call.getCalledFunction();
  return Callee && is_contained({"__kmpc_fork_call", "__kmpc_fork_call_if", "__kmpc_fork_teams"}, Callee->getName());
}

/// Whether all that the function does is to start regions: nothing of it is in a loop that does not start one
/// each time round, it calls nothing but the OpenMP runtime, and computes nothing in floating point.
bool onlyStartsRegions(const Function &F) {
  SmallPtrSet<const BasicBlock *, 4> Starting;
  const auto IsPlain = [](const Type *T) { return !T->isFPOrFPVectorTy() && !T->isVectorTy(); };
  for (const Instruction &I : instructions(F)) {
    const bool AllPlain =
        IsPlain(I.getType()) && all_of(I.operand_values(), [&](const Value *V) { return IsPlain(V->getType()); });
    // What a region captures is passed as bits.
    if (!AllPlain && !isa<BitCastInst>(I))
      return false;
    if (!isa<CallBase>(I) || isa<IntrinsicInst>(I))
      continue;
    const auto *Call = dyn_cast<CallInst>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (!Callee || !Callee->getName().starts_with("__kmpc_"))
      return false;
    if (startsRegion(*Call))
      Starting.insert(I.getParent());
  }
  return !Starting.empty() && !hasCycle(F, Starting);
}

/// Whether a call names the function as what it calls: as an operand of the runtime's functions it is no more
/// than an address.
bool isCalled(const Function &F) {
  return any_of(F.uses(), [](const Use &U) {
    const auto *Call = dyn_cast<CallBase>(U.getUser());
    return Call && Call->isCallee(&U);
  });
}

} // namespace

extern "C" {

/// Has passes and code generation leave functions that only start regions as they are.
void offloom_ir_leave_region_starts(LLVMModuleRef module) {
  for (Function &F : *unwrap(module)) {
    if (F.isDeclaration() || F.hasOptSize() || isCalled(F) || !onlyStartsRegions(F))
      continue;
    F.removeFnAttr(Attribute::AlwaysInline);
    F.addFnAttr(Attribute::NoInline);
    F.addFnAttr(Attribute::OptimizeNone);
  }
}

} // extern "C"
