// Lets lld read an object that lies inside another file, and write its output into one: device objects lie
// inside host objects, and device images are to lie inside registration objects. Without this, each would be
// copied through a file of its own.

#include "embedded_files.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>

using namespace llvm;
using BufferOrError = ErrorOr<std::unique_ptr<MemoryBuffer>>;
using OutputOrError = Expected<std::unique_ptr<FileOutputBuffer>>;

// The linker of this program gives lld the `__wrap` functions in the place of LLVM's, which are called
// `__real` here (`--wrap`).
#define GET_FILE "_ZN4llvm12MemoryBuffer7getFileERKNS_5TwineEbbbSt8optionalINS_5AlignEE"
#define CREATE_OUTPUT "_ZN4llvm16FileOutputBuffer6createENS_9StringRefEmj"
BufferOrError getWholeFile(const Twine &, bool, bool, bool, std::optional<Align>) __asm__("__real_" GET_FILE);
BufferOrError getFile(const Twine &, bool, bool, bool, std::optional<Align>) __asm__("__wrap_" GET_FILE);
OutputOrError createWholeFile(StringRef, size_t, unsigned) __asm__("__real_" CREATE_OUTPUT);
OutputOrError createOutput(StringRef, size_t, unsigned) __asm__("__wrap_" CREATE_OUTPUT);

std::optional<EmbeddedFile> EmbeddedFile::parse(StringRef Word) {
  EmbeddedFile Parsed;
  if (!Word.consume_front(Prefix) || Word.consumeInteger(10, Parsed.Offset) || !Word.consume_front(",") ||
      Word.consumeInteger(10, Parsed.Size) || !Word.consume_front(","))
    return std::nullopt;
  Parsed.Path = Word;
  return Parsed;
}

BufferOrError EmbeddedFile::open() const { return MemoryBuffer::getFileSlice(Path, Size, Offset); }

BufferOrError getFile(const Twine &Name, bool IsText, bool RequiresNullTerminator, bool IsVolatile,
                      std::optional<Align> Alignment) {
  SmallString<256> Storage;
  if (std::optional<EmbeddedFile> Embedded = EmbeddedFile::parse(Name.toStringRef(Storage)))
    return Embedded->open();
  return getWholeFile(Name, IsText, RequiresNullTerminator, IsVolatile, Alignment);
}

std::optional<OutputPlace> OutputPlace::Chosen;

bool OutputPlace::choose(StringRef Word) {
  uint64_t Offset;
  if (!Word.consume_front(Option) || Word.consumeInteger(10, Offset) || !Word.consume_front(","))
    return false;
  Chosen = {Offset, Word};
  return true;
}

namespace {

/// An output that starts in the middle of a file, or is a file of its own, mapped.
///
/// LLVM's own maps a file whose space the disk may not have: the write to a page without space ends the
/// process by SIGBUS. Here the disk has set the space aside.
class MappedOutput : public FileOutputBuffer {
public:
  MappedOutput(const OutputPlace &Place, bool IsWholeFile, sys::fs::mapped_file_region Mapped)
      : FileOutputBuffer(Place.Path), Offset(Place.Offset), IsWholeFile(IsWholeFile), Mapped(std::move(Mapped)) {}

  uint8_t *getBufferStart() const override { return reinterpret_cast<uint8_t *>(Mapped.data()) + Offset; }
  uint8_t *getBufferEnd() const override { return reinterpret_cast<uint8_t *>(Mapped.data()) + Mapped.size(); }
  size_t getBufferSize() const override { return Mapped.size() - Offset; }
  Error commit() override {
    Mapped.unmap();
    return Error::success();
  }
  /// lld calls this where a link fails half-way. Parts of files are for their owner to remove.
  void discard() override {
    if (IsWholeFile)
      (void)sys::fs::remove(getPath());
  }

private:
  uint64_t Offset;
  bool IsWholeFile;
  sys::fs::mapped_file_region Mapped;
};

/// Gives an open file its size, with space on the disk for all of it.
std::error_code reserve(int File, uint64_t Size) {
  if (std::error_code Failed = sys::fs::resize_file(File, Size))
    return Failed;
  int Failed;
  do
    Failed = Size ? posix_fallocate(File, 0, static_cast<off_t>(Size)) : 0;
  while (Failed == EINTR);
  // Some file systems know of no space to set aside.
  if (Failed == EINVAL || Failed == EOPNOTSUPP)
    Failed = 0;
  return std::error_code(Failed, std::generic_category());
}

} // namespace

OutputOrError createOutput(StringRef Path, size_t Size, unsigned Flags) {
  bool IsWholeFile = !OutputPlace::Chosen;
  // What is no regular file, such as /dev/null or the standard output, is nothing to map.
  sys::fs::file_status Status;
  bool IsThere = !sys::fs::status(Path, Status) && sys::fs::exists(Status);
  if (IsWholeFile && (Path == "-" || (IsThere && !sys::fs::is_regular_file(Status))))
    return createWholeFile(Path, Size, Flags);
  const OutputPlace Place = IsWholeFile ? OutputPlace{0, Path} : *OutputPlace::Chosen;
  // Whoever has the old file open, or runs it, keeps it.
  if (IsWholeFile && IsThere)
    (void)sys::fs::remove(Path);
  unsigned Mode = sys::fs::all_read | sys::fs::all_write;
  if (Flags & FileOutputBuffer::F_executable)
    Mode |= sys::fs::all_exe;
  int File;
  if (std::error_code Failed = sys::fs::openFileForReadWrite(Place.Path, File, sys::fs::CD_OpenAlways, sys::fs::OF_None, Mode))
    return errorCodeToError(Failed);
  std::error_code Failed = reserve(File, Place.Offset + Size);
  std::optional<sys::fs::mapped_file_region> Mapped;
  if (!Failed)
    Mapped.emplace(File, sys::fs::mapped_file_region::readwrite, Place.Offset + Size, 0, Failed);
  std::error_code FailedToClose = sys::Process::SafelyCloseFileDescriptor(File);
  if (Failed || FailedToClose) {
    if (IsWholeFile)
      (void)sys::fs::remove(Path);
    return errorCodeToError(Failed ? Failed : FailedToClose);
  }
  return std::make_unique<MappedOutput>(Place, IsWholeFile, std::move(*Mapped));
}
