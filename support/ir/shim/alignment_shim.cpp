// What code is promised of the alignment of addresses, as C functions with plain arguments. Rules: those of
// ir_shim.cpp.

#include "llvm-c/Types.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {

/// Whether `Value` is a constant above the limit.
bool exceeds(const Value *Value, Align Limit) {
  auto *Constant = dyn_cast<ConstantInt>(Value);
  return Constant && Constant->getValue().ugt(Limit.value());
}

/// For a function or a call: what it says of its parameters and its result. What is passed by a copy on the
/// stack lies where the attribute says.
template <typename FunctionOrCall> void limitAttributes(FunctionOrCall &Holder, unsigned Parameters, Align Limit) {
  for (unsigned Index : seq(Parameters))
    if (Holder.getParamAlign(Index).valueOrOne() > Limit && !Holder.getAttributes().hasParamAttr(Index, Attribute::ByVal)) {
      Holder.removeParamAttr(Index, Attribute::Alignment);
      Holder.addParamAttr(Index, Attribute::getWithAlignment(Holder.getContext(), Limit));
    }
  if (Holder.getAttributes().getRetAlignment().valueOrOne() > Limit) {
    Holder.removeRetAttr(Attribute::Alignment);
    Holder.addRetAttr(Attribute::getWithAlignment(Holder.getContext(), Limit));
  }
}

void limitCall(CallBase &Call, Align Limit) {
  limitAttributes(Call, Call.arg_size(), Limit);
  auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call);
  if (!Intrinsic)
    return;
  const auto LimitOperand = [&](unsigned Index) {
    if (exceeds(Call.getOperand(Index), Limit))
      Call.setOperand(Index, ConstantInt::get(Call.getOperand(Index)->getType(), Limit.value()));
  };
  switch (Intrinsic->getIntrinsicID()) {
  case Intrinsic::masked_load:
    return LimitOperand(1);
  case Intrinsic::masked_store:
    return LimitOperand(2);
  case Intrinsic::assume:
    for (const CallBase::BundleOpInfo &Bundle : Call.bundle_op_infos())
      if (Bundle.Tag->getKey() == "align" && Bundle.End - Bundle.Begin > 1)
        LimitOperand(Bundle.Begin + 1);
    return;
  default:
    return;
  }
}

} // namespace

extern "C" {

/// No load, store, parameter, result, assumption or loaded pointer promises more than `2^logarithm` bytes.
/// Atomic accesses stay.
void offloom_ir_limit_alignment(LLVMModuleRef module, unsigned logarithm) {
  const Align Limit(uint64_t(1) << logarithm);
  for (Function &F : *unwrap(module)) {
    limitAttributes(F, F.arg_size(), Limit);
    for (Instruction &I : instructions(F)) {
      if (MDNode *Loaded = I.getMetadata(LLVMContext::MD_align))
        if (exceeds(mdconst::extract<ConstantInt>(Loaded->getOperand(0)), Limit)) {
          Metadata *Value = ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(F.getContext()), Limit.value()));
          I.setMetadata(LLVMContext::MD_align, MDNode::get(F.getContext(), Value));
        }
      if (auto *Load = dyn_cast<LoadInst>(&I); Load && !Load->isAtomic())
        Load->setAlignment(std::min(Load->getAlign(), Limit));
      else if (auto *Store = dyn_cast<StoreInst>(&I); Store && !Store->isAtomic())
        Store->setAlignment(std::min(Store->getAlign(), Limit));
      else if (auto *Call = dyn_cast<CallBase>(&I))
        limitCall(*Call, Limit);
    }
  }
}

} // extern "C"
