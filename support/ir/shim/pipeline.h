// Running passes, for the shims.

#pragma once

#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"

// `any_cast`, by which pass callbacks are told what they are called for, compares the addresses of these, so
// they must be LLVM's. Since LLVM 20 its headers say so.
#if LLVM_VERSION_MAJOR < 20
extern template struct __attribute__((visibility("default"))) llvm::Any::TypeId<const llvm::Function *>;
extern template struct __attribute__((visibility("default"))) llvm::Any::TypeId<const llvm::LazyCallGraph::SCC *>;
extern template struct __attribute__((visibility("default"))) llvm::Any::TypeId<const llvm::Loop *>;
extern template struct __attribute__((visibility("default"))) llvm::Any::TypeId<const llvm::Module *>;
#endif

namespace offloom {

/// LLVM's analyses of a module and its parts, which passes ask for.
struct Analyses {
  llvm::LoopAnalysisManager OfLoops;
  llvm::FunctionAnalysisManager OfFunctions;
  llvm::CGSCCAnalysisManager OfCallGraph;
  llvm::ModuleAnalysisManager OfModule;

  void registerWith(llvm::PassBuilder &Builder) {
    Builder.registerModuleAnalyses(OfModule);
    Builder.registerCGSCCAnalyses(OfCallGraph);
    Builder.registerFunctionAnalyses(OfFunctions);
    Builder.registerLoopAnalyses(OfLoops);
    Builder.crossRegisterProxies(OfLoops, OfFunctions, OfCallGraph, OfModule);
  }
};

/// Runs a pipeline in the syntax of `opt -passes`, with what LLVM's loop vectoriser, InstCombine and
/// OpenMPOpt get wrong kept from them. Whether the text is one.
bool runPipeline(llvm::Module &M, llvm::TargetMachine *Machine, llvm::StringRef Pipeline,
                 llvm::PassInstrumentationCallbacks &Callbacks, Analyses &All);

/// Has loops stay scalar whose order of floating-point operations the vectoriser would choose (`simd`).
void leaveReorderableScalar(llvm::Function &F);

} // namespace offloom
