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
#include "llvm/IR/InstIterator.h"
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

/// Bits of the widest vector that the definition exchanges with code outside of its module; 0: none.
uint32_t offloom_ir_widest_vector_at_boundary(LLVMValueRef function) {
  const auto *F = unwrap<Function>(function);
  // What calls it counts.
  if (F->isDeclaration())
    return 0;
  uint64_t Widest = isCalledOnlyHere(*F) ? 0 : widestVectorPassed(F->getFunctionType());
  for (const Instruction &I : instructions(*F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || Call->isInlineAsm())
      continue;
    const Function *Callee = Call->getCalledFunction();
    if (Callee && (Callee->isIntrinsic() || isCalledOnlyHere(*Callee)))
      continue;
    Widest = std::max(Widest, widestVectorPassed(Call->getFunctionType()));
    for (const Use &Argument : Call->args())
      Widest = std::max(Widest, widestVector(Argument->getType()));
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

/// Whether the value, or one that a loop goes on with in its place, is what an exchange of memory at this
/// address expects there.
static bool isExpectedAt(const Value *V, const Value *Pointer) {
  SmallPtrSet<const Value *, 8> Seen;
  SmallVector<const Value *, 8> Open = {V};
  while (!Open.empty()) {
    const Value *Next = Open.pop_back_val();
    if (!Seen.insert(Next).second)
      continue;
    for (const User *U : Next->users()) {
      auto *Exchange = dyn_cast<AtomicCmpXchgInst>(U);
      if (Exchange && Exchange->getPointerOperand() == Pointer && Exchange->getCompareOperand() == Next)
        return true;
      if (isa<PHINode, CastInst>(U))
        Open.push_back(U);
    }
  }
  return false;
}

/// Whether the expected value was read of the same memory: by the exchange before, or ahead of the loop.
static bool expectsWhatWasRead(const AtomicCmpXchgInst &Exchange) {
  SmallPtrSet<const Value *, 8> Seen;
  SmallVector<const Value *, 8> Open = {Exchange.getCompareOperand()};
  while (!Open.empty()) {
    const Value *Next = Open.pop_back_val();
    if (!Seen.insert(Next).second)
      continue;
    if (isa<PHINode, CastInst>(Next)) {
      append_range(Open, cast<Instruction>(Next)->operand_values());
      continue;
    }
    auto *Extract = dyn_cast<ExtractValueInst>(Next);
    const auto *Load = dyn_cast<LoadInst>(Next);
    if (!(Extract && Extract->getAggregateOperand() == &Exchange) &&
        !(Load && Load->getPointerOperand() == Exchange.getPointerOperand()))
      return false;
  }
  return true;
}

/// Whether other threads may see this access in an order that they rely on, or this thread may wait by it for
/// what they write: a barrier behind it is enough to see the rest then. An update of memory, also as a loop
/// of exchanges, waits for nothing.
static bool synchronizes(const Instruction &I) {
  if (I.isVolatile() || isa<FenceInst>(I))
    return true;
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return Load->isAtomic() && (isStrongerThanMonotonic(Load->getOrdering()) || !isExpectedAt(Load, Load->getPointerOperand()));
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return isStrongerThanMonotonic(Store->getOrdering());
  if (auto *Update = dyn_cast<AtomicRMWInst>(&I))
    return isStrongerThanMonotonic(Update->getOrdering()) || !Update->use_empty();
  if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
    return isStrongerThanMonotonic(Exchange->getMergedOrdering()) || !expectsWhatWasRead(*Exchange);
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
  // Not without end, which code that is never reached may have none of.
  getUnderlyingObjects(unwrap(pointer), Found, nullptr, /*MaxLookup=*/64);
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
