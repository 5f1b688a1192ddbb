// What the LLVM C API lacks for vectors of straight-line code (straight_line_vectors.rs), as C functions with
// plain arguments. Rules as in shim/ir_shim.cpp.

#include "pipeline.h"

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/LoopVersioning.h"
#include <optional>

using namespace llvm;

namespace {

/// With more stores than this a block is not looked at: each is compared with each.
constexpr size_t MostStores = 64;

/// With more comparisons than this at its entry a loop is left alone. LLVM compares some memory twice that
/// has many accesses; what is the same is computed once.
constexpr unsigned MostChecks = 64;

/// Named metadata of modules whose floating-point results are settled.
constexpr StringLiteral BitsMatched = "offloom.bits_matched";

/// With fewer pairs of neighbours apart there is little to win: one is a complex number.
constexpr unsigned LeastApart = 3;

/// Loops that go around less often than this do not make up for the comparisons.
constexpr unsigned LeastTripCount = 16;

/// Whether a load between two stores of a block might read what the first one writes.
bool mayBeReadBefore(StoreInst &First, StoreInst &Second, AAResults &Aliases) {
  return any_of(make_range(std::next(First.getIterator()), Second.getIterator()), [&](Instruction &I) {
    auto *Load = dyn_cast<LoadInst>(&I);
    return Load && isModSet(Aliases.getModRefInfo(&First, MemoryLocation::get(Load)));
  });
}

/// Whether a block stores to several places next to each other, of which the SLP vectoriser would make
/// vectors if loads between them did not stand in its way. Scalar evolution, which takes long, is asked for
/// where it has to be.
bool storesNeighboursApart(BasicBlock &Block, AAResults &Aliases, function_ref<ScalarEvolution &()> Evolution) {
  const DataLayout &Layout = Block.getModule()->getDataLayout();
  SmallVector<StoreInst *, 16> Stores;
  for (Instruction &I : Block)
    if (auto *Store = dyn_cast<StoreInst>(&I); Store && Store->isSimple())
      Stores.push_back(Store);
  if (Stores.size() > MostStores)
    return false;
  unsigned Apart = 0;
  for (auto [Index, First] : enumerate(Stores))
    for (StoreInst *Second : drop_begin(Stores, Index + 1)) {
      Type *Element = First->getValueOperand()->getType();
      if (Element != Second->getValueOperand()->getType() || Element->isVectorTy() || !mayBeReadBefore(*First, *Second, Aliases))
        continue;
      auto Distance = getPointersDiff(Element, First->getPointerOperand(), Element, Second->getPointerOperand(), Layout,
                                      Evolution(), /*StrictCheck=*/true);
      if (Distance && (*Distance == 1 || *Distance == -1) && ++Apart == LeastApart)
        return true;
    }
  return false;
}

/// Whether the loop may gain by a second form for memory that does not overlap. The loop vectoriser, which
/// makes one itself, has left it alone.
bool mayGain(const Loop &L, AAResults &Aliases, function_ref<ScalarEvolution &()> Evolution) {
  if (!L.isInnermost() || !L.isRotatedForm() || !L.getExitingBlock() || getBooleanLoopAttribute(&L, "llvm.loop.isvectorized"))
    return false;
  if (none_of(L.blocks(), [&](BasicBlock *Block) { return storesNeighboursApart(*Block, Aliases, Evolution); }))
    return false;
  unsigned TripCount = Evolution().getSmallConstantTripCount(&L);
  return TripCount == 0 || TripCount >= LeastTripCount;
}

/// What LLVM finds out about a loop's accesses, with a scalar evolution of its own.
class Accesses {
public:
  Accesses(Function &F, FunctionAnalysisManager &Analyses, LoopInfo &Loops, DominatorTree &Tree, AAResults &Aliases)
      : SE(F, Analyses.getResult<TargetLibraryAnalysis>(F), Analyses.getResult<AssumptionAnalysis>(F), Tree, Loops),
        All(SE, Aliases, Tree, Loops, &Analyses.getResult<TargetIRAnalysis>(F), &Analyses.getResult<TargetLibraryAnalysis>(F)
#if LLVM_VERSION_MAJOR >= 22
                                                                                    ,
            &Analyses.getResult<AssumptionAnalysis>(F)
#endif
        ) {
  }

  /// The loop's, if comparing addresses before it can tell that nothing that it writes overlaps what else it
  /// uses.
  const LoopAccessInfo *ofComparable(Loop &L) {
    const LoopAccessInfo &Access = All.getInfo(L);
    unsigned Checks = Access.getNumRuntimePointerChecks();
    return !Access.hasConvergentOp() && Checks != 0 && Checks <= MostChecks ? &Access : nullptr;
  }

  /// Forgets everything, since loops have changed.
  void clear() { All.clear(); }

  ScalarEvolution SE;

private:
  LoopAccessInfoManager All;
};

/// Gives loops of straight-line code that stores to neighbouring places a second form, entered where nothing
/// that it writes overlaps what else it uses. Only there are the stores' vectors possible.
void versionLoops(Function &F, FunctionAnalysisManager &Analyses) {
  auto &Loops = Analyses.getResult<LoopAnalysis>(F);
  auto &Tree = Analyses.getResult<DominatorTreeAnalysis>(F);
  auto &Aliases = Analyses.getResult<AAManager>(F);
  // What LLVM's own was asked before would change what later passes make of functions without such loops.
  std::optional<Accesses> Own;
  auto Evolution = [&]() -> ScalarEvolution & {
    if (!Own)
      Own.emplace(F, Analyses, Loops, Tree, Aliases);
    return Own->SE;
  };
  SmallVector<Loop *, 8> Candidates;
  for (Loop *L : Loops.getLoopsInPreorder())
    if (mayGain(*L, Aliases, Evolution) && Own->ofComparable(*L))
      Candidates.push_back(L);
  if (Candidates.empty())
    return;
  for (Loop *L : Candidates) {
    Own->clear();
    simplifyLoop(L, &Tree, &Loops, &Own->SE, nullptr, nullptr, /*PreserveLCSSA=*/false);
    formLCSSARecursively(*L, Tree, &Loops, &Own->SE);
    const LoopAccessInfo *Access = L->isLoopSimplifyForm() ? Own->ofComparable(*L) : nullptr;
    if (!Access)
      continue;
    LoopVersioning Versions(*Access, Access->getRuntimePointerChecking()->getChecks(), L, &Loops, &Tree, &Own->SE);
    Versions.versionLoop();
    Versions.annotateLoopWithNoAlias();
  }
  Own.reset();
  Analyses.invalidate(F, PreservedAnalyses::none());
  // What was loaded before a store is still there after it.
  Analyses.invalidate(F, EarlyCSEPass(/*UseMemorySSA=*/true).run(F, Analyses));
}

} // namespace

extern "C" {

/// Marks a module as one whose floating-point results are settled.
void offloom_ir_mark_bits_matched(LLVMModuleRef module) {
  Module &M = *unwrap(module);
  M.getOrInsertNamedMetadata(BitsMatched)->addOperand(MDNode::get(M.getContext(), {}));
}

/// Whether a module is marked so.
bool offloom_ir_are_bits_matched(LLVMModuleRef module) { return unwrap(module)->getNamedMetadata(BitsMatched); }

/// Runs a pipeline, and before the SLP vectoriser gets a function, versions its loops for it; where results
/// are settled, the order in which loops compute them stays. Whether the text is a pipeline.
bool offloom_ir_run_with_versioned_loops(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *pipeline,
                                         size_t length) {
  offloom::Analyses All;
  PassInstrumentationCallbacks Callbacks;
  Callbacks.registerBeforeNonSkippedPassCallback([&](StringRef Pass, Any IR) {
    auto *Of = any_cast<const Function *>(&IR);
    if (!Of)
      return;
    Function &F = *const_cast<Function *>(*Of);
    // Sums that the ahead-of-time code has in memory: constants may have let them into registers, and their
    // loops be computed in another order.
    if (Pass == "LoopVectorizePass" && F.getParent()->getNamedMetadata(BitsMatched))
      offloom::leaveReorderableScalar(F);
    if (Pass == "SLPVectorizerPass")
      versionLoops(F, All.OfFunctions);
  });
  return offloom::runPipeline(*unwrap(module), reinterpret_cast<TargetMachine *>(machine), StringRef(pipeline, length), Callbacks,
                              All);
}
}
