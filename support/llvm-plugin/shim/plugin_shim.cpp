// The parts of LLVM's new pass manager that have no C API, as C functions with plain arguments.
//
// Rules: no exception leaves this file (it is compiled without them), no C++ type appears by value in a
// signature. A callback or a pass arrives as a pointer that this side then owns, with the function that frees
// it.

#include "llvm-c/Core.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cstdlib>
#include <memory>

using namespace llvm;

namespace {

using Deleter = void (*)(void *);
/// A Rust object that this side owns. Shared, because LLVM copies its callbacks.
using SharedObject = std::shared_ptr<void>;
/// A Rust object with one owner.
using OwnedObject = std::unique_ptr<void, Deleter>;

/// Runs the pass; true when every analysis is still valid.
using RunModulePass = bool (*)(void *pass, LLVMModuleRef module, void *manager);
using RunFunctionPass = bool (*)(void *pass, LLVMValueRef function, void *manager);

class RustModulePass : public PassInfoMixin<RustModulePass> {
  OwnedObject Pass;
  RunModulePass Run;

public:
  RustModulePass(OwnedObject Pass, RunModulePass Run) : Pass(std::move(Pass)), Run(Run) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    return Run(Pass.get(), wrap(&M), &MAM) ? PreservedAnalyses::all() : PreservedAnalyses::none();
  }
  // A plugin's passes do what its user asked for by name, also on functions marked `optnone`.
  static bool isRequired() { return true; }
};

class RustFunctionPass : public PassInfoMixin<RustFunctionPass> {
  OwnedObject Pass;
  RunFunctionPass Run;

public:
  RustFunctionPass(OwnedObject Pass, RunFunctionPass Run) : Pass(std::move(Pass)), Run(Run) {}
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    return Run(Pass.get(), wrap(&F), &FAM) ? PreservedAnalyses::all() : PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

/// The numbers of `OptimizationLevel` in pass_builder.rs.
int levelNumber(OptimizationLevel Level) {
#if LLVM_VERSION_MAJOR < 23
  if (Level.getSizeLevel() == 1)
    return 4;
  if (Level.getSizeLevel() == 2)
    return 5;
  return static_cast<int>(Level.getSpeedupLevel());
#else
  // Functions say themselves whether they are to be small.
  return static_cast<int>(Level);
#endif
}

/// Set while a diagnostic of ours is being handled: LLVM's default handler ends the process at an error.
std::atomic<int> DiagnosticsUnderWay{0};

/// A tool such as `opt` has opened its output file before its passes run. When our error ends the process,
/// that empty file would stay behind: LLVM removes such files only when a signal ends the process, so ask it
/// to.
void removeOpenedOutputs() {
  if (DiagnosticsUnderWay.load() != 0)
    sys::RunInterruptHandlers();
}

/// A message of a plugin, under a kind number of its own: LLVM's kinds stand for messages of its own passes.
class PluginDiagnostic : public DiagnosticInfo {
  StringRef Message;

public:
  PluginDiagnostic(StringRef Message, DiagnosticSeverity Severity) : DiagnosticInfo(kind(), Severity), Message(Message) {}
  void print(DiagnosticPrinter &Printer) const override { Printer << Message; }

private:
  static int kind() {
    static const int Kind = getNextAvailablePluginDiagnosticKind();
    return Kind;
  }
};

} // namespace

extern "C" {

// ---- lib.rs ----

/// Version of the plugin interface: LLVM compares it with its own when it loads the plugin.
uint32_t llvm_plugin_api_version() { return LLVM_PLUGIN_API_VERSION; }

// ---- pass_builder.rs ----

void llvm_plugin_add_module_parsing_callback(void *Builder, void *Callback, Deleter Delete,
                                             bool (*Call)(void *, const char *, size_t, void *)) {
  SharedObject Shared(Callback, Delete);
  static_cast<PassBuilder *>(Builder)->registerPipelineParsingCallback(
      [Shared, Call](StringRef Name, ModulePassManager &Manager, ArrayRef<PassBuilder::PipelineElement>) {
        return Call(Shared.get(), Name.data(), Name.size(), &Manager);
      });
}

void llvm_plugin_add_function_parsing_callback(void *Builder, void *Callback, Deleter Delete,
                                               bool (*Call)(void *, const char *, size_t, void *)) {
  SharedObject Shared(Callback, Delete);
  static_cast<PassBuilder *>(Builder)->registerPipelineParsingCallback(
      [Shared, Call](StringRef Name, FunctionPassManager &Manager, ArrayRef<PassBuilder::PipelineElement>) {
        return Call(Shared.get(), Name.data(), Name.size(), &Manager);
      });
}

/// Extension points, by the numbers of `ExtensionPoint` in pass_builder.rs.
void llvm_plugin_add_extension_callback(void *Builder, int Point, void *Callback, Deleter Delete,
                                        void (*Call)(void *, void *, int)) {
  SharedObject Shared(Callback, Delete);
  auto Add = [Shared, Call](ModulePassManager &Manager, OptimizationLevel Level) {
    Call(Shared.get(), &Manager, levelNumber(Level));
  };
#if LLVM_VERSION_MAJOR >= 20
  auto AddInPhase = [Add](ModulePassManager &Manager, OptimizationLevel Level, ThinOrFullLTOPhase) { Add(Manager, Level); };
#else
  auto AddInPhase = Add;
#endif
  auto *PB = static_cast<PassBuilder *>(Builder);
  switch (Point) {
  case 0:
    PB->registerPipelineStartEPCallback(Add);
    break;
  case 1:
    PB->registerOptimizerLastEPCallback(AddInPhase);
    break;
  case 2:
    PB->registerFullLinkTimeOptimizationEarlyEPCallback(Add);
    break;
  case 3:
    PB->registerFullLinkTimeOptimizationLastEPCallback(Add);
    break;
  }
}

// ---- pass_manager.rs ----

void llvm_plugin_add_module_pass(void *Manager, void *Pass, Deleter Delete, RunModulePass Run) {
  static_cast<ModulePassManager *>(Manager)->addPass(RustModulePass(OwnedObject(Pass, Delete), Run));
}

void llvm_plugin_add_function_pass(void *Manager, void *Pass, Deleter Delete, RunFunctionPass Run) {
  static_cast<FunctionPassManager *>(Manager)->addPass(RustFunctionPass(OwnedObject(Pass, Delete), Run));
}

// ---- diagnostics.rs ----

/// Reports through the module's context. May not return: see `removeOpenedOutputs`.
void llvm_plugin_diagnose(LLVMModuleRef M, int Severity, const char *Text, size_t Length) {
  static const DiagnosticSeverity Severities[] = {DS_Error, DS_Warning, DS_Remark, DS_Note};
  static const int Registered = std::atexit(removeOpenedOutputs);
  (void)Registered;
  ++DiagnosticsUnderWay;
  unwrap(M)->getContext().diagnose(PluginDiagnostic(StringRef(Text, Length), Severities[Severity]));
  --DiagnosticsUnderWay;
}

} // extern "C"
