// Questions about a module's code that the LLVM C API has no answer to, as C functions with plain arguments. Rules as in ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

// ---- vector_abi.rs ----

/// Bits of the widest vector in a value that is passed in registers.
static uint64_t widestVector(Type *T) {
  if (auto *V = dyn_cast<FixedVectorType>(T))
    return V->getPrimitiveSizeInBits().getFixedValue();
  uint64_t Widest = 0;
  if (auto *S = dyn_cast<StructType>(T))
    for (Type *Element : S->elements())
      Widest = std::max(Widest, widestVector(Element));
  else if (auto *A = dyn_cast<ArrayType>(T))
    Widest = widestVector(A->getElementType());
  return Widest;
}

static uint64_t widestVectorPassed(const FunctionType *T) {
  uint64_t Widest = widestVector(T->getReturnType());
  for (Type *Parameter : T->params())
    Widest = std::max(Widest, widestVector(Parameter));
  return Widest;
}

/// Whether only direct calls in the module reach the function.
static bool isCalledOnlyHere(const Function &F) { return F.hasLocalLinkage() && !F.hasAddressTaken(); }

extern "C" {

/// Bits of the widest vector over 128 bits that crosses the module's boundary, with the definition it concerns, or null.
uint32_t offloom_ir_widest_vector_at_boundary(LLVMModuleRef module, LLVMValueRef *function) {
  uint64_t Widest = 128;
  *function = nullptr;
  auto Note = [&](uint64_t Bits, Function &F) {
    if (Bits > Widest) {
      Widest = Bits;
      *function = wrap(&F);
    }
  };
  for (Function &F : *unwrap(module)) {
    if (F.isDeclaration())
      continue;
    if (!isCalledOnlyHere(F))
      Note(widestVectorPassed(F.getFunctionType()), F);
    for (BasicBlock &B : F) {
      for (Instruction &I : B) {
        auto *Call = dyn_cast<CallBase>(&I);
        if (!Call || Call->isInlineAsm())
          continue;
        const Function *Callee = Call->getCalledFunction();
        if (Callee && (Callee->isIntrinsic() || isCalledOnlyHere(*Callee)))
          continue;
        Note(widestVectorPassed(Call->getFunctionType()), F);
        for (const Use &Argument : Call->args())
          Note(widestVector(Argument->getType()), F);
      }
    }
  }
  return static_cast<uint32_t>(Widest);
}

// ---- loops.rs ----

/// For each block, in the function's order: 1 if it is in a loop, 3 if it can also leave it.
void offloom_ir_loop_blocks(LLVMValueRef function, uint8_t *blocks) {
  auto *F = unwrap<Function>(function);
  DominatorTree Tree(*F);
  LoopInfo Loops(Tree);
  for (BasicBlock &B : *F) {
    const Loop *L = Loops.getLoopFor(&B);
    *blocks++ = !L ? 0 : L->isLoopExiting(&B) ? 3 : 1;
  }
}

} // extern "C"
