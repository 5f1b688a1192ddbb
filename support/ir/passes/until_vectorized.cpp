// Runs the ahead-of-time pipeline up to where it vectorises (floating_point.rs), as a C function with plain
// arguments. Rules as in shim/ir_shim.cpp.

#include "narrow_conversions.h"
#include "pipeline.h"

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Target/TargetMachine.h"
#include <tuple>

using namespace llvm;
using offloom::isNarrowConversion;

namespace {

constexpr StringLiteral IsVectorized = "llvm.loop.isvectorized";

/// What a loop is marked with by a hint that it has.
MDNode *hintOf(LLVMContext &Context, StringRef Name) {
  Metadata *Hint[] = {MDString::get(Context, Name), ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(Context), 1))};
  return MDNode::get(Context, Hint);
}

/// Whether LLVM may compute the loop in another order than it is written in: the source asks for vectors
/// (`simd`), and the loop carries a floating-point value from one iteration to the next.
bool isReorderable(const Loop &L) {
  return getBooleanLoopAttribute(&L, "llvm.loop.vectorize.enable") && !getBooleanLoopAttribute(&L, IsVectorized) &&
         any_of(L.getHeader()->phis(), [](const PHINode &Phi) { return Phi.getType()->isFPOrFPVectorTy(); });
}

/// Whether what a loop gives depends on how it is vectorised.
bool dependsOnVectors(const Loop &L) {
  return isReorderable(L) || (L.isInnermost() && !getBooleanLoopAttribute(&L, IsVectorized) &&
                              any_of(L.blocks(), [](const BasicBlock *Block) { return any_of(*Block, isNarrowConversion); }));
}

/// Whether it is a narrow conversion of a single number, which the SLP vectoriser may make part of a vector.
bool isPackable(const Instruction &I) { return isNarrowConversion(I) && !I.getType()->isVectorTy(); }

/// Whether a block has several of them of one kind.
bool mayBePacked(const BasicBlock &Block) {
  SmallSet<std::tuple<unsigned, Type *, Type *>, 4> Kinds;
  return any_of(Block, [&](const Instruction &I) {
    return isPackable(I) && !Kinds.insert({I.getOpcode(), I.getOperand(0)->getType(), I.getType()}).second;
  });
}

/// Whether a loop, or one around it or beside it in that, has one of them: once it is unrolled, its block has
/// several. Whether an outer loop is depends on what becomes of those within.
bool mayBePackedUnrolled(const Loop &L) {
  return any_of(L.getOutermostLoop()->blocks(), [](const BasicBlock *Block) { return any_of(*Block, isPackable); });
}

/// Whether the SLP vectoriser may make vectors of narrow conversions.
bool mayBePacked(Function &F) {
  if (none_of(instructions(F), isPackable))
    return false;
  DominatorTree Tree(F);
  LoopInfo Loops(Tree);
  return any_of(F, [](const BasicBlock &Block) { return mayBePacked(Block); }) ||
         any_of(Loops, [](const Loop *L) { return mayBePackedUnrolled(*L); });
}

/// Has no later vectoriser touch these loops.
void leaveScalar(Function &F, function_ref<bool(const Loop &)> IsMeant) {
  DominatorTree Tree(F);
  LoopInfo Loops(Tree);
  for (Loop *L : Loops.getLoopsInPreorder())
    if (IsMeant(*L))
      L->setLoopID(makePostTransformationMetadata(F.getContext(), L->getLoopID(),
                                                  {"llvm.loop.vectorize.", "llvm.loop.interleave."},
                                                  {hintOf(F.getContext(), IsVectorized)}));
}

/// Ends a pipeline, for each function, with the vectorisation of its loops, which only those get whose result
/// depends on it; or, where straight-line code has such a result, with the vectorisation of that.
class UntilVectorized {
public:
  /// Whether a pass of the pipeline is run.
  bool shouldRun(StringRef Pass, Function *F) {
    if (!F)
      return Finished.empty();
    if (Finished.contains(F))
      return false;
    if (Straightening.contains(F)) {
      if (Pass == Unroller)
        return hideOtherLoops(*F, mayBePackedUnrolled, "llvm.loop.unroll.disable");
      if (Pass != AfterStraightLines)
        return true;
      Finished.insert(F);
      return false;
    }
    if (Pass != Vectoriser)
      return true;
    if (!F->hasOptNone()) {
      (mayBePacked(*F) ? Straightening : Finished).insert(F);
      return hideOtherLoops(*F, dependsOnVectors, IsVectorized);
    }
    Finished.insert(F);
    // It stays as it is. What a loop carries is in memory yet.
    leaveScalar(*F, [](const Loop &L) { return getBooleanLoopAttribute(&L, "llvm.loop.vectorize.enable"); });
    return false;
  }

  /// After a pass from which loops are hidden: those are as before. A reorderable loop that the vectoriser
  /// left alone stays as it is from now on.
  void leave(StringRef Pass, Function *F) {
    if ((Pass != Vectoriser && Pass != Unroller) || !F)
      return;
    for (BasicBlock &Block : *F)
      if (auto Hint = Hidden.find(Block.getTerminator()->getMetadata(LLVMContext::MD_loop)); Hint != Hidden.end())
        Block.getTerminator()->setMetadata(LLVMContext::MD_loop, Hint->second);
    if (Pass == Vectoriser)
      leaveScalar(*F, isReorderable);
  }

private:
  static constexpr StringLiteral Vectoriser = "LoopVectorizePass";
  /// Whose work is for the pipeline with the constants in, but for loops of which it makes straight-line code
  /// whose result depends on vectors.
  static constexpr StringLiteral Unroller = "LoopUnrollPass";
  /// Comes after the vectoriser of straight-line code, in every pipeline that vectorises loops.
  static constexpr StringLiteral AfterStraightLines = "VectorCombinePass";

  /// Whether there is a loop that is meant; the next pass does not see the other ones then, which get the
  /// hint.
  bool hideOtherLoops(Function &F, function_ref<bool(const Loop &)> IsMeant, StringRef Hint) {
    DominatorTree Tree(F);
    LoopInfo Loops(Tree);
    auto All = Loops.getLoopsInPreorder();
    if (none_of(All, [&](const Loop *L) { return IsMeant(*L); }))
      return false;
    for (Loop *L : All) {
      if (IsMeant(*L) || getBooleanLoopAttribute(L, Hint))
        continue;
      MDNode *Before = L->getLoopID();
      L->setLoopID(makePostTransformationMetadata(F.getContext(), Before, {}, {hintOf(F.getContext(), Hint)}));
      Hidden[L->getLoopID()] = Before;
    }
    return true;
  }

  /// Functions whose part of the pipeline has come to its end.
  SmallPtrSet<const Function *, 16> Finished;
  /// Functions whose loops are vectorised, and whose straight-line code is next.
  SmallPtrSet<const Function *, 16> Straightening;
  /// From what a hidden loop is marked with to what it was marked with before.
  DenseMap<const MDNode *, MDNode *> Hidden;
};

/// Functions that another module defines (`available_externally`), while OpenMPOpt runs. It copies what it
/// may look into and hands the address of the copy to calls, where the other module's is meant.
class ForeignFunctions {
public:
  /// What the linker may replace is not copied.
  void hide(StringRef Pass, Module &M) {
    if (Pass != "OpenMPOptPass")
      return;
    for (Function &F : M)
      if (F.hasAvailableExternallyLinkage()) {
        F.setLinkage(GlobalValue::WeakAnyLinkage);
        Hidden.push_back(&F);
      }
  }

  void restore() {
    for (Value *V : Hidden)
      if (auto *F = dyn_cast_or_null<Function>(V))
        F->setLinkage(GlobalValue::AvailableExternallyLinkage);
    Hidden.clear();
  }

private:
  SmallVector<WeakVH, 16> Hidden;
};

/// The function that a pass is run on; null for a pass over more than one.
Function *functionOf(const Any &IR) {
  if (auto *F = any_cast<const Function *>(&IR))
    return const_cast<Function *>(*F);
  if (auto *L = any_cast<const Loop *>(&IR))
    return (*L)->getHeader()->getParent();
  return nullptr;
}

} // namespace

void offloom::leaveReorderableScalar(Function &F) { leaveScalar(F, isReorderable); }

extern "C" {

/// Runs a pipeline for each function up to where its loops are vectorised, and vectorises those whose result
/// depends on it. An address of what another module defines stays that. Whether the text is a pipeline.
bool offloom_ir_run_until_vectorized(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *pipeline, size_t length) {
  UntilVectorized State;
  ForeignFunctions Foreign;
  PassInstrumentationCallbacks Callbacks;
  // LLVM's tools leave functions alone that are not to be optimised, so the ahead-of-time pipeline has.
  OptNoneInstrumentation NotOptimized(/*DebugLogging=*/false);
  NotOptimized.registerCallbacks(Callbacks);
  Callbacks.registerBeforeNonSkippedPassCallback([&](StringRef Pass, Any) { Foreign.hide(Pass, *unwrap(module)); });
  Callbacks.registerShouldRunOptionalPassCallback([&](StringRef Pass, Any IR) { return State.shouldRun(Pass, functionOf(IR)); });
  Callbacks.registerAfterPassCallback([&](StringRef Pass, Any IR, const PreservedAnalyses &) {
    Foreign.restore();
    State.leave(Pass, functionOf(IR));
  });
  offloom::Analyses All;
  return offloom::runPipeline(*unwrap(module), reinterpret_cast<TargetMachine *>(machine), StringRef(pipeline, length), Callbacks,
                              All);
}

} // extern "C"
