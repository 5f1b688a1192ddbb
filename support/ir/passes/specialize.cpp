// What the LLVM C API lacks for following values into outlined functions, as C functions with plain
// arguments. Rules as in shim/ir_shim.cpp.

#include "pipeline.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/SCCP.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace {

const DataLayout &layoutOf(const Instruction *I) { return I->getModule()->getDataLayout(); }

/// The pointer behind casts of address space and constant offsets, which are added to `Offset`.
const Value *objectBehind(const Value *Pointer, const DataLayout &Layout, int64_t &Offset) {
  APInt Sum(Layout.getIndexTypeSizeInBits(Pointer->getType()), 0);
  while (true) {
    const Value *Base = Pointer->stripAndAccumulateConstantOffsets(Layout, Sum, /*AllowNonInbounds=*/true);
    if (Base == Pointer)
      break;
    Pointer = Base;
  }
  Offset = Sum.getSExtValue();
  return Pointer;
}

/// Whether a type of the source language (TBAA) is that of a pointer.
bool isPointerType(const MDNode *Type) {
  for (unsigned Depth = 0; Type && Depth < 8; ++Depth) {
    const auto *Name = Type->getNumOperands() > 0 ? dyn_cast_or_null<MDString>(Type->getOperand(0)) : nullptr;
    if (Name && Name->getString() == "any pointer")
      return true;
    Type = Type->getNumOperands() > 1 ? dyn_cast_or_null<MDNode>(Type->getOperand(1)) : nullptr;
  }
  return false;
}

/// A piece of a copied object, of one type of the source language.
struct Piece {
  uint64_t Offset, Size;
  MDNode *Tag;
};

/// The pieces that a copy of a whole object is said to have (`tbaa.struct`), none larger than a register;
/// none if that is not known.
SmallVector<Piece, 16> piecesOf(const MemCpyInst &Copy, uint64_t Length) {
  SmallVector<Piece, 16> Pieces;
  const MDNode *Struct = Copy.getMetadata(LLVMContext::MD_tbaa_struct);
  if (!Struct || Struct->getNumOperands() % 3 != 0)
    return Pieces;
  for (unsigned I = 0; I < Struct->getNumOperands(); I += 3) {
    auto *Offset = mdconst::dyn_extract<ConstantInt>(Struct->getOperand(I));
    auto *Size = mdconst::dyn_extract<ConstantInt>(Struct->getOperand(I + 1));
    auto *Tag = dyn_cast<MDNode>(Struct->getOperand(I + 2));
    if (!Offset || !Size || !Tag || Offset->getValue().ugt(Length) || Size->getValue().ugt(Length - Offset->getZExtValue()))
      return {};
    uint64_t At = Offset->getZExtValue(), End = At + Size->getZExtValue();
    while (At < End) {
      uint64_t Part = 8;
      while (Part > End - At)
        Part /= 2;
      Pieces.push_back({At, Part, Tag});
      At += Part;
    }
  }
  return Pieces;
}

/// What an AMD GPU's code reads of its launch: of the packet (`hsa_kernel_dispatch_packet_t`), and of what
/// follows the kernel's arguments ("Code Object V5 Metadata" of LLVM's "User Guide for AMDGPU Backend").
class AmdLaunch {
public:
  AmdLaunch(const Module &M, uint32_t Teams, uint32_t Threads)
      : Layout(M.getDataLayout()), Fields{{Intrinsic::amdgcn_dispatch_ptr, 4, 16, Threads},
                                          {Intrinsic::amdgcn_dispatch_ptr, 12, 32, uint64_t(Teams) * Threads},
                                          {Intrinsic::amdgcn_implicitarg_ptr, 0, 32, hasSizes(M) ? Teams : 0},
                                          {Intrinsic::amdgcn_implicitarg_ptr, 12, 16, hasSizes(M) ? Threads : 0}} {}

  /// The number that so many bits at the address are, if it is known. The address may be one of several:
  /// which place is read depends on the version of code objects, which may not be a constant yet, and LLVM
  /// has merged what two branches compute.
  std::optional<uint64_t> at(Value *Address, unsigned Bits, int64_t From = 0, unsigned Depth = 0) const {
    APInt Offset(Layout.getIndexTypeSizeInBits(Address->getType()), From, /*isSigned=*/true);
    Value *Base = Address->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
    SmallVector<Value *, 2> OneOf;
    if (auto *Either = dyn_cast<SelectInst>(Base))
      OneOf.append({Either->getTrueValue(), Either->getFalseValue()});
    else if (auto *Merged = dyn_cast<PHINode>(Base))
      OneOf.append(Merged->op_begin(), Merged->op_end());
    if (!OneOf.empty()) {
      auto Of = [&](Value *One) { return at(One, Bits, Offset.getSExtValue(), Depth + 1); };
      std::optional<uint64_t> First = Depth < MostMerged ? Of(OneOf.front()) : std::nullopt;
      return First && all_of(drop_begin(OneOf), [&](Value *Other) { return Of(Other) == First; }) ? First : std::nullopt;
    }
    auto *Call = dyn_cast<IntrinsicInst>(Base);
    for (const Field &Known : Fields)
      if (Call && Call->getIntrinsicID() == Known.Of && Offset == Known.Offset && Bits == Known.Bits && Known.Number)
        return Known.Number;
    return std::nullopt;
  }

private:
  /// Whether the launch's sizes follow the arguments: before version 5 of code objects other things do. Where
  /// no version is said it is LLVM's default, which is later.
  static bool hasSizes(const Module &M) {
    auto *Version = mdconst::extract_or_null<ConstantInt>(M.getModuleFlag("amdhsa_code_object_version"));
    return !Version || Version->getZExtValue() >= 500;
  }

  struct Field {
    Intrinsic::ID Of;
    uint64_t Offset;
    unsigned Bits;
    uint64_t Number;
  };

  /// How many merged addresses are looked through.
  static constexpr unsigned MostMerged = 4;

  const DataLayout &Layout;
  Field Fields[4];
};

} // namespace

extern "C" {

// ---- call_sites.rs ----

/// The store that decides what the alloca behind `array` holds at `offset` whenever `call`, which gets it, is
/// reached: the only one to these bytes, if it dominates the call, and if the alloca is only written to and
/// handed to `call`. Else null.
LLVMValueRef offloom_ir_argument_array_store(LLVMValueRef array, uint64_t offset, LLVMValueRef call) {
  auto *Call = unwrap<CallBase>(call);
  const DataLayout &Layout = layoutOf(Call);
  int64_t Start = 0;
  auto *Array = dyn_cast<AllocaInst>(objectBehind(unwrap(array), Layout, Start));
  if (!Array || Start != 0)
    return nullptr;
  StoreInst *Found = nullptr;
  SmallVector<const Value *, 8> Pending{Array};
  while (!Pending.empty()) {
    for (const User *U : Pending.pop_back_val()->users()) {
      if (isa<GetElementPtrInst>(U) || isa<AddrSpaceCastInst>(U)) {
        Pending.push_back(U);
        continue;
      }
      if (U == Call || cast<Instruction>(U)->isLifetimeStartOrEnd())
        continue;
      auto *Store = const_cast<StoreInst *>(dyn_cast<StoreInst>(U));
      int64_t At = 0;
      if (!Store || objectBehind(Store->getPointerOperand(), Layout, At) != Array || Store->isVolatile())
        return nullptr;
      auto Size = static_cast<int64_t>(Layout.getTypeStoreSize(Store->getValueOperand()->getType()).getFixedValue());
      auto Slot = static_cast<int64_t>(offset);
      if (At >= Slot + 8 || At + Size <= Slot)
        continue;
      if (Found || At != Slot)
        return nullptr;
      Found = Store;
    }
  }
  if (!Found || !DominatorTree(*Call->getFunction()).dominates(Found, Call))
    return nullptr;
  return wrap(Found);
}

// ---- function_arguments.rs ----

/// The constant as a value of the type, which has its size: integers, pointers and floating-point values have
/// the same bits. Null if the sizes differ or the constant is no plain data.
LLVMValueRef offloom_ir_constant_as(LLVMModuleRef module, LLVMValueRef constant, LLVMTypeRef type) {
  const DataLayout &Layout = unwrap(module)->getDataLayout();
  auto *From = dyn_cast<Constant>(unwrap(constant));
  Type *To = unwrap(type);
  if (!From || From->getType()->isAggregateType() || To->isAggregateType() ||
      Layout.getTypeSizeInBits(From->getType()) != Layout.getTypeSizeInBits(To))
    return nullptr;
  if (From->getType() == To)
    return constant;
  if (From->getType()->isPointerTy()) {
    From = ConstantFoldCastOperand(Instruction::PtrToInt, From, Layout.getIntPtrType(From->getType()), Layout);
    if (!From)
      return nullptr;
  }
  if (To->isPointerTy()) {
    Type *Integer = Layout.getIntPtrType(To);
    From = ConstantFoldCastOperand(Instruction::BitCast, From, Integer, Layout);
    return From ? wrap(ConstantFoldCastOperand(Instruction::IntToPtr, From, To, Layout)) : nullptr;
  }
  return wrap(ConstantFoldCastOperand(Instruction::BitCast, From, To, Layout));
}

/// Whether the constant is made of numbers alone: no address of a global, nothing undefined.
bool offloom_ir_is_number(LLVMValueRef value) {
  auto *C = dyn_cast<Constant>(unwrap(value));
  if (auto *Cast = dyn_cast_or_null<ConstantExpr>(C); Cast && Cast->getOpcode() == Instruction::IntToPtr)
    C = Cast->getOperand(0);
  return C && (isa<ConstantInt>(C) || isa<ConstantFP>(C) || isa<ConstantPointerNull>(C));
}

/// Bytes that the pointer is known to be aligned to where `at` is reached.
uint64_t offloom_ir_known_alignment(LLVMValueRef pointer, LLVMValueRef at) {
  auto *At = unwrap<Instruction>(at);
  return getKnownAlignment(unwrap(pointer), layoutOf(At), At).value();
}

// ---- pointer_uses.rs ----

/// The pointer behind casts of address space and steps by constants, whose sum in bytes is written to
/// `distance`. `at` is an instruction of the same module.
LLVMValueRef offloom_ir_pointer_behind(LLVMValueRef pointer, LLVMValueRef at, int64_t *distance) {
  return wrap(objectBehind(unwrap(pointer), layoutOf(unwrap<Instruction>(at)), *distance));
}

/// Whether a user of a pointer is a pointer to the same object at a constant distance, which is written to
/// `distance`.
bool offloom_ir_is_derived_pointer(LLVMValueRef user, int64_t *distance) {
  *distance = 0;
  if (isa<AddrSpaceCastInst>(unwrap(user)))
    return true;
  auto *Step = dyn_cast<GetElementPtrInst>(unwrap(user));
  if (!Step)
    return false;
  const DataLayout &Layout = layoutOf(Step);
  APInt Offset(Layout.getIndexTypeSizeInBits(Step->getType()), 0);
  if (!Step->getType()->isPointerTy() || !Step->accumulateConstantOffset(Layout, Offset))
    return false;
  *distance = Offset.getSExtValue();
  return true;
}

/// Whether the instruction only says where its operand's memory begins or ends to be in use.
bool offloom_ir_is_lifetime_marker(LLVMValueRef instruction) {
  auto *I = unwrap<Instruction>(instruction);
  auto *Call = dyn_cast<CallBase>(I);
  Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return I->isLifetimeStartOrEnd() || (Callee && Callee->getName() == "__kmpc_free_shared");
}

/// Whether the instruction makes memory that belongs to this execution of its function: on the stack or, on a
/// GPU, where the other threads of the team can reach it.
bool offloom_ir_is_local_variable(LLVMValueRef instruction) {
  auto *Call = dyn_cast<CallBase>(unwrap(instruction));
  Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return isa<AllocaInst>(unwrap(instruction)) || (Callee && Callee->getName() == "__kmpc_alloc_shared");
}

/// Bytes that a load reads or a store writes; 0 for one that is volatile, atomic or of a type without a fixed
/// size.
uint64_t offloom_ir_access_size(LLVMValueRef access) {
  auto *I = unwrap<Instruction>(access);
  if (I->isVolatile() || I->isAtomic())
    return 0;
  TypeSize Size = layoutOf(I).getTypeStoreSize(getLoadStoreType(I));
  return Size.isScalable() ? 0 : Size.getFixedValue();
}

/// Whether `first` has always been executed when `second`, of the same function, is.
bool offloom_ir_dominates(LLVMValueRef first, LLVMValueRef second) {
  auto *First = unwrap<Instruction>(first);
  DominatorTree Tree(*First->getFunction());
  return Tree.dominates(First, unwrap<Instruction>(second));
}

/// What a load finds `offset` bytes into memory that holds the constant; null if that is no plain data.
LLVMValueRef offloom_ir_loaded_constant(LLVMValueRef load, LLVMValueRef constant, uint64_t offset) {
  auto *Load = unwrap<LoadInst>(load);
  const DataLayout &Layout = layoutOf(Load);
  APInt Offset(64, offset);
  Constant *Found = ConstantFoldLoadFromConst(unwrap<Constant>(constant), Load->getType(), Offset, Layout);
  return Found && !isa<UndefValue>(Found) ? wrap(Found) : nullptr;
}

/// Replaces a load by a value and deletes it.
void offloom_ir_replace_load(LLVMValueRef load, LLVMValueRef value) {
  auto *Load = unwrap<LoadInst>(load);
  Load->replaceAllUsesWith(unwrap(value));
  Load->eraseFromParent();
}

/// Says of a pointer that is loaded that it is aligned to `alignment` bytes. Whether that says more than was
/// said before.
bool offloom_ir_raise_loaded_alignment(LLVMValueRef load, uint64_t alignment) {
  auto *Load = unwrap<LoadInst>(load);
  if (Load->getPointerAlignment(layoutOf(Load)).value() >= alignment)
    return false;
  Type *Word = Type::getInt64Ty(Load->getContext());
  auto *Value = ConstantAsMetadata::get(ConstantInt::get(Word, alignment));
  Load->setMetadata(LLVMContext::MD_align, MDNode::get(Load->getContext(), Value));
  return true;
}

// ---- function_arguments.rs ----

/// Promotes local variables to values and folds what is constant, function by function.
void offloom_ir_fold_constants(LLVMModuleRef module) {
  offloom::Analyses All;
  PassBuilder Builder;
  All.registerWith(Builder);
  FunctionPassManager Passes;
  Passes.addPass(SROAPass(SROAOptions::PreserveCFG));
  Passes.addPass(EarlyCSEPass());
  Passes.addPass(SCCPPass());
  Passes.addPass(InstSimplifyPass());
  ModulePassManager Manager;
  Manager.addPass(createModuleToFunctionPassAdaptor(std::move(Passes)));
  Manager.run(*unwrap(module), All.OfModule);
}

// ---- target_queries.rs ----

/// Replaces the calls of a function without parameters, or of an intrinsic, by a number of the type it
/// returns. How many there were.
size_t offloom_ir_fold_queries(LLVMModuleRef module, const char *function, size_t length, uint32_t value) {
  Function *F = unwrap(module)->getFunction(StringRef(function, length));
  if (!F || !F->getReturnType()->isIntegerTy() || !F->arg_empty())
    return 0;
  size_t Folded = 0;
  for (User *U : make_early_inc_range(F->users())) {
    auto *Call = dyn_cast<CallInst>(U);
    if (!Call || Call->getCalledOperand() != F || Call->getFunctionType() != F->getFunctionType())
      continue;
    Call->replaceAllUsesWith(ConstantInt::get(F->getReturnType(), value));
    Call->eraseFromParent();
    ++Folded;
  }
  return Folded;
}

/// Puts the numbers of teams and threads of a launch, of which one that is 0 is not known, into what an AMD
/// GPU's code reads of it. How many loads there were.
size_t offloom_ir_fold_amd_launch(LLVMModuleRef module, uint32_t teams, uint32_t threads) {
  Module &M = *unwrap(module);
  AmdLaunch Launch(M, teams, threads);
  size_t Folded = 0;
  for (Function &F : M)
    for (Instruction &I : make_early_inc_range(instructions(F))) {
      auto *Load = dyn_cast<LoadInst>(&I);
      if (!Load || !Load->isSimple() || !Load->getType()->isIntegerTy())
        continue;
      if (auto Number = Launch.at(Load->getPointerOperand(), Load->getType()->getIntegerBitWidth())) {
        Load->replaceAllUsesWith(ConstantInt::get(Load->getType(), *Number));
        Load->eraseFromParent();
        ++Folded;
      }
    }
  return Folded;
}

/// Has the calls of a function or intrinsic return numbers below `bound`. How many there were.
size_t offloom_ir_bound_queries(LLVMModuleRef module, const char *function, size_t length, uint32_t bound) {
  Function *F = unwrap(module)->getFunction(StringRef(function, length));
  if (!F || !F->getReturnType()->isIntegerTy(32) || bound == 0)
    return 0;
  MDNode *Range = MDBuilder(F->getContext()).createRange(APInt(32, 0), APInt(32, bound));
  size_t Bounded = 0;
  for (User *U : F->users())
    if (auto *Call = dyn_cast<CallInst>(U); Call && Call->getCalledOperand() == F) {
      Call->setMetadata(LLVMContext::MD_range, Range);
      ++Bounded;
    }
  return Bounded;
}

/// The configuration in a kernel's environment (`KernelEnvironmentTy`), or null.
static Constant *configurationOf(LLVMValueRef environment) {
  auto *Variable = unwrap<GlobalVariable>(environment);
  if (!Variable->hasInitializer() || !Variable->getValueType()->isStructTy())
    return nullptr;
  Constant *Configuration = Variable->getInitializer()->getAggregateElement(0u);
  return Configuration && Configuration->getType()->isStructTy() ? Configuration : nullptr;
}

/// The execution mode in a kernel's environment; 0 if it has none.
uint8_t offloom_ir_kernel_execution_mode(LLVMValueRef environment) {
  Constant *Configuration = configurationOf(environment);
  auto *Mode = Configuration ? dyn_cast_or_null<ConstantInt>(Configuration->getAggregateElement(2u)) : nullptr;
  return Mode && Mode->getType()->isIntegerTy(8) ? Mode->getZExtValue() : 0;
}

/// Sets two fields that follow each other in the configuration of a kernel's environment.
void offloom_ir_set_kernel_limits(LLVMValueRef environment, uint32_t first_field, uint32_t value) {
  auto *Variable = unwrap<GlobalVariable>(environment);
  Constant *Configuration = configurationOf(environment);
  if (!Configuration)
    return;
  auto *Type = cast<StructType>(Configuration->getType());
  SmallVector<Constant *, 16> Fields;
  for (unsigned I = 0; I != Type->getNumElements(); ++I)
    Fields.push_back(Configuration->getAggregateElement(I));
  for (unsigned I = first_field; I != first_field + 2; ++I) {
    if (I >= Fields.size() || !Fields[I]->getType()->isIntegerTy(32))
      return;
    Fields[I] = ConstantInt::get(Fields[I]->getType(), value);
  }
  auto *Whole = cast<StructType>(Variable->getValueType());
  SmallVector<Constant *, 4> Parts{ConstantStruct::get(Type, Fields)};
  for (unsigned I = 1; I != Whole->getNumElements(); ++I)
    Parts.push_back(Variable->getInitializer()->getAggregateElement(I));
  Variable->setInitializer(ConstantStruct::get(Whole, Parts));
}

/// Copies objects of at most `longest` bytes field by field where the fields are known, so that each can be
/// followed.
void offloom_ir_split_copies(LLVMModuleRef module, uint64_t longest) {
  SmallVector<MemCpyInst *, 8> Copies;
  for (Function &F : *unwrap(module))
    for (Instruction &I : instructions(F))
      if (auto *Copy = dyn_cast<MemCpyInst>(&I);
          Copy && !Copy->isVolatile() && Copy->getIntrinsicID() != Intrinsic::memcpy_inline)
        Copies.push_back(Copy);
  for (MemCpyInst *Copy : Copies) {
    auto *Length = dyn_cast<ConstantInt>(Copy->getLength());
    if (!Length || Length->getValue().ugt(longest))
      continue;
    SmallVector<Piece, 16> Pieces = piecesOf(*Copy, Length->getZExtValue());
    if (Pieces.empty())
      continue;
    IRBuilder<> Builder(Copy);
    SmallVector<Value *, 16> Loaded;
    for (const Piece &P : Pieces) {
      auto *Type = P.Tag->getNumOperands() > 1 ? dyn_cast_or_null<MDNode>(P.Tag->getOperand(1)) : nullptr;
      bool IsPointer = P.Size * 8 == layoutOf(Copy).getPointerSizeInBits() && isPointerType(Type);
      llvm::Type *Field = IsPointer ? static_cast<llvm::Type *>(Builder.getPtrTy()) : Builder.getIntNTy(P.Size * 8);
      auto *Load = Builder.CreateAlignedLoad(
          Field, Builder.CreateConstInBoundsGEP1_64(Builder.getInt8Ty(), Copy->getRawSource(), P.Offset),
          commonAlignment(Copy->getSourceAlign().valueOrOne(), P.Offset));
      Load->setMetadata(LLVMContext::MD_tbaa, P.Tag);
      Loaded.push_back(Load);
    }
    for (auto [P, Field] : zip(Pieces, Loaded)) {
      auto *Store =
          Builder.CreateAlignedStore(Field, Builder.CreateConstInBoundsGEP1_64(Builder.getInt8Ty(), Copy->getRawDest(), P.Offset),
                                     commonAlignment(Copy->getDestAlign().valueOrOne(), P.Offset));
      Store->setMetadata(LLVMContext::MD_tbaa, P.Tag);
    }
    Copy->eraseFromParent();
  }
}

// ---- call_rewriting.rs ----

/// Whether LLVM knows the function as one of the C or mathematics library's of the module's target.
bool offloom_ir_is_library_function(LLVMValueRef function) {
  const auto *F = unwrap<Function>(function);
  TargetLibraryInfoImpl Library(Triple(F->getParent()->getTargetTriple()));
  LibFunc Found;
  return Library.getLibFunc(*F, Found);
}

} // extern "C"
