// Divisions with as few bits as their numbers need, as a C function with plain arguments, for divisions.rs.
// Rules as in shim/ir_shim.cpp.
//
// A GPU multiplies 32 bits: a quotient of 64 bits by a known number is some twenty of its instructions, one of
// 32 bits two or three. Clang counts the iterations of `collapse` with 64 bits, and how many there are is
// known where a launch's arguments are. LLVM sees it by scalar evolution alone, which none of its passes asks
// about divisions.

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

/// What a division by a known number leaves, `x - x / c * c`, as LLVM writes it.
struct Rest {
  Value *Dividend, *Quotient;
  APInt Divisor;

  static std::optional<Rest> of(Value *V) {
    using namespace PatternMatch;
    Value *Dividend, *Quotient;
    const APInt *Factor, *Divisor;
    const bool IsSum = match(V, m_c_Add(m_c_Mul(m_Value(Quotient), m_APInt(Factor)), m_Value(Dividend)));
    if (!IsSum && !match(V, m_Sub(m_Value(Dividend), m_c_Mul(m_Value(Quotient), m_APInt(Factor)))))
      return std::nullopt;
    // Of a sum of two products one is looked at.
    if (!match(Quotient, m_IDiv(m_Specific(Dividend), m_StrictlyPositive(Divisor))) || *Factor != (IsSum ? -*Divisor : *Divisor))
      return std::nullopt;
    return Rest{Dividend, Quotient, *Divisor};
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
    // Whoever comes here again on the way asks no further.
    Most.try_emplace(V, APInt::getMaxValue(V->getType()->getIntegerBitWidth()));
    APInt Found = SE.getUnsignedRangeMax(SE.getSCEV(V));
    if (auto *I = dyn_cast<Instruction>(V))
      if (auto Result = ofResult(*I))
        Found = APIntOps::umin(Found, *Result);
    return Most[V] = Found;
  }

  bool isNotNegative(Value *V) { return !most(V).isNegative(); }

private:
  std::optional<APInt> ofResult(Instruction &I) {
    using namespace PatternMatch;
    const unsigned Bits = I.getType()->getIntegerBitWidth();
    const APInt *Number;
    Value *Of;
    if (auto Left = Rest::of(&I))
      return isNotNegative(Left->Dividend) ? std::optional(atMost(Left->Dividend, Left->Divisor - 1)) : std::nullopt;
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
    if (I.getOpcode() == Instruction::Add || I.getOpcode() == Instruction::Mul) {
      const APInt One = most(I.getOperand(0)), Other = most(I.getOperand(1));
      bool Overflows = false;
      APInt Result = I.getOpcode() == Instruction::Add ? One.uadd_ov(Other, Overflows) : One.umul_ov(Other, Overflows);
      return Overflows ? std::nullopt : std::optional(Result);
    }
    return std::nullopt;
  }

  APInt atMost(Value *V, const APInt &Bound) { return APIntOps::umin(most(V), Bound); }

  ScalarEvolution &SE;
  DenseMap<Value *, APInt> Most;
};

/// Makes the divisions of a function use fewer bits.
class Narrowing {
public:
  explicit Narrowing(ScalarEvolution &SE) : All(SE) {}

  /// How many divisions have no sign now, or fewer bits.
  uint32_t run(Function &F) {
    for (BasicBlock *Block : ReversePostOrderTraversal<Function *>(&F))
      for (Instruction &I : *Block)
        if (I.getType()->isIntegerTy())
          visit(I);
    // Not before all are found: what a division leaves is known by the division.
    for (auto &[I, Same] : Replaced)
      I->replaceAllUsesWith(Same);
    for (auto &[I, Same] : Replaced)
      if (I)
        RecursivelyDeleteTriviallyDeadInstructions(I);
    return Changed;
  }

private:
  static constexpr unsigned Wide = 64, Few = 32;

  void visit(Instruction &I) {
    IRBuilder<> Builder(&I);
    if (auto Left = Rest::of(&I)) {
      if (!isWide(I) || !fits(Left->Dividend))
        return;
      Value *Product = Builder.CreateNUWMul(narrow(Left->Quotient, Builder), Builder.getInt(Left->Divisor.trunc(Few)));
      narrowTo(Builder.CreateNUWSub(narrow(Left->Dividend, Builder), Product), I, Builder);
    } else if (I.isIntDivRem()) {
      const bool IsRest = I.getOpcode() == Instruction::SRem || I.getOpcode() == Instruction::URem;
      const auto Plain = IsRest ? Instruction::URem : Instruction::UDiv;
      Value *Dividend = I.getOperand(0), *Divisor = I.getOperand(1);
      if (isWide(I) && fits(Dividend) && fits(Divisor)) {
        ++Changed;
        narrowTo(Builder.CreateBinOp(Plain, narrow(Dividend, Builder), narrow(Divisor, Builder)), I, Builder);
      } else if (I.getOpcode() != Plain && All.isNotNegative(Dividend) && All.isNotNegative(Divisor)) {
        ++Changed;
        Replaced.emplace_back(&I, Builder.CreateBinOp(Plain, Dividend, Divisor));
      }
    }
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
  /// Originals may go with others.
  SmallVector<std::pair<WeakVH, Value *>, 8> Replaced;
  uint32_t Changed = 0;
};

} // namespace

/// Makes divisions use 32 bits instead of 64, and no signs, where all their numbers allow it. Returns how many.
extern "C" uint32_t offloom_ir_narrow_divisions(LLVMModuleRef module) {
  const auto Divides = [](const Function &F) {
    return !F.hasOptNone() && any_of(instructions(F), [](const Instruction &I) { return I.isIntDivRem(); });
  };
  uint32_t Changed = 0;
  PassBuilder Builder;
  offloom::Analyses All;
  bool IsRegistered = false;
  for (Function &F : *unwrap(module)) {
    if (!Divides(F))
      continue;
    // Many kernels need no analyses.
    if (!std::exchange(IsRegistered, true))
      All.registerWith(Builder);
    Changed += Narrowing(All.OfFunctions.getResult<ScalarEvolutionAnalysis>(F)).run(F);
  }
  return Changed;
}
