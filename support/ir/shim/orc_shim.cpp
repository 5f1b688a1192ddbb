// What ORC's C API lacks, as C functions with plain arguments. Rules as in ir_shim.cpp. A file of its own:
// only what links kernels in memory needs ORC's symbols.

#include "code_memory.h"
#include "llvm-c/Error.h"
#include "llvm-c/Orc.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/TaskDispatch.h"
#if LLVM_VERSION_MAJOR < 21
#include "llvm/ExecutionEngine/Orc/EPCEHFrameRegistrar.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#else
#include "llvm/ExecutionEngine/Orc/EHFrameRegistrationPlugin.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#endif
#if LLVM_VERSION_MAJOR < 22
#include "llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h"
#include "llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h"
#else
#include "llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h"
#endif
#include <memory>

using namespace llvm;

namespace {

/// Has exception frames registered, and each linked object shown to debuggers by GDB's interface for JIT
/// compilers.
Error addPlugins(orc::ExecutionSession &Session, orc::ObjectLinkingLayer &Layer) {
  // Objects without debug information are shown too, for their symbols.
  const bool OnlyWithDebugSections = false, TellDebugger = true;
#if LLVM_VERSION_MAJOR < 21
  auto Registrar = orc::EPCEHFrameRegistrar::Create(Session);
  if (!Registrar)
    return Registrar.takeError();
  auto Frames = std::make_unique<orc::EHFrameRegistrationPlugin>(Session, std::move(*Registrar));
#else
  auto Created = orc::EHFrameRegistrationPlugin::Create(Session);
  if (!Created)
    return Created.takeError();
  auto Frames = std::move(*Created);
#endif
#if LLVM_VERSION_MAJOR < 22
  auto Registration = orc::createJITLoaderGDBRegistrar(Session);
  if (!Registration)
    return Registration.takeError();
  auto Debugger =
      std::make_unique<orc::DebugObjectManagerPlugin>(Session, std::move(*Registration), OnlyWithDebugSections, TellDebugger);
#else
  Error Failed = Error::success();
  auto Debugger = std::make_unique<orc::ELFDebugObjectPlugin>(Session, OnlyWithDebugSections, TellDebugger, Failed);
  if (Failed)
    return Failed;
#endif
  Layer.addPlugin(std::move(Frames));
  Layer.addPlugin(std::move(Debugger));
  return Error::success();
}

} // namespace

extern "C" {

// ---- orc.rs ----

/// Starts a session, and a layer that links objects with JITLink on the thread that asks for their symbols.
/// Neither is ever destroyed. LLJIT would also make, each time, what compiles IR: target machines, a
/// platform.
LLVMErrorRef offloom_ir_orc_start_session(LLVMOrcExecutionSessionRef *session, LLVMOrcObjectLayerRef *layer) {
  auto Process = orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!Process)
    return wrap(Process.takeError());
  auto *Session = new orc::ExecutionSession(std::move(*Process));
  auto Pages = jitlink::InProcessMemoryManager::Create();
  if (!Pages)
    return wrap(Pages.takeError());
  auto *Layer = new orc::ObjectLinkingLayer(*Session, offloom::packCode(std::move(*Pages)));
  *session = reinterpret_cast<LLVMOrcExecutionSessionRef>(Session);
  *layer = reinterpret_cast<LLVMOrcObjectLayerRef>(static_cast<orc::ObjectLayer *>(Layer));
  return wrap(addPlugins(*Session, *Layer));
}

/// Has what `user` does not define looked up in `used`.
void offloom_ir_orc_link_against(LLVMOrcJITDylibRef user, LLVMOrcJITDylibRef used) {
  reinterpret_cast<orc::JITDylib *>(user)->addToLinkOrder(*reinterpret_cast<orc::JITDylib *>(used));
}

/// Frees a dylib, and the memory of what is linked in it.
LLVMErrorRef offloom_ir_orc_remove_dylib(LLVMOrcExecutionSessionRef session, LLVMOrcJITDylibRef dylib) {
  return wrap(reinterpret_cast<orc::ExecutionSession *>(session)->removeJITDylib(*reinterpret_cast<orc::JITDylib *>(dylib)));
}

} // extern "C"
