// Questions about a module's code that the LLVM C API has no answer to, as C functions with plain arguments.
// Rules as in ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TypeBasedAliasAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include <optional>

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

/// The conditional branch by which alone a loop is left, or null.
static BranchInst *onlyExit(const Loop &L) {
  BasicBlock *Exiting = L.getExitingBlock();
  auto *Branch = Exiting ? dyn_cast<BranchInst>(Exiting->getTerminator()) : nullptr;
  return Branch && Branch->isConditional() ? Branch : nullptr;
}

/// The number of a branch that `offloom_ir_number_loop_exits` gave it under a kind of metadata; none if it
/// has none.
static std::optional<uint64_t> numberOf(const Instruction &Branch, unsigned Kind) {
  const MDNode *Node = Branch.getMetadata(Kind);
  if (!Node)
    return std::nullopt;
  return mdconst::extract<ConstantInt>(Node->getOperand(0))->getZExtValue();
}

/// The branches of a function that have a number.
static SmallVector<Instruction *> numberedBranches(Function &F, unsigned Kind) {
  SmallVector<Instruction *> Numbered;
  for (BasicBlock &B : F)
    if (B.getTerminator()->hasMetadata(Kind))
      Numbered.push_back(B.getTerminator());
  return Numbered;
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

/// Gives each branch by which alone a loop is left a number, from 0, under the kind of metadata, and takes
/// away what was there under it. Those with branch weights get none. How many numbers there are.
uint32_t offloom_ir_number_loop_exits(LLVMModuleRef module, uint32_t kind) {
  uint32_t Next = 0;
  MDBuilder Metadata(unwrap(module)->getContext());
  Type *Number = Type::getInt32Ty(unwrap(module)->getContext());
  for (Function &F : *unwrap(module)) {
    if (F.isDeclaration())
      continue;
    for (BasicBlock &B : F)
      B.getTerminator()->setMetadata(kind, nullptr);
    DominatorTree Tree(F);
    LoopInfo Loops(Tree);
    for (const Loop *L : Loops.getLoopsInPreorder())
      if (BranchInst *Exit = onlyExit(*L); Exit && !Exit->hasMetadata(LLVMContext::MD_prof))
        Exit->setMetadata(kind, MDNode::get(F.getContext(), Metadata.createConstant(ConstantInt::get(Number, Next++))));
  }
  return Next;
}

/// For each numbered branch whose loop goes around a known number of times: how often control stays in the
/// loop there. Others are left as they are.
void offloom_ir_loop_repetitions(LLVMModuleRef module, uint32_t kind, int64_t *repetitions) {
  TargetLibraryInfoImpl Library(Triple(unwrap(module)->getTargetTriple()));
  for (Function &F : *unwrap(module)) {
    if (numberedBranches(F, kind).empty())
      continue;
    DominatorTree Tree(F);
    LoopInfo Loops(Tree);
    AssumptionCache Assumptions(F);
    TargetLibraryInfo Functions(Library, &F);
    ScalarEvolution Evolution(F, Functions, Assumptions, Tree, Loops);
    for (const Loop *L : Loops.getLoopsInPreorder()) {
      BranchInst *Exit = onlyExit(*L);
      auto Number = Exit ? numberOf(*Exit, kind) : std::nullopt;
      auto *Count = Number ? dyn_cast<SCEVConstant>(Evolution.getBackedgeTakenCount(L)) : nullptr;
      if (Count && Count->getAPInt().getActiveBits() < 32)
        repetitions[*Number] = static_cast<int64_t>(Count->getAPInt().getZExtValue());
    }
  }
}

/// Gives each numbered branch the weights of a loop that goes around so many times, unless the number is
/// negative, and takes all numbers away.
void offloom_ir_weigh_loop_exits(LLVMModuleRef module, uint32_t kind, const int64_t *repetitions) {
  MDBuilder Metadata(unwrap(module)->getContext());
  for (Function &F : *unwrap(module)) {
    auto Numbered = numberedBranches(F, kind);
    if (Numbered.empty())
      continue;
    DominatorTree Tree(F);
    LoopInfo Loops(Tree);
    for (Instruction *Exit : Numbered) {
      int64_t Stays = repetitions[*numberOf(*Exit, kind)];
      Exit->setMetadata(kind, nullptr);
      const Loop *L = Loops.getLoopFor(Exit->getParent());
      if (Stays < 0 || !L)
        continue;
      bool StaysFirst = L->contains(Exit->getSuccessor(0));
      auto Weight = static_cast<uint32_t>(Stays);
      Exit->setMetadata(LLVMContext::MD_prof, StaysFirst ? Metadata.createBranchWeights(Weight, 1)
                                                         : Metadata.createBranchWeights(1, Weight));
    }
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
    if (!only_operands &&
        (Call->onlyReadsMemory() || Call->onlyAccessesInaccessibleMemory() || isMathematics(*Call)))
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
