// The program `wrapgen-lld`: LLVM's own linker, without what it has only for bitcode.
//
// Loading libLLVM takes `ld.lld` longer than linking a device image does. Nearly all of libLLVM is there to
// compile bitcode, and device bitcode is compiled before the device link. So lld and the few parts of LLVM
// that it needs for native objects are linked statically, and the rest is left out by defining here what lld
// would take from it. Should bitcode turn up nevertheless, as a member of a host library, LLVM's complete
// linker takes over with the same arguments.

#include "embedded_files.h"

#include "lld/Common/Driver.h"
#include "llvm/LTO/LTO.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

// Code generators that lld would register at every start.
#define LLVM_TARGET(Name)                                                                                                        \
  extern "C" void LLVMInitialize##Name##TargetInfo() {}                                                                          \
  extern "C" void LLVMInitialize##Name##Target() {}                                                                              \
  extern "C" void LLVMInitialize##Name##TargetMC() {}
#include "llvm/Config/Targets.def"
#define LLVM_ASM_PRINTER(Name)                                                                                                   \
  extern "C" void LLVMInitialize##Name##AsmPrinter() {}
#include "llvm/Config/AsmPrinters.def"
#define LLVM_ASM_PARSER(Name)                                                                                                    \
  extern "C" void LLVMInitialize##Name##AsmParser() {}
#include "llvm/Config/AsmParsers.def"

static std::vector<const char *> Arguments;

[[noreturn]] static void fail(const llvm::Twine &Problem) {
  llvm::errs() << "wrapgen-lld: error: " << Problem << "\n";
  std::_Exit(1);
}

/// The file that `-o` names.
static std::string outputFile() {
  std::string Output = "a.out";
  for (size_t Number = 0; Number + 1 < Arguments.size() && Arguments[Number]; ++Number)
    if (!std::strcmp(Arguments[Number], "-o") && Arguments[Number + 1])
      Output = Arguments[Number + 1];
  return Output;
}

/// Gives inputs that are parts of files a file of their own, beside the output: LLVM's linker knows no
/// others.
static void writeEmbeddedFiles() {
  std::string Output = outputFile();
  for (size_t Number = 0; Number < Arguments.size(); ++Number) {
    if (!Arguments[Number])
      continue;
    std::optional<EmbeddedFile> Embedded = EmbeddedFile::parse(Arguments[Number]);
    if (!Embedded)
      continue;
    auto Buffer = Embedded->open();
    if (!Buffer)
      fail("cannot read " + Embedded->Path + ": " + Buffer.getError().message());
    // Lives until another program takes the place of this one.
    const auto *Name = new std::string(Output + "." + std::to_string(Number) + ".o");
    std::error_code Failed;
    llvm::raw_fd_ostream File(*Name, Failed);
    if (!Failed) {
      File << (*Buffer)->getBuffer();
      File.close();
      Failed = File.error();
      File.clear_error();
    }
    if (Failed)
      fail("cannot write " + *Name + ": " + Failed.message());
    Arguments[Number] = Name->c_str();
  }
}

/// Puts the arguments into a file beside the output, in the syntax of response files.
static void writeResponseFile() {
  // Both live until another program takes the place of this one.
  const auto *Argument = new std::string("@" + outputFile() + ".arguments");
  const char *Name = Argument->c_str() + 1;
  std::error_code Failed;
  llvm::raw_fd_ostream File(Name, Failed);
  if (!Failed) {
    for (size_t Number = 1; Arguments[Number]; ++Number) {
      for (char Character : llvm::StringRef(Arguments[Number])) {
        if (std::strchr(" \t\n\v\f\r\"'\\", Character))
          File << '\\';
        File << Character;
      }
      File << '\n';
    }
    File.close();
    Failed = File.error();
    File.clear_error();
  }
  if (Failed)
    fail(llvm::Twine("cannot write ") + Name + ": " + Failed.message());
  Arguments = {Arguments[0], Argument->c_str(), nullptr};
}

static void startCompleteLinker() {
  char *const *Words = const_cast<char *const *>(Arguments.data());
  execv(OFFLOOM_LLVM_BIN_DIR "/ld.lld", Words);
  if (errno == ENOENT)
    execvp(OFFLOOM_VERSIONED_LLD, Words);
}

/// Becomes LLVM's complete linker, which writes the file that `-o` names. Called when an input is bitcode,
/// before anything has been written.
[[noreturn]] static void becomeCompleteLinker() {
  // It tells by its name which kind of linker it is.
  Arguments[0] = "ld.lld";
  Arguments.push_back(nullptr);
  writeEmbeddedFiles();
  startCompleteLinker();
  // The arguments may have come in a response file, because they are longer than the system takes.
  if (errno == E2BIG) {
    writeResponseFile();
    startCompleteLinker();
  }
  std::perror("wrapgen-lld: error: a library holds bitcode, and LLVM's complete linker, " OFFLOOM_VERSIONED_LLD
              ", cannot be started");
  std::_Exit(1);
}

namespace llvm::lto {

Expected<std::unique_ptr<InputFile>> InputFile::create(MemoryBufferRef) { becomeCompleteLinker(); }
InputFile::~InputFile() = default;
StringRef InputFile::getName() const { becomeCompleteLinker(); }
SmallVector<const char *> LTO::getRuntimeLibcallSymbols(const Triple &) { becomeCompleteLinker(); }
#if LLVM_VERSION_MAJOR >= 23
SmallVector<StringRef> LTO::getLibFuncSymbols(const Triple &, StringSaver &) { becomeCompleteLinker(); }
#endif

} // namespace llvm::lto

namespace lld::elf {

// lld's header for this class is not installed. lld makes one in every link and uses it only for bitcode, so
// this one has no members: whatever room lld sets aside for it is enough.
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
#if LLVM_VERSION_MAJOR >= 23
  void setBitcodeLibFuncs(llvm::ArrayRef<llvm::StringRef>);
  void waitForLTOCleanup();
#endif
};

#if LLVM_VERSION_MAJOR >= 20
BitcodeCompiler::BitcodeCompiler(Ctx &) {}
#else
BitcodeCompiler::BitcodeCompiler() {}
#endif
BitcodeCompiler::~BitcodeCompiler() = default;
void BitcodeCompiler::add(BitcodeFile &) { becomeCompleteLinker(); }
CompiledObjects BitcodeCompiler::compile() { return {}; }
#if LLVM_VERSION_MAJOR >= 23
void BitcodeCompiler::setBitcodeLibFuncs(llvm::ArrayRef<llvm::StringRef>) {}
void BitcodeCompiler::waitForLTOCleanup() {}
#endif

} // namespace lld::elf

LLD_HAS_DRIVER(elf)

int main(int ArgumentCount, char **GivenArguments) {
  // lld would expand these itself, but does not know what is taken from the command line here.
  llvm::BumpPtrAllocator Allocator;
  llvm::StringSaver Saver(Allocator);
  llvm::SmallVector<const char *> Given(GivenArguments, GivenArguments + ArgumentCount);
  llvm::cl::ExpandResponseFiles(Saver, llvm::cl::TokenizeGNUCommandLine, Given);
  for (const char *Word : Given)
    if (!OutputPlace::choose(Word))
      Arguments.push_back(Word);
  // lld keeps what it is given, and the vector may grow when another linker takes over.
  std::vector<const char *> Words = Arguments;
  bool Linked = lld::elf::link(Words, llvm::outs(), llvm::errs(), /*exitEarly=*/true, /*disableOutput=*/false);
  return Linked ? 0 : 1;
}
