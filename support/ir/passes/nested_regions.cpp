// Parallel regions that start others, as a C function with plain arguments. Rules: those of
// shim/ir_shim.cpp.

#include "regions.h"

#include "llvm-c/Core.h"
#include "llvm/IR/Module.h"

using namespace llvm;

extern "C" uint32_t offloom_ir_keep_nesting_regions_apart(LLVMModuleRef module) {
  SmallSetVector<Function *, 8> Nesting;
  for (Function &F : *unwrap(module))
    for (CallInst *Start : offloom::callsOf(F, offloom::isStartOfRegion)) {
      auto *Region = dyn_cast<Function>(Start->getArgOperand(offloom::RegionArgument)->stripPointerCasts());
      if (Region && !Region->isDeclaration() && any_of(offloom::functionsOf(*Region), [](Function *G) {
            return !offloom::callsOf(*G, offloom::isStartOfRegion).empty();
          }))
        Nesting.insert(Region);
    }
  for (Function *Region : Nesting) {
    Region->removeFnAttr(Attribute::AlwaysInline);
    Region->addFnAttr(Attribute::NoInline);
  }
  return Nesting.size();
}
