// What LLVM knows of a processor, as C functions with plain arguments. Rules: those of ir_shim.cpp.

#include "llvm/Config/llvm-config.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>
#include <string>

using namespace llvm;

namespace {

/// Null if this LLVM has no such target. Says nothing of a processor that it does not know, if `CPU` is empty.
std::unique_ptr<MCSubtargetInfo> subtarget(const char *Name, const char *CPU) {
  std::string Error;
#if LLVM_VERSION_MAJOR < 22
  const StringRef TargetName = Name;
#else
  const Triple TargetName(Name);
#endif
  const Target *Found = TargetRegistry::lookupTarget(TargetName, Error);
  return std::unique_ptr<MCSubtargetInfo>(Found ? Found->createMCSubtargetInfo(TargetName, CPU, "") : nullptr);
}

} // namespace

extern "C" {

bool offloom_ir_has_target(const char *triple) { return subtarget(triple, "") != nullptr; }

bool offloom_ir_knows_processor(const char *triple, const char *cpu) {
  const std::unique_ptr<MCSubtargetInfo> Info = subtarget(triple, "");
  return Info && Info->isCPUStringValid(cpu);
}

bool offloom_ir_processor_has_feature(const char *triple, const char *cpu, const char *feature) {
  const std::unique_ptr<MCSubtargetInfo> Info = subtarget(triple, cpu);
  return Info && Info->checkFeatures(std::string("+") + feature);
}

} // extern "C"
