// Parallel regions in device code: the calls that start them, and what could happen in them.

#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace offloom {

/// The function that is called by its name, or null.
inline llvm::Function *calleeOf(const llvm::Instruction &I) {
  auto *Call = llvm::dyn_cast<llvm::CallInst>(&I);
  return Call ? Call->getCalledFunction() : nullptr;
}

/// LLVM 22's has one argument more: whether `num_threads` is strict.
inline bool isStartOfRegion(llvm::StringRef Name) { return Name == "__kmpc_parallel_51" || Name == "__kmpc_parallel_60"; }

/// The place of the region's code among the arguments of the call that starts it.
constexpr unsigned RegionArgument = 5;

/// A function's calls of the device runtime's functions of one kind.
inline llvm::SmallVector<llvm::CallInst *, 1> callsOf(llvm::Function &F, bool (*Is)(llvm::StringRef)) {
  llvm::SmallVector<llvm::CallInst *, 1> Found;
  for (llvm::Instruction &I : llvm::instructions(F))
    if (llvm::Function *Callee = calleeOf(I); Callee && Is(Callee->getName()))
      Found.push_back(llvm::cast<llvm::CallInst>(&I));
  return Found;
}

/// The functions with code that a function names, and so may run, itself among them.
inline llvm::SmallSetVector<llvm::Function *, 16> functionsOf(llvm::Function &Start) {
  llvm::SmallSetVector<llvm::Function *, 16> Functions;
  Functions.insert(&Start);
  for (unsigned Next = 0; Next != Functions.size(); ++Next)
    for (llvm::Instruction &I : llvm::instructions(*Functions[Next]))
      for (llvm::Value *Operand : I.operands())
        if (auto *F = llvm::dyn_cast<llvm::Function>(Operand->stripPointerCastsAndAliases()); F && !F->isDeclaration())
          Functions.insert(F);
  return Functions;
}

/// Whether a thread may have a state of its own after it (ICVs other than the team's, OpenMP section 2.4):
/// tasks, regions within regions, settings. The device runtime then has each thread of the team run all
/// iterations of the regions that follow, for the rest of the kernel.
inline bool mayMakeThreadState(llvm::StringRef Name) {
  static constexpr llvm::StringLiteral Harmless[] = {"__kmpc_target_",
                                                     "__kmpc_distribute_static_",
                                                     "__kmpc_global_thread_num",
                                                     "__kmpc_barrier",
                                                     "__kmpc_critical",
                                                     "__kmpc_end_critical",
                                                     "__kmpc_flush",
                                                     "__kmpc_for_static_",
                                                     "__kmpc_get_",
                                                     "__kmpc_is_",
                                                     "__kmpc_nvptx_",
                                                     "__kmpc_gpu_",
                                                     "__kmpc_reduction_",
                                                     "__kmpc_shuffle_",
                                                     "__kmpc_warp_active_",
                                                     "__kmpc_parallel_level",
                                                     "__kmpc_alloc_shared",
                                                     "__kmpc_free_shared",
                                                     "__kmpc_dispatch_",
                                                     "__kmpc_syncwarp",
                                                     "__kmpc_masked",
                                                     "__kmpc_end_masked",
                                                     "__kmpc_master",
                                                     "__kmpc_end_master",
                                                     "__kmpc_single",
                                                     "__kmpc_end_single"};
  if (Name.starts_with("__kmpc_"))
    return !isStartOfRegion(Name) && llvm::none_of(Harmless, [&](llvm::StringRef Start) { return Name.starts_with(Start); });
  return Name.starts_with("omp_set_") && Name != "omp_set_lock" && Name != "omp_set_nest_lock";
}

} // namespace offloom
