// The program `wrapgen-lld`: LLVM's own linker, without what it has only for bitcode.
//
// Loading libLLVM takes `ld.lld` longer than linking a device image does. Nearly all of libLLVM is there to compile bitcode, and
// device bitcode is compiled before the device link. So lld and the few parts of LLVM that it needs for native objects are linked
// statically, and the rest is left out by defining here what lld would take from it. Should bitcode turn up nevertheless, as a
// member of a host library, LLVM's complete linker takes over with the same arguments.

#include "lld/Common/Driver.h"
#include "llvm/LTO/LTO.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

// Code generators that lld would register at every start.
#define LLVM_TARGET(Name)                                                                                              \
  extern "C" void LLVMInitialize##Name##TargetInfo() {}                                                                \
  extern "C" void LLVMInitialize##Name##Target() {}                                                                    \
  extern "C" void LLVMInitialize##Name##TargetMC() {}
#include "llvm/Config/Targets.def"
#define LLVM_ASM_PRINTER(Name)                                                                                         \
  extern "C" void LLVMInitialize##Name##AsmPrinter() {}
#include "llvm/Config/AsmPrinters.def"
#define LLVM_ASM_PARSER(Name)                                                                                          \
  extern "C" void LLVMInitialize##Name##AsmParser() {}
#include "llvm/Config/AsmParsers.def"

static char **Arguments;

/// Becomes LLVM's complete linker. Called when an input is bitcode, before anything has been written.
[[noreturn]] static void becomeCompleteLinker() {
  // It tells by its name which kind of linker it is.
  static char Name[] = "ld.lld";
  Arguments[0] = Name;
  execv(OFFLOOM_LLVM_BIN_DIR "/ld.lld", Arguments);
  execvp(OFFLOOM_VERSIONED_LLD, Arguments);
  std::perror("wrapgen-lld: error: a library holds bitcode, and LLVM's complete linker, " OFFLOOM_VERSIONED_LLD
              ", cannot be started");
  std::_Exit(1);
}

namespace llvm::lto {

Expected<std::unique_ptr<InputFile>> InputFile::create(MemoryBufferRef) { becomeCompleteLinker(); }
InputFile::~InputFile() = default;
StringRef InputFile::getName() const { becomeCompleteLinker(); }
SmallVector<const char *> LTO::getRuntimeLibcallSymbols(const Triple &) { becomeCompleteLinker(); }

} // namespace llvm::lto

namespace lld::elf {

// lld's header for this class is not installed. lld makes one in every link and uses it only for bitcode, so this one has no
// members: whatever room lld sets aside for it is enough.
class BitcodeFile;
#if LLVM_VERSION_MAJOR >= 20
struct Ctx;
class InputFile {
public:
  virtual ~InputFile() = default;
};
using CompiledObjects = llvm::SmallVector<std::unique_ptr<InputFile>, 0>;
#else
class InputFile;
using CompiledObjects = std::vector<InputFile *>;
#endif

class BitcodeCompiler {
public:
#if LLVM_VERSION_MAJOR >= 20
  BitcodeCompiler(Ctx &);
#else
  BitcodeCompiler();
#endif
  ~BitcodeCompiler();
  void add(BitcodeFile &);
  CompiledObjects compile();
};

#if LLVM_VERSION_MAJOR >= 20
BitcodeCompiler::BitcodeCompiler(Ctx &) {}
#else
BitcodeCompiler::BitcodeCompiler() {}
#endif
BitcodeCompiler::~BitcodeCompiler() = default;
void BitcodeCompiler::add(BitcodeFile &) { becomeCompleteLinker(); }
CompiledObjects BitcodeCompiler::compile() { return {}; }

} // namespace lld::elf

LLD_HAS_DRIVER(elf)

int main(int ArgumentCount, char **GivenArguments) {
  Arguments = GivenArguments;
  llvm::ArrayRef<const char *> Words(GivenArguments, ArgumentCount);
  bool Linked = lld::elf::link(Words, llvm::outs(), llvm::errs(), /*exitEarly=*/true, /*disableOutput=*/false);
  return Linked ? 0 : 1;
}
