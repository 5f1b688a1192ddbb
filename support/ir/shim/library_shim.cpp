// Linking a bitcode library into a module while a pass runs, as C functions with plain arguments. Rules:
// those of ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <memory>
#include <string>

using namespace llvm;

namespace {

/// Keeps the errors and hands everything else to the handler that the program has installed.
struct ErrorCollector : DiagnosticHandler {
  ErrorCollector(std::string &Errors, DiagnosticHandler *Next) : Errors(Errors), Next(Next) {}

  bool handleDiagnostics(const DiagnosticInfo &DI) override {
    if (DI.getSeverity() != DS_Error)
      return Next && Next->handleDiagnostics(DI);
    raw_string_ostream Stream(Errors);
    if (!Errors.empty())
      Stream << "; ";
    DiagnosticPrinterRawOStream Printer(Stream);
    DI.print(Printer);
    return true;
  }

  std::string &Errors;
  DiagnosticHandler *Next;
};

} // namespace

extern "C" {

// ---- library.rs ----

/// Reads a library whose functions stay in `bytes`, which must outlive it, until they are needed. Null on
/// success, else why not, to be freed with LLVMDisposeMessage.
char *offloom_ir_open_library(LLVMContextRef context, const char *bytes, size_t length, const char *name, size_t name_length,
                              LLVMModuleRef *library) {
  MemoryBufferRef Buffer(StringRef(bytes, length), StringRef(name, name_length));
  // LLVM keeps the identifier as the address it gets; the module makes a copy of its own.
  Expected<std::unique_ptr<Module>> Library = getLazyBitcodeModule(Buffer, *unwrap(context));
  if (!Library)
    return LLVMCreateMessage(toString(Library.takeError()).c_str());
  (*Library)->setModuleIdentifier(Buffer.getBufferIdentifier());
  *library = wrap(Library->release());
  return nullptr;
}

/// Whether the library defines anything that the module only declares.
bool offloom_ir_needs_library(LLVMModuleRef module, LLVMModuleRef library) {
  for (const GlobalValue &G : unwrap(module)->global_values()) {
    if (!G.isDeclaration() || !G.hasName())
      continue;
    const GlobalValue *Definition = unwrap(library)->getNamedValue(G.getName());
    if (Definition && !Definition->isDeclaration() && !Definition->hasLocalLinkage())
      return true;
  }
  return false;
}

/// Links into the module what it needs of the library, makes that internal and frees the library. Null on
/// success, else LLVM's errors, to be freed with LLVMDisposeMessage.
char *offloom_ir_link_library(LLVMModuleRef module, LLVMModuleRef library) {
  LLVMContext &Context = unwrap(module)->getContext();
  std::unique_ptr<DiagnosticHandler> Installed = Context.getDiagnosticHandler();
  std::string Errors;
  Context.setDiagnosticHandler(std::make_unique<ErrorCollector>(Errors, Installed.get()));
  auto Internalize = [](Module &M, const StringSet<> &Linked) {
    internalizeModule(M, [&Linked](const GlobalValue &G) { return !G.hasName() || !Linked.contains(G.getName()); });
  };
  bool Failed =
      Linker::linkModules(*unwrap(module), std::unique_ptr<Module>(unwrap(library)), Linker::LinkOnlyNeeded, Internalize);
  Context.setDiagnosticHandler(std::move(Installed));
  if (!Failed && Errors.empty())
    return nullptr;
  return LLVMCreateMessage(Errors.empty() ? "LLVM does not say why" : Errors.c_str());
}

} // extern "C"
