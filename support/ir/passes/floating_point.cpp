// What the LLVM C API lacks for keeping floating-point results (floating_point.rs), as C functions with plain
// arguments. Rules as in shim/ir_shim.cpp.

#include "narrow_conversions.h"
#include "small_numbers.h"
#include "subtarget.h"
#include "two_roundings.h"

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <memory>
#include <optional>
#include <string>

using namespace llvm;
using offloom::isNarrowConversion;

namespace {

/// Mathematical functions whose results are the same however they are compiled, as C's library and LLVM's
/// intrinsics name them.
const StringSet<> &exactFunctions() {
  static const StringSet<> Exact{"sqrt",      "fabs",      "floor",    "ceil", "trunc", "rint", "round",
                                 "roundeven", "nearbyint", "copysign", "fma",  "fmin",  "fmax"};
  return Exact;
}

/// Whether the library's function of this name, for whichever type, is exact.
bool isExact(StringRef Name) { return exactFunctions().contains(Name) || exactFunctions().contains(Name.drop_back()); }

/// The functions that code of `Root` can get to; all of the module's where there is none.
SmallSetVector<Function *, 16> functionsFrom(Module &M, Function *Root) {
  SmallSetVector<Function *, 16> Found;
  if (!Root) {
    for (Function &F : M)
      Found.insert(&F);
    return Found;
  }
  Found.insert(Root);
  SmallPtrSet<Value *, 32> Seen;
  for (size_t Next = 0; Next != Found.size(); ++Next) {
    SmallVector<Value *, 32> Pending;
    for (Instruction &I : instructions(Found[Next]))
      append_range(Pending, I.operand_values());
    while (!Pending.empty()) {
      Value *V = Pending.pop_back_val();
      if (auto *F = dyn_cast<Function>(V))
        Found.insert(F);
      else if (auto *C = dyn_cast<Constant>(V); C && Seen.insert(C).second)
        append_range(Pending, C->operand_values());
    }
  }
  return Found;
}

/// Whether the intrinsic, which is about floating-point numbers, gives the same bits however it is compiled,
/// or moves numbers only. What `mayBeExpanded` is one of these. By name, since each LLVM has others.
bool isExact(Intrinsic::ID Operation) {
  static const StringSet<> OfIntrinsics{"fmuladd",
                                        // Chosen.
                                        "minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum",
                                        // Taken apart, converted, copied.
                                        "canonicalize", "frexp", "modf", "convert.from.fp16", "fptrunc.round", "arithmetic.fence",
                                        "ssa.copy"};
  StringRef Name = Intrinsic::getBaseName(Operation);
  Name.consume_front("llvm.");
  Name.consume_front("experimental.");
  // Reductions without fast-math flags have an order.
  return exactFunctions().contains(Name) || OfIntrinsics.contains(Name) || Name.starts_with("vector.");
}

/// Whether a function with this type of result gives floating-point numbers, perhaps several (`llvm.sincos`).
bool isFloatingPoint(Type *Result) {
  if (auto *Several = dyn_cast<StructType>(Result))
    return any_of(Several->elements(), [](Type *One) { return One->isFPOrFPVectorTy(); });
  return Result->isFPOrFPVectorTy();
}

/// Whether LLVM may rewrite or fold calls of the function to another result than it gives. Of an intrinsic
/// that nothing is known about it is taken that LLVM may.
bool mayBeRewritten(const Function &Callee, const TargetLibraryInfo &Library) {
  if (!isFloatingPoint(Callee.getReturnType()))
    return false;
  if (Callee.isIntrinsic())
    return Callee.doesNotAccessMemory() && !isExact(Callee.getIntrinsicID());
  LibFunc Known;
  return Library.getLibFunc(Callee, Known) && !isExact(Callee.getName());
}

/// Whether the function is an operation that processors have or have not.
bool mayBeExpanded(const Function &Callee) {
  switch (Callee.getIntrinsicID()) {
  case Intrinsic::fmuladd:
  case Intrinsic::experimental_constrained_fmuladd:
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
    return true;
  default:
    return false;
  }
}

/// What the processor that a function is compiled for computes itself.
class Arithmetic {
public:
  explicit Arithmetic(const Function &F) {
    const Triple Target(F.getParent()->getTargetTriple());
    SmallVector<StringRef, 64> Features;
    F.getFnAttribute("target-features").getValueAsString().split(Features, ',');
    if (Target.isAMDGPU()) {
      // Of what multiplies and adds at once, and flushes denormal numbers, code generation may choose an
      // instruction that rounds twice.
      // Formats come from types: what `APFloat` hands out is a variable of LLVM 22, without which the plugin
      // could not even be loaded to say that it is for another release.
      auto Flushes = [&](Type *Number) {
        DenormalMode Mode = F.getDenormalMode(Number->getFltSemantics());
        return Mode.Output == DenormalMode::PreserveSign || Mode.Input == DenormalMode::PreserveSign;
      };
      HasFused = true;
      LLVMContext &Context = F.getContext();
      HasSingle =
          is_contained(Features, "+dl-insts") && !Flushes(Type::getFloatTy(Context)) && !Flushes(Type::getHalfTy(Context));
      HasHalf = HasSingle && is_contained(Features, "+16-bit-insts");
      return;
    }
    auto Processor = offloom::processorOf(F);
    auto Has = [&](StringRef Feature) { return Processor ? Processor->checkFeatures(Feature) : is_contained(Features, Feature); };
    HasFused = Target.isAArch64() || Has("+fma") || Has("+fma4");
    HasHalf = Has(Target.isAArch64() ? "+fullfp16" : "+avx512fp16");
  }

  /// Whether it multiplies and adds numbers of this type, or vectors of them, at once
  /// (`isFMAFasterThanFMulAndFAdd`).
  bool fuses(const Type *T) const {
    const Type *Number = T->getScalarType();
    return HasFused && ((Number->isFloatTy() && HasSingle) || Number->isDoubleTy() || (Number->isHalfTy() && HasHalf));
  }

  /// Whether code generation calls C's library for the lesser and the greater of two numbers of this type,
  /// `_Float16` as `float`.
  bool callsLibraryToChoose(const Type *T) const {
    const Type *Number = T->getScalarType();
    return Number->isX86_FP80Ty() || Number->isFP128Ty() || (Number->isHalfTy() && !HasHalf);
  }

private:
  bool HasFused;
  bool HasSingle = true;
  bool HasHalf;
};

/// Whether it is a multiplication and an addition that may be done at once.
bool isMultiplyAdd(const IntrinsicInst &Call) {
  return Call.getIntrinsicID() == Intrinsic::fmuladd || Call.getIntrinsicID() == Intrinsic::experimental_constrained_fmuladd;
}

/// A multiplication and an addition in the place of both at once, with its rounding and exceptions where it
/// names them.
Value *split(IntrinsicInst &Call, IRBuilder<> &Builder) {
  Value *X = Call.getArgOperand(0), *Y = Call.getArgOperand(1), *Z = Call.getArgOperand(2);
  auto *Strict = dyn_cast<ConstrainedFPIntrinsic>(&Call);
  if (!Strict) {
    Value *Product = Builder.CreateFMul(X, Y);
    return Builder.CreateFAdd(Product, Z);
  }
  auto Create = [&](Intrinsic::ID Operation, ArrayRef<Value *> Numbers) {
    SmallVector<Value *, 4> Operands(Numbers);
    append_range(Operands, drop_begin(Call.args(), Strict->getNonMetadataArgCount()));
    // With rounding and exceptions as the environment has them, nothing is folded.
    auto *Created = cast<CallInst>(Builder.CreateIntrinsic(Operation, {Call.getType()}, Operands));
    Created->addFnAttr(Attribute::StrictFP);
    return Created;
  };
  Value *Product = Create(Intrinsic::experimental_constrained_fmul, {X, Y});
  return Create(Intrinsic::experimental_constrained_fadd, {Product, Z});
}

/// Whether the value is a constant without a NaN. The constant itself is not asked: its inline functions use
/// variables of LLVM 22 that LLVM 19 has not, and a plugin must load there to say that it is for the other
/// one.
bool isConstantNumber(Value *V, const DataLayout &Layout) {
  auto *C = dyn_cast<Constant>(V);
  Constant *Ordered = C ? ConstantFoldCompareInstOperands(CmpInst::FCMP_ORD, C, C, Layout) : nullptr;
  return Ordered && Ordered->isAllOnesValue();
}

/// Whether code generation sees, in the block that uses the value, that it is no NaN
/// (`SelectionDAG::isKnownNeverNaN`). In a function that is not to be optimised it looks at one instruction
/// at a time.
bool isNumber(Value *V, const BasicBlock *User, const DataLayout &Layout, unsigned Depth = 0) {
  constexpr unsigned MaxDepth = 6;
  if (Depth == MaxDepth)
    return false;
  if (isConstantNumber(V, Layout))
    return true;
  auto *I = dyn_cast<Instruction>(V);
  if (!I || I->getParent() != User || User->getParent()->hasOptNone())
    return false;
  auto IsNumber = [&](unsigned Operand) { return isNumber(I->getOperand(Operand), User, Layout, Depth + 1); };
  switch (I->getOpcode()) {
  case Instruction::SIToFP:
  case Instruction::UIToFP:
    return true;
  case Instruction::FNeg:
  case Instruction::FPExt:
  case Instruction::FPTrunc:
  case Instruction::ExtractElement:
    return IsNumber(0);
  case Instruction::Select:
    return !I->getOperand(0)->getType()->isVectorTy() && IsNumber(1) && IsNumber(2);
  default:
    break;
  }
  auto *Call = dyn_cast<IntrinsicInst>(I);
  switch (Call ? Call->getIntrinsicID() : Intrinsic::not_intrinsic) {
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
#if LLVM_VERSION_MAJOR >= 21
  case Intrinsic::minimumnum:
  case Intrinsic::maximumnum:
#endif
    return IsNumber(0) || IsNumber(1);
  case Intrinsic::minimum:
  case Intrinsic::maximum:
    return IsNumber(0) && IsNumber(1);
  case Intrinsic::canonicalize:
  case Intrinsic::ceil:
  case Intrinsic::copysign:
  case Intrinsic::exp:
  case Intrinsic::exp2:
  case Intrinsic::exp10:
  case Intrinsic::fabs:
  case Intrinsic::floor:
  case Intrinsic::ldexp:
  case Intrinsic::nearbyint:
  case Intrinsic::rint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::trunc:
    return IsNumber(0);
  default:
    return false;
  }
}

/// `llvm.minnum` or `llvm.maxnum` as compares and selects, in the order in which code generation has them
/// (`combineFMinNumFMaxNum`): of two zeros it takes the second where that is a number, the first where only
/// that is one, and the first, too, where neither is. A constant comes second.
Value *expandChoice(IntrinsicInst &Call, IRBuilder<> &Builder) {
  const DataLayout &Layout = Call.getModule()->getDataLayout();
  // Of `__bf16` it takes the upper half of a `float`, whose value only a constant tells.
  bool IsConverted = Call.getType()->getScalarType()->isBFloatTy();
  auto IsNumber = [&](Value *V) { return IsConverted ? isConstantNumber(V, Layout) : isNumber(V, Call.getParent(), Layout); };
  Value *X = Call.getArgOperand(0), *Y = Call.getArgOperand(1);
  bool IsNumberX = IsNumber(X), IsNumberY = IsNumber(Y);
  if (isa<Constant>(X) || (IsNumberX && !IsNumberY)) {
    std::swap(X, Y);
    std::swap(IsNumberX, IsNumberY);
  }
  auto Comparison = Call.getIntrinsicID() == Intrinsic::minnum ? CmpInst::FCMP_OLT : CmpInst::FCMP_OGT;
  if (IsNumberY)
    return Builder.CreateSelect(Builder.CreateFCmp(Comparison, X, Y), X, Y);
  Value *Unordered = Builder.CreateFCmpUNO(X, X);
  Value *Chosen = Builder.CreateSelect(Builder.CreateFCmp(Comparison, Y, X), Y, X);
  return Builder.CreateSelect(Unordered, Y, Chosen);
}

/// `llvm.minnum` or `llvm.maxnum` as a call of C's function, which code generation makes of it, operands in
/// the same order: a constant comes second. The library's own choice of two zeros is not LLVM's.
Value *callLibrary(IntrinsicInst &Call, IRBuilder<> &Builder) {
  Type *Number = Call.getType()->getScalarType();
  Type *Computed = Number->isHalfTy() ? Builder.getFloatTy() : Number;
  std::string Name = Call.getIntrinsicID() == Intrinsic::minnum ? "fmin" : "fmax";
  bool HasOtherLong = Triple(Call.getModule()->getTargetTriple()).isX86();
  Name += Number->isHalfTy() ? "f" : Number->isFP128Ty() && HasOtherLong ? "f128" : "l";
  FunctionCallee Library = Call.getModule()->getOrInsertFunction(Name, Computed, Computed, Computed);
  auto Choose = [&](Value *X, Value *Y) {
    if (isa<Constant>(X))
      std::swap(X, Y);
    CallInst *Chosen = Builder.CreateCall(Library, {Builder.CreateFPExt(X, Computed), Builder.CreateFPExt(Y, Computed)});
    Chosen->setDoesNotAccessMemory();
    Chosen->setDoesNotThrow();
    Chosen->addFnAttr(Attribute::WillReturn);
    Chosen->addFnAttr(Attribute::NoBuiltin);
    return Builder.CreateFPTrunc(Chosen, Number);
  };
  Value *X = Call.getArgOperand(0), *Y = Call.getArgOperand(1);
  auto *Vector = dyn_cast<FixedVectorType>(Call.getType());
  if (!Vector)
    return Choose(X, Y);
  Value *All = PoisonValue::get(Vector);
  for (unsigned Index = 0; Index != Vector->getNumElements(); ++Index)
    All = Builder.CreateInsertElement(All, Choose(Builder.CreateExtractElement(X, Index), Builder.CreateExtractElement(Y, Index)),
                                      Index);
  return All;
}

/// Whether the conversion's integers are of a size that the processor knows.
bool isOfUsualSize(const Instruction &Conversion) {
  if (Triple(Conversion.getModule()->getTargetTriple()).isAArch64())
    return false;
  unsigned Bits = Conversion.getType()->getScalarSizeInBits();
  return Bits == 8 || Bits == 16;
}

/// A narrow conversion as code generation has it for the processor of the ahead-of-time code, for every
/// number. Of one number it is the low bits of what the processor's conversion to 32 bits gives, which is
/// -2^31 for what does not fit there. Which bits a vector has only code generation for that processor knows;
/// that it is given a constant must not be seen. The same goes for `long double`, and for integers of other
/// sizes (`_BitInt`), whose higher bits code generation takes for zeros, or for signs, or cuts off, as it
/// needs them. AArch64 has no registers of 8 and 16 bits, so there it is so of all sizes.
Value *convert(CastInst &Conversion, IRBuilder<> &Builder) {
  Value *Number = Conversion.getOperand(0);
  Type *T = Number->getType();
  if (T->isHalfTy() || T->isBFloatTy()) {
    T = Builder.getFloatTy();
    Number = Builder.CreateFPExt(Number, T);
  }
  if ((!T->isFloatTy() && !T->isDoubleTy()) || !isOfUsualSize(Conversion)) {
    Value *Hidden = Builder.CreateIntrinsic(Intrinsic::arithmetic_fence, {T}, {Number});
    return Builder.CreateCast(Conversion.getOpcode(), Hidden, Conversion.getType());
  }
  Value *Size = Builder.CreateUnaryIntrinsic(Intrinsic::fabs, Number);
  Value *Fits = Builder.CreateFCmpOLT(Size, ConstantFP::get(T, 0x1p31));
  Value *Word = Builder.CreateFPToSI(Number, Builder.getInt32Ty());
  Word = Builder.CreateSelect(Fits, Word, Builder.getInt32(0x80000000));
  return Builder.CreateTrunc(Word, Conversion.getType());
}

/// What `offloom_ir_expand_operations` puts in the place of an operation; null where it stays.
Value *expand(IntrinsicInst &Call, const Arithmetic &Computes) {
  IRBuilder<> Builder(&Call);
  if (isMultiplyAdd(Call))
    return Computes.fuses(Call.getType()) ? nullptr : split(Call, Builder);
  // The instructions of AArch64 choose as LLVM does. It has none for `long double`.
  if (Triple(Call.getModule()->getTargetTriple()).isAArch64() && !Call.getType()->getScalarType()->isFP128Ty())
    return nullptr;
  // Between constants code generation chooses, where nothing has before.
  if (isa<Constant>(Call.getArgOperand(0)) && isa<Constant>(Call.getArgOperand(1)))
    return nullptr;
  return Computes.callsLibraryToChoose(Call.getType()) ? callLibrary(Call, Builder) : expandChoice(Call, Builder);
}

#if LLVM_VERSION_MAJOR >= 23
/// Whether it is the smaller or the larger of two numbers, of which code generation for x86 looks at flags.
bool isChoice(const User *Value) {
  auto *Call = dyn_cast<IntrinsicInst>(Value);
  return Call && (Call->getIntrinsicID() == Intrinsic::minnum || Call->getIntrinsicID() == Intrinsic::maxnum);
}
#endif

/// Whether flags let LLVM compute another result. Since LLVM 23 passes put down what they find: that a number
/// is no NaN, or no infinity, which changes nothing but choices of numbers. Only the source says so of a
/// comparison (`-ffinite-math-only`).
bool isInexact(const Instruction &I) {
  FastMathFlags flags = I.getFastMathFlags();
#if LLVM_VERSION_MAJOR >= 23
  if (!isa<FCmpInst>(I) && !isChoice(&I) && none_of(I.users(), isChoice)) {
    flags.setNoNaNs(false);
    flags.setNoInfs(false);
  }
#endif
  return flags.any();
}

} // namespace

extern "C" {

/// Whether code of `root`, or of the whole module where it is null, has an instruction or a loop whose result
/// may depend on how it is compiled.
bool offloom_ir_is_compiled_in_many_ways(LLVMModuleRef module, LLVMValueRef root) {
  TargetLibraryInfoImpl Known{Triple(unwrap(module)->getTargetTriple())};
  TargetLibraryInfo Library(Known);
  for (Function *F : functionsFrom(*unwrap(module), dyn_cast_or_null<Function>(unwrap(root)))) {
    if (offloom::mayTakeForZeros(*F))
      return true;
    for (Instruction &I : instructions(F)) {
      if (MDNode *Loop = I.getMetadata(LLVMContext::MD_loop); Loop && findOptionMDForLoopID(Loop, "llvm.loop.vectorize.enable"))
        return true;
      if (isNarrowConversion(I) || offloom::mayRoundOtherwise(I))
        return true;
      auto *Call = dyn_cast<CallBase>(&I);
      Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (Callee && (mayBeRewritten(*Callee, Library) || mayBeExpanded(*Callee)))
        return true;
    }
  }
  return false;
}

/// A function with an instruction that may be computed in more than one way (any fast-math flag), or null;
/// among those that code of `root` can get to, or all where it is null.
LLVMValueRef offloom_ir_inexact_function(LLVMModuleRef module, LLVMValueRef root) {
  for (Function *F : functionsFrom(*unwrap(module), dyn_cast_or_null<Function>(unwrap(root))))
    for (Instruction &I : instructions(F))
      if (isa<FPMathOperator>(I) && isInexact(I))
        return wrap(F);
  return nullptr;
}

/// Keeps LLVM from rewriting or folding calls of mathematical functions that are not correctly rounded.
void offloom_ir_pin_library_calls(LLVMModuleRef module) {
  TargetLibraryInfoImpl Known{Triple(unwrap(module)->getTargetTriple())};
  TargetLibraryInfo Library(Known);
  for (Function &F : *unwrap(module))
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (Callee && mayBeRewritten(*Callee, Library))
        Call->addFnAttr(Attribute::NoBuiltin);
    }
}

/// Makes `llvm.fma` of each `llvm.fmuladd` that code generation fuses: for NVIDIA's GPUs, of all.
void offloom_ir_fuse_operations(LLVMModuleRef module) {
  Triple Target(unwrap(module)->getTargetTriple());
  if (!Target.isX86() && !Target.isAArch64() && !Target.isNVPTX() && !Target.isAMDGPU())
    return;
  for (Function &F : *unwrap(module)) {
    std::optional<Arithmetic> Computes;
    for (Instruction &I : make_early_inc_range(instructions(F))) {
      auto *Call = dyn_cast<IntrinsicInst>(&I);
      if (!Call || !isMultiplyAdd(*Call))
        continue;
      if (!Computes && !Target.isNVPTX())
        Computes.emplace(F);
      if (Computes && !Computes->fuses(Call->getType()))
        continue;
      bool IsStrict = isa<ConstrainedFPIntrinsic>(Call);
      IRBuilder<> Builder(Call);
      Value *Result = Builder.CreateIntrinsic(IsStrict ? Intrinsic::experimental_constrained_fma : Intrinsic::fma,
                                              {Call->getType()}, SmallVector<Value *, 5>(Call->args()));
      // LLVM 23 folds constants at once.
      if (auto *Fused = dyn_cast<CallInst>(Result)) {
        if (IsStrict)
          Fused->addFnAttr(Attribute::StrictFP);
        Fused->copyMetadata(*Call);
      }
      Call->replaceAllUsesWith(Result);
      Call->eraseFromParent();
    }
  }
}

/// On x86 and AArch64: makes a multiplication and an addition of each `llvm.fmuladd` that code generation
/// does not fuse, and of `llvm.minnum` and `llvm.maxnum` what it makes of them: compares and selects on x86,
/// or a call of C's library. Has narrow conversions give what it has them give.
void offloom_ir_expand_operations(LLVMModuleRef module) {
  Triple Target(unwrap(module)->getTargetTriple());
  if (!Target.isX86() && !Target.isAArch64())
    return;
  for (Function &F : *unwrap(module)) {
    SmallVector<IntrinsicInst *, 16> Calls;
    SmallVector<CastInst *, 16> Conversions;
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<IntrinsicInst>(&I); Call && mayBeExpanded(*Call->getCalledFunction()))
        Calls.push_back(Call);
      else if (isNarrowConversion(I))
        Conversions.push_back(cast<CastInst>(&I));
    for (CastInst *Conversion : Conversions) {
      IRBuilder<> Builder(Conversion);
      Conversion->replaceAllUsesWith(convert(*Conversion, Builder));
      Conversion->eraseFromParent();
    }
    if (Calls.empty())
      continue;
    Arithmetic Computes(F);
    // What uses a result comes first, as in code generation: it knows more of the operation than of what
    // replaces it.
    for (IntrinsicInst *Call : reverse(Calls))
      if (Value *Result = expand(*Call, Computes)) {
        Call->replaceAllUsesWith(Result);
        Call->eraseFromParent();
      }
  }
}

/// Whether the module has narrow conversions whose result only code generation for the processor knows: those
/// of vectors, and to integers of unusual sizes.
bool offloom_ir_has_conversions_of_processor(LLVMModuleRef module) {
  return any_of(*unwrap(module), [](Function &F) {
    return any_of(instructions(F),
                  [](Instruction &I) { return isNarrowConversion(I) && (I.getType()->isVectorTy() || !isOfUsualSize(I)); });
  });
}

/// Has very small numbers be what the processor makes of them, which is not told to take them for zeros. On
/// CPUs: LLVM folds as the attributes say, and they say nothing to the processor.
void offloom_ir_forget_denormal_modes(LLVMModuleRef module) {
  Triple Target(unwrap(module)->getTargetTriple());
  if (!Target.isX86() && !Target.isAArch64())
    return;
  for (Function &F : *unwrap(module)) {
    F.removeFnAttr("denormal-fp-math");
    F.removeFnAttr("denormal-fp-math-f32");
#if LLVM_VERSION_MAJOR >= 23
    F.removeFnAttr(Attribute::DenormalFPEnv);
#endif
  }
}

} // extern "C"
