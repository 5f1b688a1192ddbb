// Which numbers a GPU computes otherwise than whoever folds constants, for passes.

#pragma once

#include "hidden_operand.h"
#include "nvidia_processor.h"
#include "small_numbers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/iterator_range.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

namespace offloom {

/// Intrinsics that AMD's hardware computes approximations by, without their types. LLVM folds some of them to
/// the correctly rounded number, and others by the mathematics library of the machine that it runs on.
inline constexpr llvm::StringLiteral AmdApproximations[] = {
    "llvm.amdgcn.cos",
    "llvm.amdgcn.exp2",
    "llvm.amdgcn.log",
    "llvm.amdgcn.log.clamp",
    "llvm.amdgcn.rcp",
    "llvm.amdgcn.rcp.legacy",
    "llvm.amdgcn.rsq",
    "llvm.amdgcn.rsq.clamp",
    "llvm.amdgcn.rsq.legacy",
    "llvm.amdgcn.sin",
    "llvm.amdgcn.sqrt",
    "llvm.cos",
    "llvm.exp",
    "llvm.exp10",
    "llvm.exp2",
    "llvm.log",
    "llvm.log10",
    "llvm.log2",
    "llvm.pow",
    "llvm.sin",
    // Whether it is computed at once depends on the processor.
    "llvm.fmuladd",
};

/// The same of LLVM's intrinsics for NVIDIA's: since LLVM 20, code generation makes `ex2.approx` of the one.
inline constexpr llvm::StringLiteral NvidiaApproximations[] = {"llvm.exp2"};

inline bool namesApproximation(llvm::StringRef Name) { return Name.contains(".approx") || Name.contains(".full"); }

/// Whether the call is of an instruction that computes an approximation: ptxas, or LLVM for AMD's, folds
/// those of constants, to other bits than the hardware's.
inline bool callsApproximation(const llvm::CallInst &Call) {
  if (auto *Assembly = llvm::dyn_cast<llvm::InlineAsm>(Call.getCalledOperand()))
    return namesApproximation(Assembly->getAsmString()) && !isHiddenOperand(&Call);
  const llvm::Function *Callee = Call.getCalledFunction();
  if (!Callee || !Callee->isIntrinsic())
    return false;
  llvm::StringRef Name = Callee->getName();
  if (Name.starts_with("llvm.nvvm."))
    return namesApproximation(Name);
  llvm::StringRef Untyped = Name.rsplit('.').first;
  llvm::Triple Target(Callee->getParent()->getTargetTriple());
  // Code generation for most of AMD's multiplies and adds one type as `float`, and rounds twice, as that for
  // NVIDIA's before sm_53 does with the other.
  const llvm::Type *Number = Call.getType()->getScalarType();
  bool IsFused = Untyped == "llvm.fma" &&
                 (Target.isAMDGPU() ? Number->isBFloatTy() : Number->isHalfTy() && nvidiaProcessor(*Call.getFunction()) < 53);
  return (Target.isAMDGPU() && (IsFused || llvm::is_contained(AmdApproximations, Untyped))) ||
         (Target.isNVPTX() && (IsFused || llvm::is_contained(NvidiaApproximations, Untyped)));
}

/// Whether it computes with numbers, so that it may take very small ones for zeros.
inline bool computesNumbers(const llvm::Instruction &I) {
  switch (I.getOpcode()) {
  case llvm::Instruction::FNeg:
  case llvm::Instruction::FAdd:
  case llvm::Instruction::FSub:
  case llvm::Instruction::FMul:
  case llvm::Instruction::FDiv:
  case llvm::Instruction::FRem:
  case llvm::Instruction::FCmp:
  case llvm::Instruction::FPTrunc:
  case llvm::Instruction::FPExt:
    return true;
  case llvm::Instruction::Call: {
    const llvm::Function *Callee = llvm::cast<llvm::CallInst>(I).getCalledFunction();
    return Callee && Callee->isIntrinsic() &&
           llvm::any_of(I.operands(), [](const llvm::Use &Operand) { return Operand->getType()->isFPOrFPVectorTy(); });
  }
  default:
    return false;
  }
}

/// The operands of an instruction that computes an approximation; none of another. Code generation for AMD's
/// makes one of divisions and square roots whose result may be some units off. A remainder is what a rounded
/// quotient leaves, which LLVM folds to the exact one: for NVIDIA's, and for AMD's until LLVM 22. Where very
/// small numbers are zeros, which is a mode of each operation or of some, LLVM flushes what it folds of some
/// operations, of all types alike, and takes `x * 1` for `x`.
inline llvm::iterator_range<llvm::Use *> approximated(llvm::Instruction &I) {
  auto *Call = llvm::dyn_cast<llvm::CallInst>(&I);
  // Nearly all instructions are nothing of that.
  if (!Call && !computesNumbers(I))
    return {I.op_end(), I.op_end()};
  llvm::Triple Target(I.getModule()->getTargetTriple());
  bool IsOff = I.getMetadata(llvm::LLVMContext::MD_fpmath) && Target.isAMDGPU();
  IsOff |= I.getOpcode() == llvm::Instruction::FRem && (Target.isNVPTX() || Target.isAMDGPU());
  IsOff |= (Target.isNVPTX() || Target.isAMDGPU()) && computesNumbers(I) && mayTakeForZeros(*I.getFunction());
  if (Call && (IsOff || callsApproximation(*Call)))
    return Call->args();
  if (!Call && IsOff)
    return I.operands();
  return {I.op_end(), I.op_end()};
}

} // namespace offloom
