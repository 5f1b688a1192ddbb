// Parallel regions and tasks that start others, as a C function with plain arguments. Rules: those of
// shim/ir_shim.cpp.

#include "regions.h"

#include "llvm-c/Core.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {

/// The place of a task's code among the arguments of the call that makes it.
constexpr unsigned TaskArgument = 5;

bool isStartOfTask(StringRef Name) { return Name == "__kmpc_omp_task_alloc"; }

/// Whether a function may start a region or make a task.
bool mayStart(Function &F) {
  return any_of(offloom::functionsOf(F), [](Function *G) {
    return !offloom::callsOf(*G, offloom::isStartOfRegion).empty() || !offloom::callsOf(*G, isStartOfTask).empty();
  });
}

} // namespace

extern "C" uint32_t offloom_ir_keep_nesting_regions_apart(LLVMModuleRef module) {
  SmallSetVector<Function *, 8> Nesting;
  const auto Add = [&](CallInst *Start, unsigned Argument) {
    auto *Code = dyn_cast<Function>(Start->getArgOperand(Argument)->stripPointerCastsAndAliases());
    if (Code && !Code->isDeclaration() && mayStart(*Code))
      Nesting.insert(Code);
  };
  for (Function &F : *unwrap(module)) {
    for (CallInst *Start : offloom::callsOf(F, offloom::isStartOfRegion))
      Add(Start, offloom::RegionArgument);
    for (CallInst *Start : offloom::callsOf(F, isStartOfTask))
      Add(Start, TaskArgument);
  }
  for (Function *Code : Nesting) {
    Code->removeFnAttr(Attribute::AlwaysInline);
    Code->addFnAttr(Attribute::NoInline);
  }
  return Nesting.size();
}
