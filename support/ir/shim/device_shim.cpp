// What device modules need and the LLVM C API lacks, as C functions with plain arguments. One section per
// Rust module that uses them.
//
// Rules: those of ir_shim.cpp.

#include "lists.h"
#include "pipeline.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Frontend/OpenMP/OMPIRBuilder.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Support/Error.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

// ---- annotations.rs ----

static ConstantArray *annotationList(Module &M) {
  GlobalVariable *List = M.getNamedGlobal("llvm.global.annotations");
  return List && List->hasInitializer() ? dyn_cast<ConstantArray>(List->getInitializer()) : nullptr;
}

/// Erases a local variable that nothing uses.
static void eraseIfDead(GlobalValue *G) {
  auto *V = dyn_cast_or_null<GlobalVariable>(G);
  if (!V || !V->hasLocalLinkage())
    return;
  V->removeDeadConstantUsers();
  if (V->use_empty())
    V->eraseFromParent();
}

static GlobalValue *symbolBehind(Value *V) { return dyn_cast<GlobalValue>(V->stripPointerCasts()); }

// ---- bitcode_header.rs ----

/// The text as a new string; null instead of an error.
static char *messageOf(Expected<std::string> Text) {
  if (Text)
    return LLVMCreateMessage(Text->c_str());
  consumeError(Text.takeError());
  return nullptr;
}

// ---- target_kernel.rs ----

/// A builder for the OpenMP device code of `M`.
static void configure(OpenMPIRBuilder &Builder) {
  OpenMPIRBuilderConfig Config(/*IsTargetDevice=*/true, /*IsGPU=*/true, /*OpenMPOffloadMandatory=*/false,
                               /*HasRequiresReverseOffload=*/false, /*HasRequiresUnifiedAddress=*/false,
                               /*HasRequiresUnifiedSharedMemory=*/false, /*HasRequiresDynamicAllocators=*/false);
  Builder.setConfig(Config);
  Builder.initialize();
}

extern "C" {

// ---- annotations.rs ----

/// How many annotations `llvm.global.annotations` has.
size_t offloom_ir_annotation_count(LLVMModuleRef M) {
  ConstantArray *List = annotationList(*unwrap(M));
  return List ? List->getNumOperands() : 0;
}

/// The text of the annotation with that index, its length and the symbol that has it. Null if it is not of
/// the usual form.
const char *offloom_ir_annotation(LLVMModuleRef M, size_t index, size_t *length, LLVMValueRef *symbol) {
  auto *Entry = dyn_cast<ConstantStruct>(annotationList(*unwrap(M))->getOperand(index));
  if (!Entry || Entry->getNumOperands() < 2)
    return nullptr;
  GlobalValue *Symbol = symbolBehind(Entry->getOperand(0));
  auto *Text = dyn_cast_or_null<GlobalVariable>(symbolBehind(Entry->getOperand(1)));
  auto *Bytes = Text && Text->hasInitializer() ? dyn_cast<ConstantDataSequential>(Text->getInitializer()) : nullptr;
  if (!Symbol || !Bytes || !Bytes->isString())
    return nullptr;
  // Clang ends it with a NUL; a front end may take the array's length for the text's.
  StringRef String = Bytes->getAsString().split('\0').first;
  *length = String.size();
  *symbol = wrap(Symbol);
  return String.data();
}

/// Removes the annotations for which `keep`, one for each, is false, and the strings that only they used.
void offloom_ir_keep_annotations(LLVMModuleRef M, const bool *keep) {
  ConstantArray *Old = annotationList(*unwrap(M));
  GlobalVariable *List = unwrap(M)->getNamedGlobal("llvm.global.annotations");
  SmallVector<Constant *, 16> Elements;
  SmallSetVector<GlobalValue *, 16> Strings;
  for (unsigned I = 0; I != Old->getNumOperands(); ++I) {
    Constant *Entry = Old->getOperand(I);
    if (keep[I]) {
      Elements.push_back(Entry);
      continue;
    }
    for (unsigned Operand = 1; Operand != Entry->getNumOperands(); ++Operand)
      if (Entry->getOperand(Operand)->getType()->isPointerTy())
        if (GlobalValue *String = symbolBehind(Entry->getOperand(Operand)))
          Strings.insert(String);
  }
  offloom::setElements(*List, *Old, Elements);
  for (GlobalValue *String : Strings)
    eraseIfDead(String);
}

// ---- module.rs ----

/// Adds an i32 module flag of which the highest value wins when modules are linked.
void offloom_ir_add_maximum_flag(LLVMModuleRef M, const char *key, size_t length, uint32_t value) {
  unwrap(M)->addModuleFlag(Module::Max, StringRef(key, length), value);
}

/// The producer that a bitcode file names, as a new string to be freed with LLVMDisposeMessage; null if it
/// names none.
char *offloom_ir_bitcode_producer(const char *bytes, size_t length) {
  return messageOf(getBitcodeProducerString(MemoryBufferRef(StringRef(bytes, length), "")));
}

/// The target triple that a bitcode file names, in the same way.
char *offloom_ir_bitcode_triple(const char *bytes, size_t length) {
  return messageOf(getBitcodeTargetTriple(MemoryBufferRef(StringRef(bytes, length), "")));
}

// ---- link_variable.rs ----

/// Replaces each use of a variable in code by the pointer that `reference` holds.
void offloom_ir_load_address(LLVMValueRef variable, LLVMValueRef reference) {
  auto *V = unwrap<GlobalVariable>(variable);
  auto *Reference = unwrap<GlobalVariable>(reference);
  const DataLayout &Layout = V->getParent()->getDataLayout();
  V->removeDeadConstantUsers();
  convertUsersOfConstantsToInstructions({V});
  SmallVector<Use *, 16> Uses;
  for (Use &U : V->uses())
    if (isa<Instruction>(U.getUser()))
      Uses.push_back(&U);
  DenseMap<Instruction *, Value *> Loaded;
  for (Use *U : Uses) {
    auto *Before = cast<Instruction>(U->getUser());
    if (auto *Phi = dyn_cast<PHINode>(Before))
      Before = Phi->getIncomingBlock(*U)->getTerminator();
    Value *&Address = Loaded[Before];
    if (!Address) {
      IRBuilder<> Builder(Before);
      Address =
          Builder.CreateAlignedLoad(Reference->getValueType(), Reference, Layout.getABITypeAlign(Reference->getValueType()));
      Address = Builder.CreateAddrSpaceCast(Address, V->getType());
    }
    U->set(Address);
  }
}

/// Removes a variable that no code uses. Returns a symbol whose initial value needs its address, and then
/// leaves it, or null.
LLVMValueRef offloom_ir_erase_unless_needed(LLVMValueRef variable) {
  auto *V = unwrap<GlobalVariable>(variable);
  V->removeDeadConstantUsers();
  removeFromUsedLists(*V->getParent(), [V](Constant *C) { return C == V; });
  // Initial values, perhaps at some depth.
  SmallVector<User *, 8> Pending(V->users());
  SmallPtrSet<User *, 8> Seen;
  while (!Pending.empty()) {
    User *Current = Pending.pop_back_val();
    auto *G = dyn_cast<GlobalValue>(Current);
    if (G && G->getName() != "llvm.global.annotations")
      return wrap(G);
    if (!G && Seen.insert(Current).second)
      Pending.append(Current->user_begin(), Current->user_end());
  }
  V->replaceNonMetadataUsesWith(Constant::getNullValue(V->getType()));
  V->eraseFromParent();
  return nullptr;
}

// ---- target_kernel.rs ----

/// At the end of `entry`, the first block of a GPU kernel whose first parameter is the implicit one: starts
/// the kernel in generic mode. `threads` and `teams` are limits, -1 for the target's default. Returns the
/// block for the code of the one initial thread.
LLVMBasicBlockRef offloom_ir_begin_target_kernel(LLVMBasicBlockRef entry, int32_t threads, int32_t teams) {
  BasicBlock *Entry = unwrap(entry);
  OpenMPIRBuilder Builder(*Entry->getModule());
  configure(Builder);
  OpenMPIRBuilder::LocationDescription Location({Entry, Entry->end()}, DebugLoc());
#if LLVM_VERSION_MAJOR >= 20
  OpenMPIRBuilder::TargetKernelDefaultAttrs Limits;
  Limits.MaxThreads = {threads};
  Limits.MinTeams = teams;
  Limits.MaxTeams = {teams};
  return wrap(Builder.createTargetInit(Location, Limits).getBlock());
#else
  return wrap(Builder.createTargetInit(Location, /*IsSPMD=*/false, /*MinThreadsVal=*/1, threads, teams, teams).getBlock());
#endif
}

/// At the end of `block`: ends what `offloom_ir_begin_target_kernel` started.
void offloom_ir_end_target_kernel(LLVMBasicBlockRef block) {
  BasicBlock *Block = unwrap(block);
  OpenMPIRBuilder Builder(*Block->getModule());
  configure(Builder);
  Builder.createTargetDeinit(OpenMPIRBuilder::LocationDescription({Block, Block->end()}, DebugLoc()));
}

// ---- unused_code.rs ----

void offloom_ir_remove_unused(LLVMModuleRef M) {
  offloom::Analyses All;
  PassBuilder Builder;
  All.registerWith(Builder);
  GlobalDCEPass().run(*unwrap(M), All.OfModule);
}

void offloom_ir_drop_surplus_arguments(LLVMModuleRef M) {
  for (Function &F : *unwrap(M))
    for (Instruction &I : make_early_inc_range(instructions(F))) {
      auto *Call = dyn_cast<CallInst>(&I);
      auto *Callee = Call ? dyn_cast<Function>(Call->getCalledOperand()) : nullptr;
      if (!Callee || Callee->isVarArg() || Call->arg_size() <= Callee->arg_size() || Call->getType() != Callee->getReturnType() ||
          !all_of(zip_first(Callee->args(), Call->args()),
                  [](auto Pair) { return std::get<0>(Pair).getType() == std::get<1>(Pair)->getType(); }))
        continue;
      IRBuilder<> Builder(Call);
      SmallVector<Value *, 8> Arguments(Call->arg_begin(), Call->arg_begin() + Callee->arg_size());
      CallInst *Fitting = Builder.CreateCall(Callee, Arguments);
      Fitting->setCallingConv(Call->getCallingConv());
      Call->replaceAllUsesWith(Fitting);
      Call->eraseFromParent();
    }
}

/// The constants that calls of the library's function, there and in the program, pass for the argument, added
/// to `Constants`; false if there is another use, or another value. Who passes on what it was given itself
/// passes what it is called with.
static bool collectPassed(const Argument &A, const Module &Program, SmallPtrSetImpl<const Argument *> &Seen,
                          SmallPtrSetImpl<const ConstantInt *> &Constants) {
  if (!Seen.insert(&A).second)
    return true;
  auto IsConstant = [&](const Use &U, bool IsLibrary) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    if (!Call || !Call->isCallee(&U) || Call->arg_size() <= A.getArgNo())
      return false;
    const Value *Passed = Call->getArgOperand(A.getArgNo());
    if (auto *Constant = dyn_cast<ConstantInt>(Passed)) {
      Constants.insert(Constant);
      return true;
    }
    auto *Given = dyn_cast<Argument>(Passed);
    return IsLibrary && Given && collectPassed(*Given, Program, Seen, Constants);
  };
  const Function *Called = Program.getFunction(A.getParent()->getName());
  return all_of(A.getParent()->uses(), [&](const Use &U) { return IsConstant(U, true); }) &&
         (!Called || all_of(Called->uses(), [&](const Use &U) { return IsConstant(U, false); }));
}

void offloom_ir_drop_cases_not_passed(LLVMModuleRef library, LLVMModuleRef program) {
  for (Function &F : *unwrap(library)) {
    if (F.isDeclaration())
      continue;
    bool Changed = false;
    for (Argument &A : F.args()) {
      SmallVector<SwitchInst *, 4> Switches;
      for (User *U : A.users())
        if (auto *Switch = dyn_cast<SwitchInst>(U))
          Switches.push_back(Switch);
      if (Switches.empty())
        continue;
      SmallPtrSet<const ConstantInt *, 16> Passed;
      SmallPtrSet<const Argument *, 4> Seen;
      if (!collectPassed(A, *unwrap(program), Seen, Passed) || Passed.empty())
        continue;
      for (SwitchInst *Switch : Switches)
        for (auto Case = Switch->case_begin(); Case != Switch->case_end();) {
          if (is_contained(Passed, Case->getCaseValue())) {
            ++Case;
            continue;
          }
          Case->getCaseSuccessor()->removePredecessor(Switch->getParent());
          Case = Switch->removeCase(Case);
          Changed = true;
        }
    }
    if (Changed)
      removeUnreachableBlocks(F);
  }
}

} // extern "C"
