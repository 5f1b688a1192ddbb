// Running passes (codegen.rs), as a C function with plain arguments. Rules as in ir_shim.cpp.

#include "pipeline.h"

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include <optional>

using namespace llvm;

namespace {

/// Whether a division may trap, as LLVM sees it.
bool mayTrap(const Instruction &I) { return I.isIntDivRem() && !isSafeToSpeculativelyExecute(&I); }

/// Whether the loop vectoriser may ask the first of a vector's iterations alone for the operand: an address,
/// and an exponent that has no vector.
bool isAskedForOnce(const Use &Used) {
  auto *User = cast<Instruction>(Used.getUser());
  auto *Intrinsic = dyn_cast<IntrinsicInst>(User);
  return Used.get() == getLoadStorePointerOperand(User) ||
         (Intrinsic && Intrinsic->getIntrinsicID() == Intrinsic::powi && Used.getOperandNo() == 1);
}

/// Whether scalar evolution may see through all that a number is computed from in the loop. Only of such a
/// one it knows that it is the same for the next iteration, or the one behind. Values that the loop begins an
/// iteration with it may be told to see through, by a check before the loop; and in a loop that is not in the
/// vectoriser's form yet it sees less than it will.
bool mayBeSeenThrough(Value *Number, const Loop &L, ScalarEvolution &Evolution) {
  return !L.isLoopSimplifyForm() || !SCEVExprContains(Evolution.getSCEV(Number), [&](const SCEV *Part) {
    auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    if (!Unknown || Evolution.isLoopInvariant(Unknown, &L))
      return false;
    auto *Phi = dyn_cast<PHINode>(Unknown->getValue());
    return !Phi || Phi->getParent() != L.getHeader();
  });
}

/// Whether what the loop vectoriser may ask the first of a vector's iterations alone for is computed from the
/// value.
bool leadsToOne(const Instruction &Value, const Loop &L, function_ref<ScalarEvolution &()> Evolution) {
  SmallVector<const Instruction *, 16> Open{&Value};
  SmallPtrSet<const Instruction *, 16> Seen{&Value};
  while (!Open.empty())
    for (const Use &Used : Open.pop_back_val()->uses()) {
      auto *User = cast<Instruction>(Used.getUser());
      if (!L.contains(User))
        continue;
      if (isAskedForOnce(Used) && mayBeSeenThrough(Used.get(), L, Evolution()))
        return true;
      // What comes from memory is another value.
      if (!User->mayReadOrWriteMemory() && Seen.insert(User).second)
        Open.push_back(User);
    }
  return false;
}

/// The same division at another place, where its operands are known, and where a division that traps may be
/// one that is never needed: it is one by 1 then.
Value *divideSafely(BinaryOperator &Division, Instruction &Place) {
  IRBuilder<> Builder(&Place);
  Type *Number = Division.getType();
  Value *Dividend = Builder.CreateFreeze(Division.getOperand(0));
  Value *Divisor = Builder.CreateFreeze(Division.getOperand(1));
  Value *Traps = Builder.CreateIsNull(Divisor);
  if (Division.getOpcode() == Instruction::SDiv || Division.getOpcode() == Instruction::SRem) {
    Value *Least = ConstantInt::get(Number, APInt::getSignedMinValue(Number->getScalarSizeInBits()));
    Value *Overflows = Builder.CreateAnd(Builder.CreateICmpEQ(Dividend, Least),
                                         Builder.CreateICmpEQ(Divisor, Constant::getAllOnesValue(Number)));
    Traps = Builder.CreateOr(Traps, Overflows);
  }
  Divisor = Builder.CreateSelect(Traps, ConstantInt::get(Number, 1), Divisor);
  return Builder.CreateBinOp(Division.getOpcode(), Dividend, Divisor);
}

/// Divisions that some iterations of an innermost loop make and others do not, and that lead to what one of
/// them alone is asked for.
SmallVector<BinaryOperator *, 4> conditionalDivisions(const Loop &L, const DominatorTree &Tree,
                                                      function_ref<ScalarEvolution &()> Evolution) {
  SmallVector<BinaryOperator *, 4> Divisions;
  BasicBlock *Latch = L.getLoopLatch();
  for (BasicBlock *Block : L.blocks())
    if (!Latch || !Tree.dominates(Block, Latch))
      for (Instruction &I : *Block)
        if (mayTrap(I) && leadsToOne(I, L, Evolution))
          Divisions.push_back(cast<BinaryOperator>(&I));
  return Divisions;
}

/// Keeps from the loop vectoriser what LLVM 19 and 22 get wrong: an address computed from a division that
/// only some of a vector's iterations make. Where it is one address, or one after the other, the first
/// iteration's division alone is asked, which has not been made if the condition does not hold for that one
/// (llvm/llvm-project#142957 is such a case). A division of the same numbers in all iterations is made before
/// the loop; with any other one the loop stays as it is. Whether anything changed.
bool settleDivisions(Function &F, FunctionAnalysisManager &Analyses) {
  auto &Loops = Analyses.getResult<LoopAnalysis>(F);
  auto &Tree = Analyses.getResult<DominatorTreeAnalysis>(F);
  // The vectoriser's own, and only where it has to be: what it was asked before can change what becomes of
  // other functions' loops.
  auto Evolution = [&]() -> ScalarEvolution & { return Analyses.getResult<ScalarEvolutionAnalysis>(F); };
  bool Changed = false;
  for (Loop *L : Loops.getLoopsInPreorder()) {
    if (!L->isInnermost())
      continue;
    BasicBlock *Before = L->getLoopPreheader();
    for (BinaryOperator *Division : conditionalDivisions(*L, Tree, Evolution)) {
      Changed = true;
      if (!Before || !L->hasLoopInvariantOperands(Division) || !Division->getType()->isIntegerTy()) {
        addStringMetadataToLoop(L, "llvm.loop.isvectorized", 1);
        continue;
      }
      Division->replaceAllUsesWith(divideSafely(*Division, *Before->getTerminator()));
      Division->eraseFromParent();
    }
  }
  return Changed;
}

/// Whether the instruction may use a variable of the function's own.
bool usesLocal(const Instruction &I) {
  return any_of(I.operand_values(), [](const Value *Operand) {
    SmallVector<const Value *, 4> Objects;
    if (Operand->getType()->isPointerTy())
      getUnderlyingObjects(Operand, Objects, /*LI=*/nullptr, /*MaxLookup=*/64);
    return any_of(Objects, [](const Value *Object) { return isa<AllocaInst>(Object); });
  });
}

/// Clang says of all that a loop with `simd` or `order(concurrent)` uses that iterations do not depend on one
/// another by it. What is private to an iteration is one variable for all of them, though, where it stays in
/// memory: that is to be found out as in any loop. Whether anything changed.
bool takeBackIndependence(Function &F) {
  bool Changed = false;
  for (Instruction &I : instructions(F))
    if (I.getMetadata(LLVMContext::MD_access_group) && usesLocal(I)) {
      I.setMetadata(LLVMContext::MD_access_group, nullptr);
      Changed = true;
    }
  return Changed;
}

/// Whether this LLVM's InstCombine puts masked loads behind stores: 22's does, and 23's before its first
/// release.
constexpr bool MovesMaskedLoads = LLVM_VERSION_MAJOR == 22 || LLVM_VERSION_MAJOR == 23;

/// Whether something may write to memory between the load and where its value is used.
bool mayBeOverwritten(const Instruction &Load) {
  auto Behind = make_range(std::next(Load.getIterator()), Load.getParent()->end());
  return Load.isUsedOutsideOfBlock(Load.getParent()) || any_of(Behind, [](const Instruction &I) { return I.mayWriteToMemory(); });
}

/// InstCombine makes one masked load of a masked load and a choice by the same mask, and puts it where the
/// choice is: behind a store to the same place it loads what was stored (llvm/llvm-project#215453). So
/// nothing else uses such a load than an instruction behind it, through which InstCombine does not look.
/// Whether anything changed.
bool keepMaskedLoads(Function &F) {
  bool Changed = false;
  for (Instruction &I : instructions(F)) {
    auto *Load = dyn_cast<IntrinsicInst>(&I);
    if (!Load || Load->getIntrinsicID() != Intrinsic::masked_load || !mayBeOverwritten(*Load) ||
        (Load->hasOneUser() && isa<FreezeInst>(Load->user_back())))
      continue;
    auto *Loaded = new FreezeInst(Load, "", std::next(Load->getIterator()));
    Load->replaceUsesWithIf(Loaded, [&](Use &U) { return U.getUser() != Loaded; });
    Changed = true;
  }
  return Changed;
}

/// OpenMPOpt makes stack memory of what `malloc` or the device runtime allocates, and leaves calls that get
/// it marked as tail calls, which says that they do not touch the caller's stack: copies into it are lost
/// (llvm/llvm-project#58744, LLVM 19 and 22). So the calls lose the mark before.
void forgetTailCalls(Function &F) {
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->getTailCallKind() == CallInst::TCK_Tail)
      Call->setTailCallKind(CallInst::TCK_None);
}

void forgetTailCalls(Module &M) {
  for (Function &F : M)
    forgetTailCalls(F);
}

/// The same for what one of LLVM's passes is about to run on.
void forgetTailCallsBefore(StringRef Pass, Any IR) {
  if (auto *Of = any_cast<const Module *>(&IR); Of && Pass == "OpenMPOptPass")
    forgetTailCalls(const_cast<Module &>(**Of));
  if (auto *Of = any_cast<const LazyCallGraph::SCC *>(&IR); Of && Pass == "OpenMPOptCGSCCPass")
    for (LazyCallGraph::Node &Node : **Of)
      forgetTailCalls(Node.getFunction());
}

} // namespace

bool offloom::runPipeline(Module &M, TargetMachine *Machine, StringRef Pipeline, PassInstrumentationCallbacks &Callbacks,
                          Analyses &All) {
  Callbacks.registerBeforeNonSkippedPassCallback(forgetTailCallsBefore);
  Callbacks.registerBeforeNonSkippedPassCallback([&](StringRef Pass, Any IR) {
    auto *Of = any_cast<const Function *>(&IR);
    if (!Of)
      return;
    Function &F = *const_cast<Function *>(*Of);
    FunctionAnalysisManager &OfF = All.OfFunctions;
    bool Changed = false;
    if (Pass == "LoopVectorizePass") {
      Changed = takeBackIndependence(F);
      if (any_of(instructions(F), mayTrap))
        Changed |= settleDivisions(F, OfF);
    }
    if (MovesMaskedLoads && Pass == "InstCombinePass")
      Changed = keepMaskedLoads(F);
    if (!Changed)
      return;
    PreservedAnalyses Kept;
    Kept.preserveSet<CFGAnalyses>();
    OfF.invalidate(F, Kept);
  });
  PassBuilder Builder(Machine, PipelineTuningOptions(), std::nullopt, &Callbacks);
  All.registerWith(Builder);
  ModulePassManager Passes;
  if (Error Problem = Builder.parsePassPipeline(Passes, Pipeline)) {
    consumeError(std::move(Problem));
    return false;
  }
  Passes.run(M, All.OfModule);
  return true;
}

extern "C" {

/// Runs a pipeline as LLVM's tools do. Whether the text is one.
bool offloom_ir_run_pipeline(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *pipeline, size_t length) {
  offloom::Analyses All;
  PassInstrumentationCallbacks Callbacks;
  StandardInstrumentations Standard(unwrap(module)->getContext(), /*DebugLogging=*/false);
  Standard.registerCallbacks(Callbacks, &All.OfModule);
  return offloom::runPipeline(*unwrap(module), reinterpret_cast<TargetMachine *>(machine), StringRef(pipeline, length), Callbacks,
                              All);
}

/// What `runPipeline` does before OpenMPOpt, for a module on which other programs run that.
void offloom_ir_forget_tail_calls(LLVMModuleRef module) { forgetTailCalls(*unwrap(module)); }

/// Has one of LLVM's options be as if it had not been given. Whether there is such an option.
bool offloom_ir_reset_option(const char *name, size_t length) {
  auto &Options = cl::getRegisteredOptions();
  auto Found = Options.find(StringRef(name, length));
  if (Found == Options.end())
    return false;
  Found->second->reset();
  return true;
}
}
