// What the JIT does to device code for GPUs, as C functions with plain arguments, for gpu.rs. Rules as
// in shim/ir_shim.cpp.

#include "approximations.h"
#include "generic_addresses.h"
#include "hidden_operand.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using offloom::approximated, offloom::HiddenOperand, offloom::isHiddenOperand;

namespace {

/// The address space of global memory.
constexpr unsigned GlobalMemory = 1;

/// Whether it is a number that an approximation may be made of, or a vector of such.
bool isNumber(const Type *T) {
  T = T->getScalarType();
  return T->isFloatTy() || T->isDoubleTy() || T->isIntegerTy(32) || T->isIntegerTy(64) || T->isHalfTy() || T->isBFloatTy();
}

/// Whether the value is one number whatever happens, so that whoever propagates constants may find it, if
/// LLVM does not.
bool isOneNumber(Value *V) {
  if (isa<Constant>(V))
    return true;
  auto *I = dyn_cast<Instruction>(V);
  if (!I || isa<PHINode>(I) || isa<AllocaInst>(I) || I->mayReadOrWriteMemory() || isHiddenOperand(I) || I->getNumOperands() == 0)
    return false;
  auto *Call = dyn_cast<CallInst>(I);
  if (!Call)
    return all_of(I->operands(), isOneNumber);
  const Function *Callee = Call->getCalledFunction();
  return Callee && Callee->isIntrinsic() && Call->doesNotAccessMemory() && !Call->arg_empty() &&
         all_of(Call->args(), isOneNumber);
}

/// Finds values of which whoever propagates constants may find that they are one: nothing that such a value
/// is made of comes from memory, from an argument or from the hardware, on some way that the program may
/// take.
class Constants {
public:
  bool mayBe(Value *V) {
    size_t Found;
    do {
      Found = Are.size();
      Looked.clear();
      if (visit(V))
        return true;
      // What was seen on the way round a loop before the loop was known may be one after all.
    } while (Are.size() != Found);
    AreNot.insert(Looked.begin(), Looked.end());
    return false;
  }

private:
  bool visit(Value *V) {
    if (isa<Constant>(V))
      return true;
    auto *I = dyn_cast<Instruction>(V);
    if (!I || AreNot.contains(I))
      return false;
    if (Are.contains(I))
      return true;
    // While it is looked at, it is none: a value that goes around in a loop comes from elsewhere.
    if (!Looked.insert(I).second || !look(*I))
      return false;
    Are.insert(I);
    return true;
  }

  bool look(Instruction &I) {
    if (isHiddenOperand(&I))
      return visit(I.getOperand(0));
    if (auto *Phi = dyn_cast<PHINode>(&I))
      return any_of(Phi->incoming_values(), [this](Value *Incoming) { return visit(Incoming); });
    if (auto *Choice = dyn_cast<SelectInst>(&I))
      return visit(Choice->getTrueValue()) || visit(Choice->getFalseValue());
    if (auto *Call = dyn_cast<CallInst>(&I)) {
      const Function *Callee = Call->getCalledFunction();
      if (!Callee || !Callee->isIntrinsic() || !Call->doesNotAccessMemory() || Call->arg_empty())
        return false;
      return all_of(Call->args(), [this](Value *Argument) { return visit(Argument); });
    }
    if (I.mayReadOrWriteMemory() || isa<AllocaInst>(I))
      return false;
    return all_of(I.operands(), [this](Value *Operand) { return visit(Operand); });
  }

  SmallPtrSet<Instruction *, 16> Are, AreNot, Looked;
};

/// Keeps constants of a function from who propagates them: their bits are combined with eight zero bytes of
/// memory. That is done where a number comes in, and once for each, where that is possible: not in each round
/// of a loop.
class Concealment {
public:
  Concealment(Function &F, GlobalVariable &Zeros) : F(F), Zeros(Zeros) {}

  /// Makes sure that the operand of a call is no constant, on any way that leads to it.
  void concealOperand(CallInst &Call) {
    Constants Before;
    conceal(Call.getArgOperandUse(0), Before);
    if (Constants().mayBe(Call.getArgOperand(0)))
      concealBehind(Call.getArgOperandUse(0));
  }

private:
  Function &F;
  GlobalVariable &Zeros;
  Instruction *Zero = nullptr;
  DenseMap<Value *, Value *> Concealed;
  SmallPtrSet<Instruction *, 16> Seen;

  /// `Before` may take for constants what has been concealed since.
  void conceal(Use &U, Constants &Before) {
    Value *V = U.get();
    if (!Before.mayBe(V))
      return;
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !isTransparent(*I))
      return concealBehind(U);
    if (!Seen.insert(I).second)
      return;
    // A condition is no part of the value.
    for (Use &Operand : drop_begin(I->operands(), isa<SelectInst>(I) ? 1 : 0))
      if (isa<Instruction>(Operand.get()) || isa<PHINode>(I) || isa<SelectInst>(I))
        conceal(Operand, Before);
  }

  /// Whether constants can be concealed in front of the instruction. Not where it is one number, since that
  /// is a constant of the source, which stays one for all others that use it; nor in a loop's counter, of
  /// which the count of rounds is computed; nor where vectors are, of which one part may be a constant and
  /// not another.
  bool isTransparent(Instruction &I) {
    if (isOneNumber(&I) || I.getType()->isVectorTy())
      return false;
    if (isa<PHINode>(I) || isa<SelectInst>(I))
      return I.getType()->isFloatingPointTy() || none_of(I.operands(), [](const Use &Part) { return isa<ConstantInt>(Part); });
    if (I.getType()->isFloatingPointTy() && any_of(I.operands(), [](const Use &Part) { return isOfCounter(Part.get()); }))
      return false;
    const bool IsHidden = isHiddenOperand(&I);
    if (!IsHidden && any_of(approximated(I), [](const Use &Part) { return !isHiddenOperand(Part.get()); }))
      return false;
    return none_of(I.operands(), [](const Use &Part) { return Part->getType()->isVectorTy(); });
  }

  /// Whether an integer is computed from a loop's counter.
  static bool isOfCounter(Value *V) {
    SmallVector<Value *, 8> Open{V};
    SmallPtrSet<Value *, 8> Met;
    while (!Open.empty()) {
      auto *I = dyn_cast<Instruction>(Open.pop_back_val());
      if (!I || !I->getType()->isIntegerTy() || !Met.insert(I).second)
        continue;
      if (isa<PHINode>(I) && any_of(I->operands(), [](const Use &Part) { return isa<ConstantInt>(Part); }))
        return true;
      Open.append(I->op_begin(), I->op_end());
    }
    return false;
  }

  /// Conceals the value, and has nobody use what comes of it but this user.
  void concealBehind(Use &U) {
    Value *V = U.get();
    Type *T = V->getType();
    if (!isNumber(T) && !(isa<FixedVectorType>(T) && isNumber(T->getScalarType())))
      return;
    Value *&Result = Concealed[V];
    if (!Result)
      Result = mix(*V, behind(*V));
    U.set(Result);
  }

  Instruction *zero() {
    if (!Zero) {
      IRBuilder<> Builder(&*F.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      LoadInst *Load = Builder.CreateAlignedLoad(Builder.getInt64Ty(), &Zeros, Align(8));
      Load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(F.getContext(), {}));
      Zero = Load;
    }
    return Zero;
  }

  /// The first instruction before which the value can be used.
  Instruction *behind(Value &V) {
    auto *I = dyn_cast<Instruction>(&V);
    if (!I)
      return zero()->getNextNode();
    return isa<PHINode>(I) ? &*I->getParent()->getFirstInsertionPt() : I->getNextNode();
  }

  Value *mix(Value &V, Instruction *Before) {
    IRBuilder<> Builder(Before);
    Type *T = V.getType();
    Value *Bits = Builder.CreateTrunc(zero(), Builder.getIntNTy(T->getScalarSizeInBits()));
    if (auto *Vector = dyn_cast<FixedVectorType>(T))
      Bits = Builder.CreateVectorSplat(Vector->getNumElements(), Bits);
    return Builder.CreateBitCast(Builder.CreateXor(Builder.CreateBitCast(&V, Bits->getType()), Bits), T);
  }
};

/// Whether the address is handed to a function that does not keep it for longer than the variant is there.
/// Functions of the device runtime only read what they are handed, which describes the source; the driver
/// prints before it unloads what the formats are in; and what fails an assertion ends the context.
bool isOnlyRead(const Use &U) {
  auto *Call = dyn_cast<CallInst>(U.getUser());
  const Function *Callee = Call && Call->isArgOperand(&U) ? Call->getCalledFunction() : nullptr;
  if (!Callee || !Callee->isDeclaration())
    return false;
  StringRef Name = Callee->getName();
  bool IsPrinter = Name == "vprintf" || Name == "__llvm_omp_vprintf";
  return Name.starts_with("__kmpc_") || Name == "__assertfail" || (IsPrinter && Call->getArgOperandNo(&U) == 0);
}

/// What is done with an address.
struct AddressUses {
  /// Compared, or kept: stored, or handed on.
  bool IsObserved = false;
  /// Variables whose initial value has it.
  SmallVector<GlobalVariable *, 4> Holders;

  /// Of the variable's own address, or of all those that it holds, which code may load from there, and so on.
  AddressUses(GlobalVariable &V, bool OfHeld) {
    SmallVector<Value *, 8> Pending{&V};
    SmallPtrSet<Value *, 8> Walked;
    while (!Pending.empty())
      for (Use &U : Pending.pop_back_val()->uses()) {
        User *By = U.getUser();
        auto *Copy = dyn_cast<MemTransferInst>(By);
        Type *T = By->getType();
        if (auto *Holder = dyn_cast<GlobalVariable>(By)) {
          if (!Holder->getName().starts_with("llvm."))
            Holders.push_back(Holder);
        } else if (isa<GEPOperator>(By) || isa<AddrSpaceCastOperator>(By) || isa<BitCastOperator>(By) ||
                   isa<ConstantAggregate>(By) || isa<SelectInst>(By) || isa<PHINode>(By) ||
                   (OfHeld && isa<LoadInst>(By) && T->isPointerTy())) {
          if (Walked.insert(By).second)
            Pending.push_back(By);
        } else if (isa<LoadInst>(By)) {
          // An address may be loaded as a number of its size.
          bool IsSmall = T->isFPOrFPVectorTy() || (T->isIntegerTy() && T->getIntegerBitWidth() < 64);
          IsObserved |= OfHeld && !IsSmall;
        } else if (isa<ICmpInst>(By)) {
          IsObserved |= !isa<ConstantPointerNull>(By->getOperand(1));
        } else if (OfHeld || !Copy || &U != &Copy->getRawSourceUse()) {
          IsObserved |= !isOnlyRead(U);
        }
      }
  }
};

/// Whether the program can tell the variable from a copy, or use its address when the copy is gone. Strings
/// are told apart too, which need not be (`unnamed_addr`).
bool isAddressObserved(GlobalVariable &V) {
  AddressUses Uses(V, /*OfHeld=*/false);
  SmallPtrSet<GlobalVariable *, 4> Seen;
  while (!Uses.IsObserved && !Uses.Holders.empty())
    if (GlobalVariable *Holder = Uses.Holders.pop_back_val(); Seen.insert(Holder).second) {
      AddressUses OfHeld(*Holder, /*OfHeld=*/true);
      append_range(Uses.Holders, OfHeld.Holders);
      Uses.IsObserved = OfHeld.IsObserved;
    }
  return Uses.IsObserved;
}

/// Whether the pointer is the one that the device runtime gives a worker for its parallel region.
bool isFromRuntime(const Value *Pointer) {
  auto *Load = dyn_cast<LoadInst>(Pointer->stripPointerCasts());
  const Value *Place = Load ? Load->getPointerOperand()->stripPointerCasts() : nullptr;
  if (!Place || !isa<AllocaInst>(Place))
    return false;
  SmallVector<const Value *, 4> Pending{Place};
  while (!Pending.empty())
    for (const User *By : Pending.pop_back_val()->users()) {
      if (isa<AddrSpaceCastInst>(By) || isa<BitCastInst>(By))
        Pending.push_back(By);
      auto *Call = dyn_cast<CallInst>(By);
      const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (Callee && Callee->getName() == "__kmpc_kernel_parallel")
        return true;
    }
  return false;
}

} // namespace

extern "C" {

/// Whether the program can tell the variable from a copy, or use its address when the copy is gone.
bool offloom_ir_is_address_observed(LLVMValueRef variable) { return isAddressObserved(*unwrap<GlobalVariable>(variable)); }

/// Whether the function calls through a pointer that it has from elsewhere.
bool offloom_ir_calls_through_pointer(LLVMValueRef function) {
  for (Instruction &I : instructions(*unwrap<Function>(function))) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || Call->isInlineAsm() || Call->getCalledFunction())
      continue;
    Value *Callee = Call->getCalledOperand()->stripPointerCasts();
    if (!isa<Function>(Callee) && !isFromRuntime(Callee))
      return true;
  }
  return false;
}

/// Reads the first `count` fields, all integers, of the configuration in a kernel's environment. Whether
/// there are so many.
bool offloom_ir_kernel_configuration(LLVMValueRef environment, int32_t *fields, size_t count) {
  auto *V = unwrap<GlobalVariable>(environment);
  Constant *Configuration = V->hasInitializer() ? V->getInitializer()->getAggregateElement(0u) : nullptr;
  for (size_t I = 0; Configuration && I != count; ++I) {
    auto *Field = dyn_cast_or_null<ConstantInt>(Configuration->getAggregateElement(I));
    if (!Field || Field->getBitWidth() > 32)
      return false;
    fields[I] = Field->getSExtValue();
  }
  return Configuration;
}

/// Replaces the variables, of the table's order, by the addresses that a table holds: each function loads
/// those that it uses at its start. Returns a variable of which an initial value needs the address, or null.
/// Nulls among the variables are left out.
LLVMValueRef offloom_ir_bind_to_table(LLVMValueRef table, const LLVMValueRef *variables, size_t count) {
  auto *Table = unwrap<GlobalVariable>(table);
  auto *Addresses = cast<ArrayType>(Table->getValueType());
  for (size_t Index = 0; Index != count; ++Index) {
    if (!variables[Index])
      continue;
    auto *V = unwrap<GlobalVariable>(variables[Index]);
    V->removeDeadConstantUsers();
    convertUsersOfConstantsToInstructions({V});
    DenseMap<Function *, Value *> Loaded;
    for (Use &U : make_early_inc_range(V->uses())) {
      auto *User = dyn_cast<Instruction>(U.getUser());
      if (!User)
        return variables[Index];
      Value *&Address = Loaded[User->getFunction()];
      if (!Address) {
        IRBuilder<> Builder(&*User->getFunction()->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
        Value *Place = Builder.CreateConstInBoundsGEP2_64(Addresses, Table, 0, Index);
        LoadInst *Load = Builder.CreateAlignedLoad(Addresses->getElementType(), Place, Align(8));
        Load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(V->getContext(), {}));
        Address = Load->getType() == V->getType() ? Load : Builder.CreateAddrSpaceCast(Load, V->getType());
      }
      U.set(Address);
    }
    V->eraseFromParent();
  }
  return nullptr;
}

/// Puts something opaque before the operands of approximations that are no constants yet, nor computed from
/// constants alone: those are folded in the image too. How many there were.
size_t offloom_ir_hide_operands(LLVMModuleRef module) {
  SmallVector<Use *, 16> Operands;
  for (Function &F : *unwrap(module))
    for (Instruction &I : instructions(F))
      for (Use &U : approximated(I))
        if (!isOneNumber(U.get()) && isNumber(U->getType()) && !isHiddenOperand(U.get()))
          Operands.push_back(&U);
  for (Use *U : Operands) {
    Type *T = U->get()->getType();
    auto *Signature = FunctionType::get(T, {T}, /*isVarArg=*/false);
    bool IsAmds = Triple(unwrap(module)->getTargetTriple()).isAMDGPU();
    const char *Constraints = IsAmds               ? "=v,0"
                              : T->isFloatTy()     ? "=f,0"
                              : T->isDoubleTy()    ? "=d,0"
                              : T->is16bitFPTy()   ? "=h,0"
                              : T->isIntegerTy(64) ? "=l,0"
                                                   : "=r,0";
    auto *Assembly = InlineAsm::get(Signature, HiddenOperand, Constraints, /*hasSideEffects=*/false);
    IRBuilder<> Builder(cast<Instruction>(U->getUser()));
    CallInst *Call = Builder.CreateCall(Signature, Assembly, {U->get()});
    Call->setDoesNotAccessMemory();
    Call->setDoesNotThrow();
    Call->addFnAttr(Attribute::WillReturn);
    U->set(Call);
  }
  return Operands.size();
}

/// Whether an operand that was hidden may be a constant by now.
bool offloom_ir_has_constant_operand(LLVMModuleRef module) {
  for (Function &F : *unwrap(module))
    for (Instruction &I : instructions(F))
      if (isHiddenOperand(&I) && Constants().mayBe(I.getOperand(0)))
        return true;
  return false;
}

/// Takes away what `offloom_ir_hide_operands` put in. Constants that may come to an operand are combined
/// with what is in `zero`, a variable that holds a 64-bit 0 which nobody sees through.
void offloom_ir_show_operands(LLVMModuleRef module, LLVMValueRef zero) {
  for (Function &F : *unwrap(module)) {
    SmallVector<CallInst *, 16> All;
    for (Instruction &I : instructions(F))
      if (isHiddenOperand(&I))
        All.push_back(cast<CallInst>(&I));
    if (zero) {
      Concealment Concealed(F, *unwrap<GlobalVariable>(zero));
      for (CallInst *Call : All)
        Concealed.concealOperand(*Call);
    }
    for (CallInst *Call : All) {
      Call->replaceAllUsesWith(Call->getArgOperand(0));
      Call->eraseFromParent();
    }
  }
}

/// Has a kernel access what its arguments lead to through generic addresses, where LLVM has cast each of them
/// to global memory. How many accesses were changed.
size_t offloom_ir_use_generic_addresses(LLVMValueRef kernel) {
  size_t Count = 0;
  for (Instruction &I : instructions(*unwrap<Function>(kernel))) {
    auto *Cast = dyn_cast<AddrSpaceCastInst>(&I);
    if (!Cast || Cast->getSrcAddressSpace() != 0 || Cast->getDestAddressSpace() != GlobalMemory)
      continue;
    SmallVector<const Value *, 4> Objects;
    // Code that nothing comes to may have an address that is made of itself.
    getUnderlyingObjects(Cast->getPointerOperand(), Objects, nullptr, /*MaxLookup=*/64);
    if (Objects.empty() || !all_of(Objects, [](const Value *Object) { return isa<Argument>(Object); }))
      continue;
    Count += offloom::accessUncast(*Cast);
  }
  return Count;
}

/// A sum of 32 bits that is extended to 64, of which one part is there with 64 bits, is the sum of 64 bits:
/// neither can overflow. So a constant in it becomes part of an address. How many there were.
size_t offloom_ir_widen_sums(LLVMModuleRef M) {
  // What is not negative is extended either way.
  const auto Extends = [](const User *U) { return isa<SExtInst>(U) || (isa<ZExtInst>(U) && cast<ZExtInst>(U)->hasNonNeg()); };
  SmallVector<CastInst *, 16> Extensions;
  for (Function &F : *unwrap(M))
    for (Instruction &I : instructions(F))
      if (Extends(&I))
        Extensions.push_back(cast<CastInst>(&I));
  size_t Count = 0;
  for (CastInst *Extension : Extensions) {
    auto *Sum = dyn_cast<BinaryOperator>(Extension->getOperand(0));
    if (!Sum || (Sum->getOpcode() != Instruction::Add && Sum->getOpcode() != Instruction::Sub) || !Sum->hasNoSignedWrap())
      continue;
    Type *Wide = Extension->getType();
    auto Uncut = [&](Value *Part) -> Value * {
      auto *Cut = dyn_cast<TruncInst>(Part);
      return Cut && Cut->hasNoSignedWrap() && Cut->getSrcTy() == Wide ? Cut->getOperand(0) : nullptr;
    };
    auto IsExtended = [&](Value *Part) {
      return isa<Instruction>(Part) && any_of(Part->users(), [&](const User *U) { return Extends(U) && U->getType() == Wide; });
    };
    Value *Left = Uncut(Sum->getOperand(0));
    Value *Right = Uncut(Sum->getOperand(1));
    if (!Left && !Right && none_of(Sum->operands(), IsExtended))
      continue;
    IRBuilder<> Builder(Extension);
    if (!Left)
      Left = Builder.CreateSExt(Sum->getOperand(0), Wide);
    if (!Right)
      Right = Builder.CreateSExt(Sum->getOperand(1), Wide);
    Extension->replaceAllUsesWith(Sum->getOpcode() == Instruction::Add ? Builder.CreateNSWAdd(Left, Right)
                                                                       : Builder.CreateNSWSub(Left, Right));
    Extension->eraseFromParent();
    ++Count;
  }
  return Count;
}

} // extern "C"

/// Has innermost loops unrolled that run a known number of times, at most `MostRounds`: takes
/// `llvm.loop.unroll.disable` from them, and asks for it where one is straight-line code that becomes no more
/// than `MostInstructions`. Returns how many.
extern "C" size_t offloom_ir_release_counted_loops(LLVMModuleRef M, unsigned MostRounds, unsigned MostInstructions) {
  constexpr StringLiteral Forbids = "llvm.loop.unroll.disable";
  Module &Code = *unwrap(M);
  TargetLibraryInfoImpl Library{Triple(Code.getTargetTriple())};
  size_t Released = 0;
  for (Function &F : Code) {
    if (F.isDeclaration())
      continue;
    DominatorTree Dominators(F);
    LoopInfo Loops(Dominators);
    if (Loops.empty())
      continue;
    TargetLibraryInfo Functions(Library, &F);
    AssumptionCache Assumptions(F);
    ScalarEvolution Counts(F, Functions, Assumptions, Dominators, Loops);
    for (Loop *L : Loops.getLoopsInPreorder()) {
      if (!L->isInnermost())
        continue;
      unsigned Count = Counts.getSmallConstantTripCount(L);
      if (Count == 0 || Count > MostRounds)
        continue;
      const bool IsShort = L->getNumBlocks() == 1 && L->getHeader()->size() * Count <= MostInstructions;
      if (!IsShort && !findOptionMDForLoop(L, Forbids))
        continue;
      MDNode *Full = MDNode::get(F.getContext(), MDString::get(F.getContext(), "llvm.loop.unroll.full"));
      L->setLoopID(makePostTransformationMetadata(F.getContext(), L->getLoopID(), {Forbids},
                                                  IsShort ? ArrayRef<MDNode *>(Full) : ArrayRef<MDNode *>()));
      ++Released;
    }
  }
  return Released;
}
