// Loops that divide the numbers of their iterations by numbers that a launch has made known, as a C function
// with plain arguments, for divisions.rs. Rules as in shim/ir_shim.cpp.
//
// The loops of `collapse` begin with divisions, and so do kernels that compute places from one number. Two
// things are done. Numbers of iterations are not negative, which LLVM cannot know where the OpenMP runtime
// tells a thread which are its own: a division without a sign takes half as long. And iterations that have
// the same quotients become a loop of their own, in the order in which they were: there the quotients do not
// change, what is left of the divisions goes up by one, and where the loop reads and writes may be known.

#include "division_rest.h"
#include "pipeline.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include <optional>
#include <type_traits>
#include <utility>

using namespace llvm;

namespace {

/// A loop whose iterations threads, or teams, share: the call by which one of them asks the runtime which
/// iterations are its own, `__kmpc_for_static_init_*(location, thread, schedule, is last, lower, upper,
/// stride, increment, chunk)`. The loop's bounds are in its variables before, and those of a part after it.
class StaticLoop {
public:
  /// Each has one part at most, and numbers go up by one.
  static std::optional<StaticLoop> ofCall(const Instruction &I) {
    constexpr uint64_t Static = 34, DistributeStatic = 92, WithoutModifiers = 0xffff;
    auto *Call = dyn_cast<CallInst>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (!Callee || !Callee->getName().starts_with("__kmpc_for_static_init_") || Call->arg_size() != 9)
      return std::nullopt;
    auto *Schedule = dyn_cast<ConstantInt>(Call->getArgOperand(2));
    auto *Lower = dyn_cast<AllocaInst>(Call->getArgOperand(4)->stripPointerCasts());
    auto *Increment = dyn_cast<ConstantInt>(Call->getArgOperand(7));
    if (!Schedule || !Lower || !Increment || !Increment->isOne() || Lower->getAllocatedType() != Increment->getType())
      return std::nullopt;
    if (!is_contained({Static, DistributeStatic}, Schedule->getZExtValue() & WithoutModifiers))
      return std::nullopt;
    return StaticLoop(*Call, *Lower);
  }

  bool isSigned() const { return !Call->getCalledFunction()->getName().ends_with("u"); }

  /// Whether a value is the number of the part's first iteration.
  bool isFirst(const Value *V) const {
    auto *Load = dyn_cast<LoadInst>(V);
    return Load && Load->getPointerOperand()->stripPointerCasts() == Lower && Load->getType() == Lower->getAllocatedType();
  }

  /// Whether no number of an iteration is negative: the first one is 0 or more, or that of a part of such a
  /// loop, and nothing but the runtime changes it.
  bool startsAtZeroOrAbove(unsigned MostRegions = 2) const {
    const Value *First = nullptr;
    for (const User *U : Lower->users()) {
      if (auto *Store = dyn_cast<StoreInst>(U)) {
        if (First || Store->getPointerOperand() != Lower || Store->getValueOperand()->getType() != Lower->getAllocatedType())
          return false;
        First = Store->getValueOperand();
      } else if (U != Call && !isa<LoadInst>(U) && !isa<LifetimeIntrinsic>(U)) {
        return false;
      }
    }
    if (!First)
      return false;
    const unsigned Bits = First->getType()->getIntegerBitWidth();
    // Whatever is handed on holds those bits, and maybe others above them.
    while (isa<CastInst>(First) || isa<Argument>(First)) {
      if (auto *Parameter = dyn_cast<Argument>(First)) {
        if (MostRegions == 0)
          return false;
        --MostRegions;
        First = given(*Parameter);
      } else {
        First = cast<CastInst>(First)->getOperand(0);
      }
      if (!First || !First->getType()->isIntegerTy() || First->getType()->getIntegerBitWidth() < Bits)
        return false;
    }
    if (auto *Number = dyn_cast<ConstantInt>(First))
      return !Number->getValue().trunc(Bits).isNegative();
    auto *Load = dyn_cast<LoadInst>(First);
    auto *Variable = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()->stripPointerCasts()) : nullptr;
    if (!Variable || Load->getType()->getIntegerBitWidth() != Bits || MostRegions == 0)
      return false;
    return any_of(Variable->users(), [&](const User *U) {
      auto *I = dyn_cast<Instruction>(U);
      auto Around = I ? ofCall(*I) : std::nullopt;
      return Around && Around->isFirst(Load) && Around->isSigned() && Around->startsAtZeroOrAbove(MostRegions - 1);
    });
  }

private:
  StaticLoop(const CallInst &Call, const AllocaInst &Lower) : Call(&Call), Lower(&Lower) {}

  /// What the code of a region is always handed for a parameter, by the only call that starts it; or null.
  static const Value *given(const Argument &Parameter) {
    constexpr unsigned RegionArgument = 2, FirstShared = 3, FirstOfRegion = 2;
    const Function &Region = *Parameter.getParent();
    auto *Start = Region.hasLocalLinkage() && Region.hasOneUse() ? dyn_cast<CallInst>(Region.user_back()) : nullptr;
    const Function *Callee = Start ? Start->getCalledFunction() : nullptr;
    if (!Callee || Callee->getName() != "__kmpc_fork_call" || Start->getArgOperand(RegionArgument) != &Region)
      return nullptr;
    const unsigned Number = Parameter.getArgNo() - FirstOfRegion + FirstShared;
    return Parameter.getArgNo() >= FirstOfRegion && Number < Start->arg_size() ? Start->getArgOperand(Number) : nullptr;
  }

  const CallInst *Call;
  const AllocaInst *Lower;
};

/// Whether a number is divided by another one that is known.
bool divides(const Instruction &I) { return I.isIntDivRem() && I.getType()->isIntegerTy() && isa<ConstantInt>(I.getOperand(1)); }

bool divides(const BasicBlock &Block) {
  return any_of(Block, [](const Instruction &I) { return divides(I); });
}

bool divides(const Loop &L) {
  return any_of(L.blocks(), [](const BasicBlock *Block) { return divides(*Block); });
}

bool divides(const Function &F) {
  return any_of(F, [](const BasicBlock &Block) { return divides(Block); });
}

/// A variable that a loop counts up by one, from 0 or more.
struct Counter {
  PHINode *Number;
  /// Its value in the last iteration, and the most that this can be.
  const SCEV *Last;
  APInt Most;
};

/// Whether the only way out of a loop is taken by this variable: then it is no poison in any iteration.
bool decidesEnd(const PHINode &Number, const Loop &L) {
  const ICmpInst *End = L.getExitingBlock() == L.getLoopLatch() ? L.getLatchCmpInst() : nullptr;
  return End && any_of(End->operands(), [&](const Value *V) {
           while (isa<TruncInst>(V) || isa<ZExtInst>(V) || isa<SExtInst>(V))
             V = cast<CastInst>(V)->getOperand(0);
           return V == &Number || V == Number.getIncomingValueForBlock(L.getLoopLatch());
         });
}

/// The counter that a variable is, if it is one. `Shared` are the loops that the function shares with
/// others.
std::optional<Counter> counterOf(PHINode &Number, Loop &L, ArrayRef<StaticLoop> Shared, ScalarEvolution &SE) {
  auto *Counted = Number.getType()->isIntegerTy() ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&Number)) : nullptr;
  const SCEV *Rounds = SE.getBackedgeTakenCount(&L);
  if (!Counted || !decidesEnd(Number, L) || Counted->getLoop() != &L || !Counted->isAffine() ||
      !Counted->getStepRecurrence(SE)->isOne() || isa<SCEVCouldNotCompute>(Rounds))
    return std::nullopt;
  const SCEV *First = Counted->getStart();
  while (isa<SCEVSignExtendExpr>(First) || isa<SCEVZeroExtendExpr>(First))
    First = cast<SCEVCastExpr>(First)->getOperand();
  bool IsSigned = true, IsShared = false;
  if (auto *Read = dyn_cast<SCEVUnknown>(First)) {
    const auto *Of = find_if(Shared, [&](const StaticLoop &Each) { return Each.isFirst(Read->getValue()); });
    IsShared = Of != Shared.end() && (!Of->isSigned() || Of->startsAtZeroOrAbove());
    IsSigned = !IsShared || Of->isSigned();
  }
  if (!IsShared && !SE.isKnownNonNegative(First))
    return std::nullopt;
  // LLVM counts in a wider variable, and compares what it was. Fewer rounds than the narrow one has numbers,
  // none of which is above the last, are the same in both.
  const bool CountsNarrow = SE.getTypeSizeInBits(Rounds->getType()) <= SE.getTypeSizeInBits(First->getType());
  auto *Recurrence = CountsNarrow ? dyn_cast<SCEVAddRecExpr>(SE.getTruncateOrNoop(Counted, First->getType())) : Counted;
  if (!Recurrence || !Recurrence->isAffine() || !Recurrence->getStepRecurrence(SE)->isOne())
    return std::nullopt;
  if (SE.getUnsignedRangeMax(Rounds).getActiveBits() > SE.getTypeSizeInBits(Recurrence->getType()))
    return std::nullopt;
  const SCEV *Last = Recurrence->evaluateAtIteration(Rounds, SE);
  const auto AtMost = IsSigned ? ICmpInst::ICMP_SLE : ICmpInst::ICMP_ULE;
  if (isa<SCEVCouldNotCompute>(Last) || !SE.isLoopEntryGuardedByCond(&L, AtMost, Recurrence->getStart(), Last))
    return std::nullopt;
  APInt Most = IsSigned ? SE.getSignedRangeMax(Last) : SE.getUnsignedRangeMax(Last);
  if (Most.isNegative())
    return std::nullopt;
  return Counter{&Number, SE.getNoopOrZeroExtend(Last, Number.getType()), Most.zext(Number.getType()->getIntegerBitWidth())};
}

/// What a loop divides its counter by.
class Divisions {
public:
  Divisions(const Counter &Of, Loop &L) : Of(Of), L(L) { Counted.insert(Of.Number); }

  /// Finds divisions of the counter, and of what others leave of it, and takes the signs of those away that
  /// have one. Whether there are divisions.
  bool dropSigns(LoopInfo &Loops) {
    LoopBlocksRPO Order(&L);
    Order.perform(&Loops);
    for (BasicBlock *Block : Order)
      for (Instruction &I : make_early_inc_range(*Block))
        add(I);
    return !Quotients.empty() || !Rests.empty();
  }

  /// How many iterations have the same quotients, if the number is worth a loop: 0 if not.
  uint64_t lengthOfBlock() const {
    constexpr uint64_t Least = 8;
    uint64_t Length = *min_element(Divisors);
    return Length >= Least && all_of(Divisors, [&](uint64_t Each) { return Each % Length == 0; }) ? Length : 0;
  }

  /// Has each iteration of a block take the quotients of the block's first one, whose number is `First`.
  void takeFrom(Value *First, IRBuilder<> &Builder) {
    Firsts[Of.Number] = First;
    for (Instruction *I : Quotients)
      atFirst(I, Builder);
    SmallVector<Value *, 4> Bases;
    for (auto &[Rest, Dividend] : Rests)
      Bases.push_back(Builder.CreateSub(atFirst(Dividend, Builder), atFirst(Rest, Builder)));
    for (Instruction *I : Quotients)
      I->replaceAllUsesWith(Firsts[I]);
    for (auto [Each, Base] : zip(Rests, Bases)) {
      Instruction *Rest = Each.first;
      Rest->replaceAllUsesWith(IRBuilder<>(Rest).CreateSub(Rest->getOperand(0), Base));
    }
  }

private:
  void add(Instruction &I) {
    using namespace PatternMatch;
    Value *Dividend;
    const APInt *Divisor;
    if (isa<ZExtInst, SExtInst, TruncInst>(I)) {
      // Numbers stay what they are, not negative ones.
      if (!I.getType()->isIntegerTy() || Of.Most.getActiveBits() >= I.getType()->getScalarSizeInBits() ||
          Of.Most.getActiveBits() >= I.getOperand(0)->getType()->getScalarSizeInBits())
        return;
      if (Counted.contains(I.getOperand(0)))
        Counted.insert(&I);
      else if (Fixed.contains(I.getOperand(0)))
        Fixed.insert(&I);
    } else if (match(&I, m_IDiv(m_Value(Dividend), m_StrictlyPositive(Divisor)))) {
      addQuotient(I, *Dividend, *Divisor);
    } else if (match(&I, m_IRem(m_Value(Dividend), m_StrictlyPositive(Divisor)))) {
      addRest(I, *Dividend, *Divisor);
    } else if (auto Left = offloom::Rest::of(&I);
               Left && Counted.contains(Left->Dividend) && match(Left->Quotient, m_UDiv(m_Value(), m_Value()))) {
      Counted.insert(&I);
    }
  }

  void addQuotient(Instruction &I, Value &Dividend, const APInt &Divisor) {
    const bool IsCounted = Counted.contains(&Dividend);
    if (!IsCounted && !Fixed.contains(&Dividend))
      return;
    Instruction *Plain = withoutSign(I, Instruction::UDiv);
    Fixed.insert(Plain);
    if (IsCounted) {
      Quotients.push_back(Plain);
      addDivisor(Divisor);
    }
  }

  void addRest(Instruction &I, Value &Dividend, const APInt &Divisor) {
    if (Fixed.contains(&Dividend)) {
      Fixed.insert(withoutSign(I, Instruction::URem));
      return;
    }
    if (!Counted.contains(&Dividend))
      return;
    Instruction *Plain = withoutSign(I, Instruction::URem);
    Counted.insert(Plain);
    Rests.emplace_back(Plain, &Dividend);
    addDivisor(Divisor);
  }

  /// By 1, no number is worth a loop: so for those that hardly any loop reaches.
  void addDivisor(const APInt &Divisor) { Divisors.push_back(Divisor.getActiveBits() < 64 ? Divisor.getZExtValue() : 1); }

  /// The same division of numbers that are not negative.
  static Instruction *withoutSign(Instruction &I, Instruction::BinaryOps Operation) {
    I.dropPoisonGeneratingFlags();
    if (I.getOpcode() == Operation)
      return &I;
    auto *Plain = BinaryOperator::Create(Operation, I.getOperand(0), I.getOperand(1), "", I.getIterator());
    Plain->setDebugLoc(I.getDebugLoc());
    Plain->takeName(&I);
    I.replaceAllUsesWith(Plain);
    I.eraseFromParent();
    return Plain;
  }

  /// What a number that is computed from the counter alone is in the block's first iteration.
  Value *atFirst(Value *V, IRBuilder<> &Builder) {
    if (Value *Known = Firsts.lookup(V))
      return Known;
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L.contains(I))
      return V;
    Instruction *Copy = I->clone();
    for (Use &Operand : Copy->operands())
      Operand.set(atFirst(Operand, Builder));
    // It is computed whether or not that iteration comes here.
    Copy->dropPoisonGeneratingFlags();
    Copy->dropLocation();
    Builder.Insert(Copy);
    return Firsts[V] = Copy;
  }

  const Counter &Of;
  Loop &L;
  /// What goes up by one from one iteration to the next within a block, and what stays.
  SmallPtrSet<Value *, 8> Counted, Fixed;
  SmallVector<Instruction *, 4> Quotients;
  /// What divisions leave, and the numbers that are divided.
  SmallVector<std::pair<Instruction *, Value *>, 4> Rests;
  SmallVector<uint64_t, 8> Divisors;
  SmallDenseMap<Value *, Value *, 8> Firsts;
};

/// LLVM 22's no longer takes a layout.
template <typename Expander> Expander expanderOf(ScalarEvolution &SE, const DataLayout &Layout) {
  if constexpr (std::is_constructible_v<Expander, ScalarEvolution &, const DataLayout &, const char *>)
    return Expander(SE, Layout, "last");
  else
    return Expander(SE, "last");
}

/// Makes a loop of blocks of a loop: around it comes one that begins each block, the first of which may be
/// shorter, and the last. False: nothing was done, since the last number cannot be computed before the loop.
bool runInBlocks(const Counter &Of, Loop &L, Divisions &All, uint64_t Length, ScalarEvolution &SE) {
  BasicBlock *Before = L.getLoopPreheader(), *Header = L.getHeader(), *Latch = L.getLoopLatch(), *Exit = L.getExitBlock();
  Function &F = *Header->getParent();
  auto Expander = expanderOf<SCEVExpander>(SE, F.getDataLayout());
  if (!Expander.isSafeToExpandAt(Of.Last, Before->getTerminator()))
    return false;
  Type *T = Of.Number->getType();
  Value *Last = Expander.expandCodeFor(Of.Last, T, Before->getTerminator()->getIterator());

  BasicBlock *Begin = BasicBlock::Create(F.getContext(), "block", &F, Header);
  BasicBlock *End = BasicBlock::Create(F.getContext(), "block.end", &F, Exit);
  for (PHINode &Phi : Header->phis()) {
    PHINode *Outer = PHINode::Create(Phi.getType(), 2, Phi.getName() + ".block", Begin);
    Outer->addIncoming(Phi.getIncomingValueForBlock(Before), Before);
    Outer->addIncoming(Phi.getIncomingValueForBlock(Latch), End);
    int Entry = Phi.getBasicBlockIndex(Before);
    Phi.setIncomingBlock(Entry, Begin);
    Phi.setIncomingValue(Entry, Outer);
  }
  Before->getTerminator()->replaceSuccessorWith(Header, Begin);
  IRBuilder<> Builder(Begin);
  Value *First = Of.Number->getIncomingValueForBlock(Begin);
  Value *Left = Builder.CreateSub(ConstantInt::get(T, Length - 1), Builder.CreateURem(First, ConstantInt::get(T, Length)));
  Value *More = Builder.CreateBinaryIntrinsic(Intrinsic::umin, Left, Builder.CreateSub(Last, First));
  Value *LastOfBlock = Builder.CreateAdd(First, More, "block.last", /*HasNUW=*/true);
  All.takeFrom(First, Builder);
  Builder.CreateBr(Header);

  Instruction *Back = Latch->getTerminator();
  Builder.SetInsertPoint(Back);
  auto *Ends = Builder.CreateCondBr(Builder.CreateICmpEQ(Of.Number, LastOfBlock), End, Header);
  Ends->setDebugLoc(Back->getDebugLoc());
  Ends->setMetadata(LLVMContext::MD_loop, Back->getMetadata(LLVMContext::MD_loop));
  Value *Condition = Back->getOperand(0);
  Back->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(Condition);
  Builder.SetInsertPoint(End);
  Builder.CreateCondBr(Builder.CreateICmpEQ(LastOfBlock, Last), Exit, Begin);
  Exit->replacePhiUsesWith(Latch, End);
  return true;
}

/// What was done with a loop.
enum class Done { Nothing, WithoutSigns, InBlocks };

/// Does the loop that `L` is: without signs, and in blocks where that can be done and pays.
Done splitLoop(Loop &L, ArrayRef<StaticLoop> Shared, LoopInfo &Loops, ScalarEvolution &SE) {
  auto Most = Done::Nothing;
  for (PHINode &Phi : L.getHeader()->phis()) {
    auto Of = counterOf(Phi, L, Shared, SE);
    if (!Of)
      continue;
    Divisions All(*Of, L);
    if (!All.dropSigns(Loops))
      continue;
    Most = Done::WithoutSigns;
    uint64_t Length = All.lengthOfBlock();
    // A loop of one block stays, and one around others, in which most of the time is spent.
    if (Length == 0 || Of->Most.ult(Length) || !L.isInnermost() || !L.isLoopSimplifyForm())
      continue;
    if (runInBlocks(*Of, L, All, Length, SE))
      return Done::InBlocks;
  }
  return Most;
}

/// In how many loops divisions have no signs now, or had none; and how many were put into blocks.
struct LoopCounts {
  uint32_t WithoutSigns = 0, InBlocks = 0;
};

/// Does all loops of a function, once each.
void splitLoops(Function &F, FunctionAnalysisManager &Analyses, LoopCounts &Counts) {
  SmallVector<StaticLoop, 2> Shared;
  for (Instruction &I : instructions(F))
    if (auto Found = StaticLoop::ofCall(I))
      Shared.push_back(*Found);
  SmallPtrSet<BasicBlock *, 8> Seen;
  bool IsSimple = false;
  for (bool Changed = true; Changed;) {
    Changed = false;
    auto &Loops = Analyses.getResult<LoopAnalysis>(F);
    for (Loop *L : Loops.getLoopsInPreorder()) {
      if (!divides(*L) || !Seen.insert(L->getHeader()).second)
        continue;
      if (!IsSimple) {
        // Headers stay, as do the loops.
        Seen.clear();
        IsSimple = Changed = true;
        Analyses.invalidate(F, LoopSimplifyPass().run(F, Analyses));
        break;
      }
      Done DoneHere = splitLoop(*L, Shared, Loops, Analyses.getResult<ScalarEvolutionAnalysis>(F));
      Counts.WithoutSigns += DoneHere != Done::Nothing;
      if (DoneHere == Done::InBlocks) {
        ++Counts.InBlocks;
        Changed = true;
        Analyses.invalidate(F, PreservedAnalyses::none());
        break;
      }
    }
  }
}

} // namespace

/// Divides numbers of iterations without signs where it can be shown that they are not negative, and has
/// those with equal quotients run in a loop of their own. Writes in how many loops each was done.
extern "C" void offloom_ir_divide_less(LLVMModuleRef module, uint32_t *without_signs, uint32_t *in_blocks) {
  SmallVector<Function *, 4> Dividing;
  for (Function &F : *unwrap(module))
    if (!F.hasOptNone() && divides(F))
      Dividing.push_back(&F);
  LoopCounts Counts;
  // Most kernels need no analyses.
  if (!Dividing.empty()) {
    PassBuilder Builder;
    offloom::Analyses All;
    All.registerWith(Builder);
    for (Function *F : Dividing)
      splitLoops(*F, All.OfFunctions, Counts);
  }
  *without_signs = Counts.WithoutSigns;
  *in_blocks = Counts.InBlocks;
}
