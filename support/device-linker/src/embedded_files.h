// Inputs and outputs of lld that are parts of files.

#ifndef OFFLOOM_EMBEDDED_FILES_H
#define OFFLOOM_EMBEDDED_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <optional>

/// A part of a file as an input, on the command line `offload-slice=OFFSET,SIZE,FILE`, in bytes.
struct EmbeddedFile {
  static constexpr llvm::StringLiteral Prefix = "offload-slice=";

  uint64_t Offset = 0;
  uint64_t Size = 0;
  llvm::StringRef Path;

  /// The part that a word of the command line names, if it is one that names any.
  static std::optional<EmbeddedFile> parse(llvm::StringRef Word);

  /// Maps it.
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> open() const;
};

/// Where in a file the output goes instead of into one of its own: `--offload-into=OFFSET,FILE`. What is
/// there before that offset stays as it is; what is behind the output is cut off.
struct OutputPlace {
  static constexpr llvm::StringLiteral Option = "--offload-into=";

  uint64_t Offset;
  llvm::StringRef Path;

  /// Takes note of the place that a word of the command line names; false if it names none.
  static bool choose(llvm::StringRef Word);

  /// The place, if there is one.
  static std::optional<OutputPlace> Chosen;
};

#endif
