// Operations that code generation rounds twice, or very small results of which it makes zeros
// (floating_point.rs), as a C function with plain arguments. Rules as in shim/ir_shim.cpp.

#include "two_roundings.h"
#include "nvidia_processor.h"
#include "subtarget.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include <memory>

using namespace llvm;
using offloom::processorOf;

namespace {

/// Whether it multiplies and adds at once numbers of the type.
bool fusesNumbers(const Instruction &I, Type::TypeID Number) {
  auto *Call = dyn_cast<IntrinsicInst>(&I);
  return Call && Call->getIntrinsicID() == Intrinsic::fma && Call->getType()->getScalarType()->getTypeID() == Number;
}

/// Whether it makes a `__bf16` of an integer.
bool convertsToBFloat(const Instruction &I) {
  return (isa<SIToFPInst>(I) || isa<UIToFPInst>(I)) && I.getType()->getScalarType()->isBFloatTy();
}

/// Whether it makes a `__bf16` of a longer number.
bool shortensToBFloat(const Instruction &I) { return isa<FPTruncInst>(I) && I.getType()->getScalarType()->isBFloatTy(); }

/// Whether it computes with two numbers of `__bf16`, as LLVM does with what becomes one in the end.
bool computesBFloat(const Instruction &I) { return isa<BinaryOperator>(I) && I.getType()->getScalarType()->isBFloatTy(); }

/// What code generation for a function's processor takes a detour for.
class Detours {
public:
  explicit Detours(const Function &F)
      : Target(F.getParent()->getTargetTriple()), Known(processorOf(F)), Number(offloom::nvidiaProcessor(F)) {
    F.getFnAttribute("target-features").getValueAsString().split(Features, ',');
  }

  /// The type between an integer and its `__bf16`; null where it comes to that by one rounding.
  Type *between(const Instruction &Conversion) const {
    LLVMContext &Context = Conversion.getContext();
    unsigned Bits = Conversion.getOperand(0)->getType()->getScalarSizeInBits();
    // It is rounded to `double`, and what that leaves so that the last rounding is right.
    if (Target.isAArch64())
      return Bits > 53 ? Type::getDoubleTy(Context) : nullptr;
    bool HasConversion = Target.isNVPTX() && Number >= 90;
    bool IsKnown = Target.isX86() || Target.isNVPTX() || Target.isAMDGPU();
    return IsKnown && !HasConversion && Bits > 24 ? Type::getFloatTy(Context) : nullptr;
  }

  /// Whether `__bf16` is multiplied and added as `float`.
  bool fuseBFloatAsFloat() const {
    if (Target.isNVPTX())
      return Number < 80;
    return (Target.isX86() && !hasAVX10()) || Target.isAArch64();
  }

  /// Whether `_Float16` is multiplied and added as another type: as `float` by LLVM 19, by later ones as
  /// `double`, which comes to one rounding.
  bool fuseHalfOtherwise() const { return (Target.isX86() && !has("+avx512fp16")) || (Target.isAArch64() && !has("+fullfp16")); }

  /// Whether very small numbers become zeros where a `__bf16` is made of `float`: the instructions for that
  /// ask nobody.
  bool flushBFloat() const { return Target.isX86() && (has("+avx512bf16") || has("+avxneconvert") || hasAVX10()); }

private:
  /// One that each LLVM knows.
  bool has(StringRef Feature) const { return Known && Known->checkFeatures(Feature); }

  /// Its names are not the same in each LLVM, which takes what it does not know for there.
  bool hasAVX10() const {
    return any_of(Features, [](StringRef Feature) { return Feature.starts_with("+avx10.2"); });
  }

  Triple Target;
  std::unique_ptr<MCSubtargetInfo> Known;
  SmallVector<StringRef, 64> Features;
  /// Of an NVIDIA processor.
  unsigned Number;
};

/// The type with numbers of another one.
Type *ofNumbers(Type *T, Type *Number) {
  auto *Vector = dyn_cast<VectorType>(T);
  return Vector ? VectorType::get(Number, Vector->getElementCount()) : Number;
}

/// Has an operation be computed by code generation. What is made of constants alone, code generation folds
/// ahead of time, too.
void leaveToCodeGeneration(Instruction &I) {
  auto *Call = dyn_cast<CallBase>(&I);
  for (Use &Operand : Call ? Call->args() : I.operands())
    if (!isa<Constant>(Operand.get())) {
      IRBuilder<> Builder(&I);
      Operand.set(Builder.CreateIntrinsic(Intrinsic::arithmetic_fence, {Operand->getType()}, {Operand.get()}));
      return;
    }
}

/// The operation by way of another type; null where it stays.
Value *bySteps(Instruction &I, const Detours &Takes) {
  IRBuilder<> Builder(&I);
  Type *T = I.getType();
  if (auto *Conversion = dyn_cast<CastInst>(&I)) {
    Type *Between = Takes.between(*Conversion);
    if (!Between)
      return nullptr;
    Value *First = Builder.CreateCast(Conversion->getOpcode(), Conversion->getOperand(0), ofNumbers(T, Between));
    return Builder.CreateFPTrunc(First, T);
  }
  if (!Takes.fuseBFloatAsFloat())
    return nullptr;
  Type *Wide = ofNumbers(T, Builder.getFloatTy());
  SmallVector<Value *, 3> Operands;
  for (Value *Operand : cast<IntrinsicInst>(I).args())
    Operands.push_back(Builder.CreateFPExt(Operand, Wide));
  Value *Result = Builder.CreateIntrinsic(Intrinsic::fma, {Wide}, Operands);
  if (Takes.flushBFloat())
    Result = Builder.CreateIntrinsic(Intrinsic::arithmetic_fence, {Wide}, {Result});
  return Builder.CreateFPTrunc(Result, T);
}

} // namespace

bool offloom::mayRoundOtherwise(const Instruction &I) {
  return convertsToBFloat(I) || shortensToBFloat(I) || computesBFloat(I) || fusesNumbers(I, Type::BFloatTyID) ||
         fusesNumbers(I, Type::HalfTyID);
}

/// Has operations that code generation rounds twice be rounded twice, or not be folded; nor those whose very
/// small results it makes zeros.
extern "C" void offloom_ir_spell_out_roundings(LLVMModuleRef module) {
  for (Function &F : *unwrap(module)) {
    SmallVector<Instruction *, 16> Found;
    for (Instruction &I : instructions(F))
      if (offloom::mayRoundOtherwise(I))
        Found.push_back(&I);
    if (Found.empty())
      continue;
    Detours Takes(F);
    for (Instruction *I : Found) {
      if (fusesNumbers(*I, Type::HalfTyID)) {
        if (Takes.fuseHalfOtherwise())
          leaveToCodeGeneration(*I);
      } else if (shortensToBFloat(*I) || computesBFloat(*I)) {
        if (Takes.flushBFloat())
          leaveToCodeGeneration(*I);
      } else if (Value *Result = bySteps(*I, Takes)) {
        I->replaceAllUsesWith(Result);
        I->eraseFromParent();
      } else if (isa<CallInst>(I) && Takes.flushBFloat()) {
        leaveToCodeGeneration(*I);
      }
    }
  }
}
