// Questions about a module's code that the LLVM C API has no answer to, as C functions with plain arguments.
// Rules as in ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TypeBasedAliasAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

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

/// Bits of the widest vector over 128 bits that crosses the module's boundary, with the definition it
/// concerns, or null.
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

// ---- memory_effects.rs ----

/// Whether other threads may see this access in an order that they rely on.
static bool synchronizes(const Instruction &I) {
  if (I.isVolatile() || isa<FenceInst>(I))
    return true;
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return isStrongerThanMonotonic(Load->getOrdering());
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return isStrongerThanMonotonic(Store->getOrdering());
  if (auto *Update = dyn_cast<AtomicRMWInst>(&I))
    return isStrongerThanMonotonic(Update->getOrdering());
  if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
    return isStrongerThanMonotonic(Exchange->getMergedOrdering());
  return false;
}

/// Whether the callee is a function of the mathematics library, which writes nothing but `errno`.
static bool isMathematics(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  LibFunc Known;
  TargetLibraryInfoImpl Library{Triple(Call.getModule()->getTargetTriple())};
  return Callee && Callee->isDeclaration() && Callee->getReturnType()->isFloatingPointTy() &&
         none_of(Callee->args(), [](const Argument &A) { return A.getType()->isPointerTy(); }) &&
         Library.getLibFunc(*Callee, Known);
}

/// The pointers through which an instruction writes, by itself, of which there are at most as many as it has
/// operands; their number, or -1 if it may write elsewhere or is how threads wait for each other.
/// `only_operands`: of a call it is known that it writes through its operands alone.
int64_t offloom_ir_written_pointers(LLVMValueRef instruction, bool only_operands, LLVMValueRef *pointers) {
  auto &I = *unwrap<Instruction>(instruction);
  if (synchronizes(I))
    return -1;
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    if (Call->isInlineAsm())
      return -1;
    if (!only_operands && (Call->onlyReadsMemory() || Call->onlyAccessesInaccessibleMemory() || isMathematics(*Call)))
      return 0;
    if (!only_operands && !Call->onlyAccessesInaccessibleMemOrArgMem())
      return -1;
    int64_t Count = 0;
    for (const Use &Operand : Call->args())
      if (Operand->getType()->isPointerTy() && !(only_operands && isa<Constant>(Operand)) &&
          !Call->onlyReadsMemory(Call->getArgOperandNo(&Operand)))
        pointers[Count++] = wrap(Operand.get());
    return Count;
  }
  if (!I.mayWriteToMemory())
    return 0;
  const Value *Pointer = getLoadStorePointerOperand(&I);
  if (auto *Update = dyn_cast<AtomicRMWInst>(&I))
    Pointer = Update->getPointerOperand();
  if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
    Pointer = Exchange->getPointerOperand();
  // A load that may write is one whose order counts for others.
  if (!Pointer || isa<LoadInst>(I))
    return isa<LoadInst>(I) ? 0 : -1;
  *pointers = wrap(Pointer);
  return 1;
}

/// What a pointer may lead into, seen from its function. Returns how many there are and writes at most
/// `capacity` of them.
size_t offloom_ir_underlying_objects(LLVMValueRef pointer, LLVMValueRef *objects, size_t capacity) {
  SmallVector<const Value *, 4> Found;
  getUnderlyingObjects(unwrap(pointer), Found, nullptr, /*MaxLookup=*/0);
  for (size_t I = 0; I < std::min(capacity, Found.size()); ++I)
    objects[I] = wrap(Found[I]);
  return Found.size();
}

/// Whether the types of two accesses, as the source language has them, say that they are to different memory.
bool offloom_ir_types_differ(LLVMValueRef write, LLVMValueRef load) {
  auto *Write = unwrap<Instruction>(write), *Load = unwrap<Instruction>(load);
  if (!isa<StoreInst>(Write) || !isa<LoadInst>(Load))
    return false;
#if LLVM_VERSION_MAJOR >= 20
  TypeBasedAAResult Types(/*UsingTypeSanitizer=*/false);
#else
  TypeBasedAAResult Types;
#endif
  TargetLibraryInfoImpl Functions{Triple(Write->getModule()->getTargetTriple())};
  TargetLibraryInfo Library(Functions);
  AAResults Aliases(Library);
  Aliases.addAAResult(Types);
  return Aliases.isNoAlias(MemoryLocation::get(cast<StoreInst>(Write)), MemoryLocation::get(cast<LoadInst>(Load)));
}

/// Whether the instruction is executed whenever its function is: no branch comes before it, and each
/// instruction before it goes on to the next or is a call of the OpenMP runtime, which returns.
bool offloom_ir_is_always_executed(LLVMValueRef instruction) {
  auto *I = unwrap<Instruction>(instruction);
  SmallPtrSet<const BasicBlock *, 8> Seen;
  const BasicBlock *Block = &I->getFunction()->getEntryBlock();
  while (Block && Seen.insert(Block).second) {
    for (const Instruction &Before : *Block) {
      if (&Before == I)
        return true;
      auto *Call = dyn_cast<CallInst>(&Before);
      const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      bool Returns = Callee && Callee->isDeclaration() && Callee->getName().starts_with("__kmpc_");
      if (!Returns && !isGuaranteedToTransferExecutionToSuccessor(&Before))
        return false;
    }
    Block = Block->getSingleSuccessor();
  }
  return false;
}

/// Whether a value that is loaded is, or may hold, an address.
bool offloom_ir_may_be_address(LLVMValueRef load) {
  auto *Load = unwrap<LoadInst>(load);
  Type *Loaded = Load->getType()->getScalarType();
  if (Loaded->isPointerTy() || Loaded->isAggregateType())
    return true;
  const DataLayout &Layout = Load->getModule()->getDataLayout();
  bool IsWord = Loaded->isIntegerTy() && Loaded->getIntegerBitWidth() >= Layout.getPointerSizeInBits();
  return IsWord && !Load->getMetadata(LLVMContext::MD_tbaa);
}

} // extern "C"
