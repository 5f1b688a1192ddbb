// What LLVM knows of a processor, as C functions with plain arguments. Rules: those of ir_shim.cpp.

#include "subtarget.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdint>
#include <memory>
#include <string>

using namespace llvm;
using offloom::subtarget;

namespace {

StringRef nameOf(const SubtargetFeatureKV &Entry) {
#if LLVM_VERSION_MAJOR < 23
  return Entry.Key;
#else
  return Entry.key();
#endif
}

} // namespace

std::unique_ptr<MCSubtargetInfo> offloom::subtarget(StringRef Name, StringRef Processor, StringRef Features) {
  std::string Error;
#if LLVM_VERSION_MAJOR < 22
  const StringRef TargetName = Name;
#else
  const Triple TargetName(Name);
#endif
  const Target *Found = TargetRegistry::lookupTarget(TargetName, Error);
  return std::unique_ptr<MCSubtargetInfo>(Found ? Found->createMCSubtargetInfo(TargetName, Processor, Features) : nullptr);
}

std::unique_ptr<MCSubtargetInfo> offloom::processorOf(const Function &F) {
  std::string Target = Triple(F.getParent()->getTargetTriple()).str();
  StringRef Name = F.getFnAttribute("target-cpu").getValueAsString();
  auto Any = subtarget(Target, "");
  if (Any && !Any->isCPUStringValid(Name))
    Name = "";
  return subtarget(Target, Name, F.getFnAttribute("target-features").getValueAsString());
}

extern "C" {

bool offloom_ir_has_target(const char *triple) { return subtarget(triple, "") != nullptr; }

bool offloom_ir_knows_processor(const char *triple, const char *cpu) {
  const std::unique_ptr<MCSubtargetInfo> Info = subtarget(triple, "");
  return Info && Info->isCPUStringValid(cpu);
}

bool offloom_ir_processor_has_feature(const char *triple, const char *cpu, const char *features, const char *feature) {
  const std::unique_ptr<MCSubtargetInfo> Info = subtarget(triple, cpu, features);
  return Info && Info->checkFeatures(std::string("+") + feature);
}

/// For each of the features, 1 if what they all come to is the same of it as the processor has by its name.
/// Whether the others come to the same alone.
bool offloom_ir_has_by_name(const char *triple, const char *cpu, const char *features, uint8_t *known) {
  const std::unique_ptr<MCSubtargetInfo> Own = subtarget(triple, cpu);
  if (!Own)
    return false;
  const SubtargetFeatures Said(features);
  SmallVector<unsigned, 128> Numbers;
  for (const std::string &Feature : Said.getFeatures()) {
    const auto Entries = Own->getAllProcessorFeatures();
    const StringRef Name = SubtargetFeatures::StripFlag(Feature);
    // In the order of their names.
    const auto *Entry = lower_bound(Entries, Name);
    // LLVM would print what it thinks of it.
    if (Entry == Entries.end() || Name != nameOf(*Entry))
      return false;
    Numbers.push_back(Entry->Value);
  }
  const std::unique_ptr<MCSubtargetInfo> All = subtarget(triple, cpu, features);
  SubtargetFeatures Rest;
  for (const auto &[Feature, Number] : zip_equal(Said.getFeatures(), Numbers)) {
    const bool IsKnown = Own->getFeatureBits().test(Number) == All->getFeatureBits().test(Number);
    if (!IsKnown)
      Rest.AddFeature(SubtargetFeatures::StripFlag(Feature), SubtargetFeatures::isEnabled(Feature));
    *known++ = IsKnown;
  }
  return subtarget(triple, cpu, Rest.getString())->getFeatureBits() == All->getFeatureBits();
}

} // extern "C"
