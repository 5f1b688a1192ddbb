// What the LLVM C API lacks, as C functions with plain arguments. One section per Rust module that uses them.
//
// Rules: no exception leaves this file (it is compiled without them), no C++ type appears in a signature, and
// a handle passed in stays the caller's unless the function's comment says otherwise.

#include "llvm-c/Core.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/RuntimeLibcalls.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

#if LLVM_VERSION_MAJOR == 21
/// The names in `RTLIB::RuntimeLibcallsInfo`, which its inline functions read. Weak, so that a plugin also
/// loads into another LLVM, which has no such variable, to say that it is for this one.
extern "C" __attribute__((weak, visibility("default")))
const char *const RuntimeFunctionNames[] __asm__("_ZN4llvm5RTLIB19RuntimeLibcallsInfo16LibCallImplNamesE");
#endif

extern "C" {

// ---- module.rs ----

/// Removes the named metadata `name` from the module if it is there.
void offloom_ir_erase_named_metadata(LLVMModuleRef M, const char *name, size_t length) {
  if (NamedMDNode *N = unwrap(M)->getNamedMetadata(StringRef(name, length)))
    unwrap(M)->eraseNamedMetadata(N);
}

/// Removes the module flag `key` from the module if it is there.
void offloom_ir_remove_flag(LLVMModuleRef M, const char *key, size_t length) {
  NamedMDNode *Flags = unwrap(M)->getModuleFlagsMetadata();
  if (!Flags)
    return;
  SmallVector<MDNode *, 8> Kept;
  for (MDNode *Flag : Flags->operands()) {
    auto *Key = Flag->getNumOperands() == 3 ? dyn_cast<MDString>(Flag->getOperand(1)) : nullptr;
    if (!Key || Key->getString() != StringRef(key, length))
      Kept.push_back(Flag);
  }
  Flags->clearOperands();
  for (MDNode *Flag : Kept)
    Flags->addOperand(Flag);
}

// ---- symbol.rs ----

/// The value of a string attribute of a function or variable and its length; null if there is none.
const char *offloom_ir_string_attribute(LLVMValueRef V, const char *key, size_t keyLength, size_t *valueLength) {
  Attribute Found;
  StringRef Key(key, keyLength);
  if (auto *F = dyn_cast<Function>(unwrap(V)))
    Found = F->getFnAttribute(Key);
  else if (auto *G = dyn_cast<GlobalVariable>(unwrap(V)))
    Found = G->getAttribute(Key);
  if (!Found.isStringAttribute())
    return nullptr;
  StringRef Value = Found.getValueAsString();
  *valueLength = Value.size();
  return Value.empty() ? "" : Value.data();
}

/// Sets a string attribute of a function or variable.
void offloom_ir_set_string_attribute(LLVMValueRef V, const char *key, size_t keyLength, const char *value, size_t valueLength) {
  StringRef Key(key, keyLength), Value(value, valueLength);
  if (auto *F = dyn_cast<Function>(unwrap(V)))
    F->addFnAttr(Key, Value);
  else if (auto *G = dyn_cast<GlobalVariable>(unwrap(V)))
    G->addAttribute(Key, Value);
}

/// Removes a string attribute of a function or variable if it is there.
void offloom_ir_remove_string_attribute(LLVMValueRef V, const char *key, size_t keyLength) {
  StringRef Key(key, keyLength);
  if (auto *F = dyn_cast<Function>(unwrap(V)))
    F->removeFnAttr(Key);
  else if (auto *G = dyn_cast<GlobalVariable>(unwrap(V)))
    G->setAttributes(G->getAttributes().removeAttribute(G->getContext(), Key));
}

/// The comdat of a global value (of an alias: its target's), or null.
LLVMComdatRef offloom_ir_comdat(LLVMValueRef V) { return wrap(const_cast<Comdat *>(unwrap<GlobalValue>(V)->getComdat())); }

/// Takes a function or variable out of its comdat.
void offloom_ir_leave_comdat(LLVMValueRef V) {
  if (auto *O = dyn_cast<GlobalObject>(unwrap(V)))
    O->setComdat(nullptr);
}

/// Removes the global value from its module if nothing uses it.
bool offloom_ir_erase_if_unused(LLVMValueRef V) {
  auto *Symbol = unwrap<GlobalValue>(V);
  Symbol->removeDeadConstantUsers();
  if (!Symbol->use_empty())
    return false;
  Symbol->eraseFromParent();
  return true;
}

/// The global value a constant pointer is an address in, or null.
LLVMValueRef offloom_ir_symbol_behind(LLVMValueRef V) {
  if (!unwrap(V)->getType()->isPointerTy())
    return nullptr;
  return wrap(dyn_cast<GlobalValue>(unwrap(V)->stripInBoundsConstantOffsets()));
}

// ---- used.rs ----

/// How many symbols `llvm.compiler.used` (or else `llvm.used`) lists.
size_t offloom_ir_used_count(LLVMModuleRef M, bool compilerOnly) {
  SmallVector<GlobalValue *, 16> Symbols;
  collectUsedGlobalVariables(*unwrap(M), Symbols, compilerOnly);
  return Symbols.size();
}

/// Writes the symbols of the list to `symbols`, which has room for `offloom_ir_used_count` of them.
void offloom_ir_used(LLVMModuleRef M, bool compilerOnly, LLVMValueRef *symbols) {
  SmallVector<GlobalValue *, 16> Symbols;
  collectUsedGlobalVariables(*unwrap(M), Symbols, compilerOnly);
  for (GlobalValue *Symbol : Symbols)
    *symbols++ = wrap(Symbol);
}

/// Replaces the list; without symbols the module has no list afterwards.
void offloom_ir_set_used(LLVMModuleRef M, bool compilerOnly, const LLVMValueRef *symbols, size_t count) {
  SmallVector<GlobalValue *, 16> Old, New;
  if (GlobalVariable *List = collectUsedGlobalVariables(*unwrap(M), Old, compilerOnly))
    List->eraseFromParent();
  for (size_t I = 0; I != count; ++I)
    New.push_back(unwrap<GlobalValue>(symbols[I]));
  if (New.empty())
    return;
  if (compilerOnly)
    appendToCompilerUsed(*unwrap(M), New);
  else
    appendToUsed(*unwrap(M), New);
}

// ---- read_module.rs ----

/// Reads text or bitcode; the buffer stays the caller's. On failure null and a message, to be freed with
/// `LLVMDisposeMessage`. The C API has two functions for this, of which LLVM 22 has both and LLVM 19 one:
/// called from Rust, the newer one would keep a plugin of LLVM 22 from being loaded far enough by LLVM 19 to
/// say what is wrong.
LLVMModuleRef offloom_ir_parse(LLVMContextRef C, LLVMMemoryBufferRef buffer, char **message) {
  SMDiagnostic Error;
  if (std::unique_ptr<Module> M = parseIR(unwrap(buffer)->getMemBufferRef(), Error, *unwrap(C)))
    return wrap(M.release());
  std::string Text;
  raw_string_ostream Stream(Text);
  Error.print(nullptr, Stream, /*ShowColors=*/false);
  *message = LLVMCreateMessage(Stream.str().c_str());
  return nullptr;
}

// ---- runtime_calls.rs ----

/// Whether code generation for the module's target may call the symbol by its name for something that is no
/// call in the IR, or read it.
bool offloom_ir_is_runtime_call(LLVMValueRef symbol) {
  auto *Symbol = unwrap<GlobalValue>(symbol);
  StringRef Name = Symbol->getName();
  // What LLVM's list lacks: what stack protectors read, and what comparisons are merged into.
  for (StringRef Other : {"__ssp_canary_word", "__stack_chk_guard", "bcmp", "memcmp"})
    if (Name == Other)
      return true;
#if LLVM_VERSION_MAJOR < 21
  static const char *const Known[] = {
      // Only some targets have these.
      "sincos",
      "sincosf",
      "sincosl",
#define HANDLE_LIBCALL(code, name) name,
#include "llvm/IR/RuntimeLibcalls.def"
#undef HANDLE_LIBCALL
  };
  // Never destroyed: a thread may ask while the program ends.
  static const StringSet<> &Names = []() -> StringSet<> & {
    auto *All = new StringSet<>;
    for (const char *Each : Known)
      if (Each)
        All->insert(Each);
    return *All;
  }();
  return Names.contains(Name);
#elif LLVM_VERSION_MAJOR == 21
  const RTLIB::RuntimeLibcallsInfo Calls(Symbol->getParent()->getTargetTriple());
  return any_of(Calls.getLibcallImpls(), [&](RTLIB::LibcallImpl Function) {
    return Function != RTLIB::Unsupported && Name == RuntimeFunctionNames[Function];
  });
#else
  // Of all functions that LLVM knows of, those that it calls on the target.
  return !RTLIB::RuntimeLibcallsInfo::lookupLibcallImplName(Name).empty() &&
         RTLIB::RuntimeLibcallsInfo(Symbol->getParent()->getTargetTriple()).getSupportedLibcallImpl(Name) != RTLIB::Unsupported;
#endif
}

} // extern "C"
