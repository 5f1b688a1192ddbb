// Divisions with as few bits as their numbers need, as a C function with plain arguments, for divisions.rs.
// Rules as in shim/ir_shim.cpp.
//
// A GPU multiplies 32 bits: a quotient of 64 bits by a known number is some twenty of its instructions, one
// of 32 bits two or three. Clang counts the iterations of `collapse` with 64 bits, and how many there are is
// known where a launch's arguments are. LLVM sees it by scalar evolution alone, which none of its passes asks
// about divisions.

#include "division_rest.h"
#include "pipeline.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"
#include <optional>
#include <utility>

using namespace llvm;

namespace {

/// What a division by a known number leaves, products by powers of two as shifts too.
std::optional<offloom::Rest> restOf(Value *V) {
  using namespace PatternMatch;
  Value *Dividend, *Quotient;
  const APInt *Distance;
  if (!match(V, m_Sub(m_Value(Dividend), m_Shl(m_Value(Quotient), m_APInt(Distance)))) || Distance->uge(Distance->getBitWidth()))
    return offloom::Rest::of(V);
  return offloom::Rest::of(Dividend, Quotient, APInt::getOneBitSet(Distance->getBitWidth(), Distance->getZExtValue()));
}

/// A number without its high bits, and something that was added to it in between: `more + x - (x & -2^n)`. So
/// LLVM writes what a division by 2^n leaves of `more + x`, where it knows that `more` changes no high bit.
struct LowBits {
  Value *Of, *More;
  /// The high bits, as far as the number may have any.
  APInt High;

  static std::optional<LowBits> of(Value *V) {
    using namespace PatternMatch;
    Value *Sum, *Of, *More;
    const APInt *High;
    if (!match(V, m_Sub(m_Value(Sum), m_And(m_Value(Of), m_APInt(High)))) ||
        !(match(Sum, m_c_Add(m_Specific(Of), m_Value(More))) || match(Sum, m_c_DisjointOr(m_Specific(Of), m_Value(More)))))
      return std::nullopt;
    return LowBits{Of, More, *High};
  }

  /// 2^n - 1, if the number is at most this.
  std::optional<APInt> mask(const APInt &Most) const {
    APInt Low = APInt::getLowBitsSet(High.getBitWidth(), High.countr_zero());
    const bool IsWhole = (High | Low | APInt::getHighBitsSet(High.getBitWidth(), Most.countl_zero())).isAllOnes();
    return IsWhole ? std::optional(Low) : std::nullopt;
  }
};

/// How many low bits are zeros in all that a number is a sum of, and the number without them. LLVM shifts
/// numbers to the left, adds to them there, and shifts them back, in the place of narrow numbers that become
/// wide again.
class Shifted {
public:
  static unsigned zeros(Value *V, unsigned Depth = 4) {
    using namespace PatternMatch;
    const APInt *Number;
    Value *One, *Other;
    if (match(V, m_APInt(Number)))
      return Number->countr_zero();
    if (match(V, m_Shl(m_Value(), m_APInt(Number))))
      return Number->ult(Number->getBitWidth()) ? Number->getZExtValue() : 0;
    // What has other uses stays, and would be computed twice.
    if (!V->hasOneUse())
      return 0;
    if (match(V, m_Mul(m_Value(), m_APInt(Number))))
      return Number->countr_zero();
    if (Depth > 0 && (match(V, m_Add(m_Value(One), m_Value(Other))) || match(V, m_Sub(m_Value(One), m_Value(Other)))))
      return std::min(zeros(One, Depth - 1), zeros(Other, Depth - 1));
    return 0;
  }

  /// Each part is computed where it was: before a loop, if it was there.
  static Value *without(Value *V, unsigned Zeros) {
    using namespace PatternMatch;
    const APInt *Number;
    Value *One;
    if (match(V, m_APInt(Number)))
      return ConstantInt::get(V->getType(), Number->ashr(Zeros));
    auto *I = cast<BinaryOperator>(V);
    IRBuilder<> Builder(I);
    if (match(I, m_Shl(m_Value(One), m_APInt(Number))))
      return *Number == Zeros ? One : Builder.CreateShl(One, *Number - Zeros);
    if (match(I, m_Mul(m_Value(One), m_APInt(Number))))
      return Builder.CreateMul(One, ConstantInt::get(I->getType(), Number->ashr(Zeros)));
    One = without(I->getOperand(0), Zeros);
    return Builder.CreateBinOp(I->getOpcode(), One, without(I->getOperand(1), Zeros));
  }
};

/// The most that numbers without signs can be.
class Bounds {
public:
  explicit Bounds(ScalarEvolution &SE) : SE(SE) {}

  APInt most(Value *V) {
    if (auto *Number = dyn_cast<ConstantInt>(V))
      return Number->getValue();
    auto Known = Most.find(V);
    if (Known != Most.end())
      return Known->second;
    // Unreachable code may be computed from itself.
    Most.try_emplace(V, APInt::getMaxValue(V->getType()->getIntegerBitWidth()));
    APInt Found = SE.getUnsignedRangeMax(SE.getSCEV(V));
    // Scalar evolution sees through all of a long sum at once.
    constexpr unsigned MostSteps = 16;
    auto *I = dyn_cast<Instruction>(V);
    if (I && Steps < MostSteps) {
      ++Steps;
      if (auto Result = ofResult(*I))
        Found = APIntOps::umin(Found, *Result);
      --Steps;
    }
    return Most[V] = Found;
  }

  bool isNotNegative(Value *V) { return !most(V).isNegative(); }

private:
  std::optional<APInt> ofResult(Instruction &I) {
    using namespace PatternMatch;
    const unsigned Bits = I.getType()->getIntegerBitWidth();
    const APInt *Number;
    Value *Of;
    if (auto Left = restOf(&I))
      return isNotNegative(Left->Dividend) ? std::optional(atMost(Left->Dividend, Left->Divisor - 1)) : std::nullopt;
    if (auto Low = LowBits::of(&I)) {
      auto Mask = Low->mask(most(Low->Of));
      return Mask ? sum(most(Low->More), atMost(Low->Of, *Mask)) : std::nullopt;
    }
    if (match(&I, m_Shl(m_Value(Of), m_APInt(Number))) && Number->ult(most(Of).countl_zero()))
      return most(Of).shl(*Number);
    if (match(&I, m_Shr(m_Value(Of), m_APInt(Number))) && Number->ult(Bits) &&
        (I.getOpcode() == Instruction::LShr || isNotNegative(Of)))
      return most(Of).lshr(*Number);
    if (match(&I, m_UDiv(m_Value(Of), m_StrictlyPositive(Number))) ||
        (match(&I, m_SDiv(m_Value(Of), m_StrictlyPositive(Number))) && isNotNegative(Of)))
      return most(Of).udiv(*Number);
    if (match(&I, m_URem(m_Value(Of), m_StrictlyPositive(Number))) ||
        (match(&I, m_SRem(m_Value(Of), m_StrictlyPositive(Number))) && isNotNegative(Of)))
      return atMost(Of, *Number - 1);
    if (match(&I, m_And(m_Value(Of), m_APInt(Number))))
      return atMost(Of, *Number);
    if (match(&I, m_ZExt(m_Value(Of))) || (match(&I, m_SExt(m_Value(Of))) && isNotNegative(Of)))
      return most(Of).zext(Bits);
    if (match(&I, m_Trunc(m_Value(Of))) && most(Of).getActiveBits() <= Bits)
      return most(Of).trunc(Bits);
    if (I.getOpcode() == Instruction::Add || match(&I, m_DisjointOr(m_Value(), m_Value())))
      return sum(most(I.getOperand(0)), most(I.getOperand(1)));
    if (I.getOpcode() == Instruction::Mul) {
      bool Overflows = false;
      APInt Product = most(I.getOperand(0)).umul_ov(most(I.getOperand(1)), Overflows);
      return Overflows ? std::nullopt : std::optional(Product);
    }
    return std::nullopt;
  }

  static std::optional<APInt> sum(const APInt &One, const APInt &Other) {
    bool Overflows = false;
    APInt Sum = One.uadd_ov(Other, Overflows);
    return Overflows ? std::nullopt : std::optional(Sum);
  }

  APInt atMost(Value *V, const APInt &Bound) { return APIntOps::umin(most(V), Bound); }

  ScalarEvolution &SE;
  DenseMap<Value *, APInt> Most;
  /// From what was asked for to what is looked at.
  unsigned Steps = 0;
};

/// Makes the divisions of a function use fewer bits.
class Narrowing {
public:
  explicit Narrowing(ScalarEvolution &SE) : All(SE) {}

  /// How many numbers are computed otherwise now.
  uint32_t run(Function &F) {
    for (Instruction &I : make_early_inc_range(instructions(F)))
      shiftLess(I);
    for (BasicBlock *Block : ReversePostOrderTraversal<Function *>(&F))
      for (Instruction &I : *Block)
        if (I.getType()->isIntegerTy() && !I.use_empty())
          visit(I);
    // Not before all are found: what a division leaves is known by the division.
    for (auto &[I, Same] : Replaced)
      I->replaceAllUsesWith(Same);
    for (auto &[I, Same] : Replaced)
      Unused.emplace_back(I);
    for (auto &V : Unused)
      if (V)
        RecursivelyDeleteTriviallyDeadInstructions(V);
    return Shifts + Replaced.size();
  }

private:
  static constexpr unsigned Wide = 64, Few = 32;

  void visit(Instruction &I) {
    IRBuilder<> Builder(&I);
    if (auto Left = restOf(&I)) {
      if (!isWide(I) || !fits(Left->Dividend))
        return;
      Value *Product = Builder.CreateMul(narrow(Left->Quotient, Builder), Builder.getInt(Left->Divisor.trunc(Few)));
      narrowTo(Builder.CreateSub(narrow(Left->Dividend, Builder), Product), I, Builder);
    } else if (auto Low = LowBits::of(&I)) {
      auto Mask = Low->mask(All.most(Low->Of));
      if (!Mask || !isWide(I) || !fits(Low->Of) || !fits(&I))
        return;
      Value *Bits = Builder.CreateAnd(narrow(Low->Of, Builder), Builder.getInt(Mask->trunc(Few)));
      narrowTo(Builder.CreateAdd(Bits, narrow(Low->More, Builder)), I, Builder);
    } else if (I.isShift() && I.getOpcode() != Instruction::Shl && isa<ConstantInt>(I.getOperand(1))) {
      if (!isWide(I) || !fits(I.getOperand(0)) || !cast<ConstantInt>(I.getOperand(1))->getValue().ult(Few))
        return;
      narrowTo(Builder.CreateLShr(narrow(I.getOperand(0), Builder), narrow(I.getOperand(1), Builder)), I, Builder);
    } else if (I.isIntDivRem()) {
      const bool IsRest = I.getOpcode() == Instruction::SRem || I.getOpcode() == Instruction::URem;
      const auto Plain = IsRest ? Instruction::URem : Instruction::UDiv;
      Value *Dividend = I.getOperand(0), *Divisor = I.getOperand(1);
      if (isWide(I) && fits(Dividend) && fits(Divisor)) {
        narrowTo(Builder.CreateBinOp(Plain, narrow(Dividend, Builder), narrow(Divisor, Builder)), I, Builder);
      } else if (I.getOpcode() != Plain && All.isNotNegative(Dividend) && All.isNotNegative(Divisor)) {
        Replaced.emplace_back(&I, Builder.CreateBinOp(Plain, Dividend, Divisor));
      }
    }
  }

  /// Has a number that was shifted to the left, without losing anything, and then to the right, shifted once.
  void shiftLess(Instruction &I) {
    auto *Right = I.getOpcode() == Instruction::AShr && isWide(I) ? dyn_cast<ConstantInt>(I.getOperand(1)) : nullptr;
    const unsigned Zeros = Right && Right->getValue().ult(Wide) ? Shifted::zeros(I.getOperand(0)) : 0;
    if (Zeros == 0 || Zeros >= Wide)
      return;
    Value *Number = Shifted::without(I.getOperand(0), Zeros);
    Unused.emplace_back(Number);
    if (All.most(Number).getActiveBits() + Zeros >= Wide)
      return;
    ++Shifts;
    const uint64_t Distance = Right->getZExtValue();
    IRBuilder<> Builder(&I);
    if (Distance < Zeros)
      Number = Builder.CreateShl(Number, Zeros - Distance);
    else if (Distance > Zeros)
      Number = Builder.CreateLShr(Number, Distance - Zeros);
    I.replaceAllUsesWith(Number);
    Unused.emplace_back(&I);
  }

  static bool isWide(const Instruction &I) { return I.getType()->isIntegerTy(Wide); }

  bool fits(Value *V) { return All.most(V).getActiveBits() <= Few; }

  /// The same number with fewer bits.
  Value *narrow(Value *V, IRBuilder<> &Builder) {
    Value *Known = Narrow.lookup(V);
    return Known ? Known : Builder.CreateTrunc(V, Builder.getIntNTy(Few));
  }

  void narrowTo(Value *Result, Instruction &I, IRBuilder<> &Builder) {
    Narrow[&I] = Result;
    Replaced.emplace_back(&I, Builder.CreateZExt(Result, I.getType()));
  }

  Bounds All;
  DenseMap<Value *, Value *> Narrow;
  /// What may be of no use now. It goes last: what is known of a number is known by where it lies.
  SmallVector<WeakVH, 8> Unused;
  SmallVector<std::pair<WeakVH, Value *>, 8> Replaced;
  uint32_t Shifts = 0;
};

} // namespace

/// Makes divisions, and shifts to the right, use 32 bits instead of 64, and no signs, where all their numbers
/// allow it. Returns how many numbers are computed otherwise.
extern "C" uint32_t offloom_ir_narrow_divisions(LLVMModuleRef module) {
  const auto Divides = [](const Instruction &I) { return I.isIntDivRem() || (I.isShift() && I.getOpcode() != Instruction::Shl); };
  SmallVector<Function *, 4> Dividing;
  for (Function &F : *unwrap(module))
    if (!F.hasOptNone() && any_of(instructions(F), Divides))
      Dividing.push_back(&F);
  // Many kernels need no analyses.
  if (Dividing.empty())
    return 0;
  PassBuilder Builder;
  offloom::Analyses All;
  All.registerWith(Builder);
  uint32_t Changed = 0;
  for (Function *F : Dividing)
    Changed += Narrowing(All.OfFunctions.getResult<ScalarEvolutionAnalysis>(*F)).run(*F);
  return Changed;
}
