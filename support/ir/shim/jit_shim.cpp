// What the LLVM C API lacks for the JIT's module surgery, as C functions with plain arguments. Rules as in
// ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/CodeGen/MachineOptimizationRemarkEmitter.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalObject.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <memory>

using namespace llvm;

namespace {

/// Adds up what register allocation says of each function: the registers that it put away on the stack, into
/// other instructions or by ones of their own. It only says so to a handler that wants to know. Everything
/// else goes to the context's own handler.
struct SpillCounter : DiagnosticHandler {
  SpillCounter(DiagnosticHandler &others, unsigned &spills) : others(others), spills(spills) { spills = 0; }

  bool isMissedOptRemarkEnabled(StringRef pass) const override { return pass == "regalloc"; }
  bool isAnyRemarkEnabled() const override { return true; }

  bool handleDiagnostics(const DiagnosticInfo &diagnostic) override {
    auto *remark = dyn_cast<MachineOptimizationRemarkMissed>(&diagnostic);
    if (!remark || remark->getPassName() != "regalloc")
      return others.handleDiagnostics(diagnostic);
    // The remark on a loop counts again what is in the function's.
    if (remark->getRemarkName() == "SpillReloadCopies")
      for (const auto &argument : remark->getArgs()) {
        unsigned number = 0;
        bool counts = argument.Key == "NumSpills" || argument.Key == "NumFoldedSpills";
        if (counts && !StringRef(argument.Val).getAsInteger(10, number))
          spills += number;
      }
    return true;
  }

private:
  DiagnosticHandler &others;
  unsigned &spills;
};

bool hasAddressTakenBlock(const Function &F) {
  return any_of(F, [](const BasicBlock &B) { return B.hasAddressTaken(); });
}

/// As `offloom_ir_emit_object` says.
LLVMMemoryBufferRef emit(LLVMModuleRef module, LLVMTargetMachineRef machine, CodeGenFileType file_type, unsigned *spills) {
  auto *target = reinterpret_cast<TargetMachine *>(machine);
  Module &M = *unwrap(module);
  M.setDataLayout(target->createDataLayout());
  legacy::PassManager passes;
  passes.add(new TargetLibraryInfoWrapperPass(target->getTargetTriple()));
  passes.add(createTargetTransformInfoWrapperPass(target->getTargetIRAnalysis()));
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  if (target->addPassesToEmitFile(passes, stream, nullptr, file_type))
    return nullptr;
  LLVMContext &context = M.getContext();
  std::unique_ptr<DiagnosticHandler> others;
  if (spills) {
    others = context.getDiagnosticHandler();
    context.setDiagnosticHandler(std::make_unique<SpillCounter>(*others, *spills));
  }
  passes.run(M);
  if (others)
    context.setDiagnosticHandler(std::move(others));
  return wrap(new SmallVectorMemoryBuffer(std::move(object), "object", /*RequiresNullTerminator=*/false));
}

} // namespace

extern "C" {

// ---- module.rs ----

/// Copies a module within its context. The caller gets the copy.
///
/// By way of bitcode where a label's address is taken: `CloneModule` makes an address in an initialiser one
/// of the original's block before LLVM 21, and does not survive one in another function before its own in
/// LLVM 22.
LLVMModuleRef offloom_ir_copy_module(LLVMModuleRef module) {
  Module &M = *unwrap(module);
  if (none_of(M, hasAddressTakenBlock))
    return wrap(CloneModule(M).release());
  SmallVector<char, 0> Bitcode;
  raw_svector_ostream Stream(Bitcode);
  WriteBitcodeToFile(M, Stream, /*ShouldPreserveUseListOrder=*/true);
  MemoryBufferRef Buffer(StringRef(Bitcode.data(), Bitcode.size()), M.getModuleIdentifier());
  Expected<std::unique_ptr<Module>> Copy = parseBitcodeFile(Buffer, M.getContext());
  // What LLVM has just written of a valid module.
  if (!Copy)
    report_fatal_error(Copy.takeError());
  return wrap(Copy->release());
}

// ---- jit_globals.rs ----

/// Whether another definition may replace this one when the module is linked or loaded.
bool offloom_ir_is_interposable(LLVMValueRef global) { return unwrap<GlobalValue>(global)->isInterposable(); }

/// Whether an instruction reads or writes what the global's name stands for, or part of it.
bool offloom_ir_is_accessed_by_name(LLVMValueRef global) {
  SmallVector<const Value *, 8> Open = {unwrap(global)};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Open.empty()) {
    const Value *Next = Open.pop_back_val();
    if (!Seen.insert(Next).second)
      continue;
    for (const User *U : Next->users()) {
      auto *I = dyn_cast<Instruction>(U);
      if (isa<MemIntrinsic>(U) || (I && I->mayReadOrWriteMemory() && getPointerOperand(I) == Next))
        return true;
      if (isa<ConstantExpr, GetElementPtrInst, CastInst>(U))
        Open.push_back(U);
    }
  }
  return false;
}

/// Whether a block of the function has its address taken (`blockaddress`).
bool offloom_ir_has_address_taken_block(LLVMValueRef function) { return hasAddressTakenBlock(*unwrap<Function>(function)); }

/// Removes what ties a global to the object it is defined in: comdat, section, visibility, `dso_local`,
/// partition. With `drop_definition` its body or initialiser goes as well. The linkage becomes `linkage`; a
/// declaration that may stay undefined (`extern_weak`) stays one.
void offloom_ir_detach_global(LLVMValueRef global, bool drop_definition, LLVMLinkage linkage) {
  auto *value = unwrap<GlobalValue>(global);
  // Deleting a body makes the linkage external, even where there is none.
  if (value->hasExternalWeakLinkage())
    linkage = LLVMExternalWeakLinkage;
  if (auto *object = dyn_cast<GlobalObject>(value)) {
    object->setComdat(nullptr);
    object->setSection("");
    if (drop_definition) {
      if (auto *function = dyn_cast<Function>(object)) {
        function->deleteBody();
      } else {
        cast<GlobalVariable>(object)->setInitializer(nullptr);
      }
      object->clearMetadata();
    }
  }
  // Local linkage wants default visibility, so it is set before and after.
  value->setVisibility(GlobalValue::DefaultVisibility);
  value->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  value->setPartition("");
  LLVMSetLinkage(global, linkage);
  value->setDSOLocal(value->hasLocalLinkage());
}

/// Puts a declaration of something that is defined elsewhere in the place of an alias.
LLVMValueRef offloom_ir_declare_for_alias(LLVMValueRef alias) {
  auto *Alias = unwrap<GlobalAlias>(alias);
  Module &M = *Alias->getParent();
  GlobalValue *Declared;
  if (auto *Type = dyn_cast<FunctionType>(Alias->getValueType()))
    Declared = Function::Create(Type, GlobalValue::ExternalLinkage, Alias->getAddressSpace(), "", &M);
  else
    Declared = new GlobalVariable(M, Alias->getValueType(), /*isConstant=*/false, GlobalValue::ExternalLinkage, nullptr, "",
                                  nullptr, Alias->getThreadLocalMode(), Alias->getAddressSpace());
  Declared->takeName(Alias);
  Alias->replaceAllUsesWith(Declared);
  Alias->eraseFromParent();
  return wrap(Declared);
}

/// Clones a function definition into its module, with internal linkage. The clone's name is made unique from
/// the original's.
LLVMValueRef offloom_ir_clone_function(LLVMValueRef function) {
  ValueToValueMapTy map;
  Function *clone = CloneFunction(unwrap<Function>(function), map);
  clone->setComdat(nullptr);
  clone->setVisibility(GlobalValue::DefaultVisibility);
  clone->setLinkage(GlobalValue::InternalLinkage);
  return wrap(clone);
}

/// Makes a variable of the module's own a constant if nothing in the module does more with it than load from
/// it or copy out of it: its initialiser is what it holds for ever. Whether it did.
bool offloom_ir_make_constant_if_only_loaded(LLVMValueRef variable) {
  auto *Variable = dyn_cast<GlobalVariable>(unwrap(variable));
  if (!Variable || Variable->isConstant() || !Variable->hasLocalLinkage() || !Variable->hasDefinitiveInitializer() ||
      Variable->isThreadLocal() || Variable->isExternallyInitialized() || Variable->hasSection())
    return false;
  SmallVector<const Value *, 8> Pending{Variable};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Pending.empty()) {
    const Value *Pointer = Pending.pop_back_val();
    for (const Use &U : Pointer->uses()) {
      const User *By = U.getUser();
      if (const auto *Derived = dyn_cast<Operator>(By);
          Derived && (isa<GEPOperator>(Derived) || isa<AddrSpaceCastOperator>(Derived) || isa<BitCastOperator>(Derived))) {
        if (Seen.insert(By).second)
          Pending.push_back(By);
        continue;
      }
      if (const auto *Load = dyn_cast<LoadInst>(By)) {
        if (Load->isSimple())
          continue;
        return false;
      }
      const auto *Copy = dyn_cast<MemTransferInst>(By);
      if (!Copy || Copy->isVolatile() || &U != &Copy->getRawSourceUse())
        return false;
    }
  }
  Variable->setConstant(true);
  return true;
}

/// Adds the function, `void ()`, to the module's constructors.
void offloom_ir_append_destructor(LLVMModuleRef module, LLVMValueRef function, int priority) {
  appendToGlobalDtors(*unwrap(module), unwrap<Function>(function), priority);
}

void offloom_ir_append_constructor(LLVMModuleRef module, LLVMValueRef function, int priority) {
  appendToGlobalCtors(*unwrap(module), unwrap<Function>(function), priority);
}

// ---- codegen.rs ----

/// Has constructors go to `.init_array`, as Clang does. LLVM's own default is `.ctors`, which lld drops
/// without a word.
void offloom_ir_use_init_array(LLVMTargetMachineRef machine) {
  reinterpret_cast<TargetMachine *>(machine)->Options.UseInitArray = true;
}

/// Generates the object file, or null if the machine generates none. What
/// `LLVMTargetMachineEmitToMemoryBuffer` generates is made without what the target knows of the cost and
/// speed of its instructions: LLVM's passes then work with the figures of no processor.
///
/// Where `spills` is not null, it becomes the number of instructions that put registers away
/// (`SpillCounter`).
LLVMMemoryBufferRef offloom_ir_emit_object(LLVMModuleRef module, LLVMTargetMachineRef machine, unsigned *spills) {
  return emit(module, machine, CodeGenFileType::ObjectFile, spills);
}

/// The same with assembly in the place of an object.
LLVMMemoryBufferRef offloom_ir_emit_assembly(LLVMModuleRef module, LLVMTargetMachineRef machine) {
  return emit(module, machine, CodeGenFileType::AssemblyFile, nullptr);
}

// ---- call_rewriting.rs ----

/// Whether the function's code is the same in another function: not where labels' addresses are taken.
bool offloom_ir_can_be_inlined(LLVMValueRef function) { return isInlineViable(*unwrap<Function>(function)).isSuccess(); }

/// Replaces a call by the code of the function that it calls; false if LLVM cannot.
bool offloom_ir_inline_call(LLVMValueRef call) {
  InlineFunctionInfo info;
  return InlineFunction(*cast<CallBase>(unwrap(call)), info).isSuccess();
}

} // extern "C"
