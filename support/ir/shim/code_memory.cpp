// Memory for linked objects: code_memory.h.
//
// Pages that other threads execute from are written to through /proc/self/mem, which may write where the
// process itself may not. So no page is ever writable, not even under another address; threads that execute
// what lies beside it go on; a forked child has pages of its own; and debuggers and profilers see what they
// are used to see. Julia has its code written in this way, too.

#include "code_memory.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace llvm::jitlink;
using llvm::orc::shared::WrapperFunctionCall;

namespace {

/// What is mapped at once. Pages take memory once they are written to.
constexpr size_t SlabSize = 1 << 20;
/// Objects with more have pages of their own: there is nothing to gain.
constexpr size_t MostOfAnObject = SlabSize / 4;
/// Code of two objects shares no line of the processor's cache.
constexpr size_t Line = 64;

/// The process's memory, to write to. -1 where it cannot be opened.
class Writer {
public:
  Writer() : Descriptor(open("/proc/self/mem", O_RDWR | O_CLOEXEC)) {}
  ~Writer() {
    if (Descriptor >= 0)
      close(Descriptor);
  }
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  bool isOpen() const { return Descriptor >= 0; }

  /// Whether the bytes are at `To` afterwards.
  bool write(char *To, const char *From, size_t Size) const {
    for (size_t Done = 0; Done < Size;) {
      const ssize_t Written =
          pwrite(Descriptor, From + Done, Size - Done, static_cast<off_t>(reinterpret_cast<uintptr_t>(To) + Done));
      if (Written <= 0 && errno != EINTR)
        return false;
      Done += Written > 0 ? Written : 0;
    }
    // Something in between may only pretend.
    if (std::memcmp(To, From, Size) != 0)
      return false;
    // Where instructions are not read through the cache that data is written to (AArch64), what was there
    // before may be remembered. On x86_64 this does nothing.
    sys::Memory::InvalidateInstructionCache(To, Size);
    return true;
  }

private:
  int Descriptor;
};

/// Mapped memory that may be read and executed, and which parts of it are in use.
class Slab {
public:
  /// Null where there is no memory, or where it cannot be written to.
  static std::unique_ptr<Slab> map(const Writer &Memory) {
    void *const Begin = mmap(nullptr, SlabSize, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (Begin == MAP_FAILED)
      return nullptr;
    std::unique_ptr<Slab> Mapped(new Slab(static_cast<char *>(Begin)));
    // On x86_64 an instruction that traps.
    const char Breakpoint = '\xcc';
    return Memory.write(Mapped->Begin, &Breakpoint, 1) ? std::move(Mapped) : nullptr;
  }

  ~Slab() { munmap(Begin, SlabSize); }
  Slab(const Slab &) = delete;
  Slab &operator=(const Slab &) = delete;

  /// So many bytes, code from the slab's begin on, the rest from its end.
  char *take(size_t Size, bool IsCode) {
    const auto Fits = [&](const auto &Range) { return Range.second >= Size; };
    if (IsCode) {
      const auto Range = find_if(Free, Fits);
      return Range == Free.end() ? nullptr : takeFrom(Range, Range->first, Size);
    }
    const auto Range = std::find_if(Free.rbegin(), Free.rend(), Fits);
    return Range == Free.rend() ? nullptr : takeFrom(std::prev(Range.base()), Range->first + Range->second - Size, Size);
  }

  void giveBack(char *Piece, size_t Size) {
    auto Range = Free.emplace(Piece - Begin, Size).first;
    const auto Next = std::next(Range);
    if (Next != Free.end() && Range->first + Range->second == Next->first) {
      Range->second += Next->second;
      Free.erase(Next);
    }
    if (Range == Free.begin())
      return;
    const auto Previous = std::prev(Range);
    if (Previous->first + Previous->second == Range->first) {
      Previous->second += Range->second;
      Free.erase(Range);
    }
  }

  bool isUnused() const { return Free.size() == 1 && Free.begin()->second == SlabSize; }

private:
  /// Where free ranges begin, from the slab's begin on, and how long they are.
  using Ranges = std::map<size_t, size_t>;

  explicit Slab(char *Begin) : Begin(Begin), Free{{0, SlabSize}} {}

  char *takeFrom(Ranges::iterator Range, size_t Offset, size_t Size) {
    const size_t Behind = Range->first + Range->second - (Offset + Size);
    if (Offset == Range->first)
      Free.erase(Range);
    else
      Range->second = Offset - Range->first;
    if (Behind != 0)
      Free.emplace(Offset + Size, Behind);
    return Begin + Offset;
  }

  char *const Begin;
  Ranges Free;
};

/// A segment's place, and its bytes until they are there.
struct Piece {
  char *Place;
  size_t Size;
  std::unique_ptr<char[]> Bytes;
};

/// What an object has.
struct Pieces {
  Slab *Of;
  SmallVector<Piece, 2> All;
  std::vector<WrapperFunctionCall> AtTheEnd;
};

/// Runs what a linked graph asks for before its code runs, and returns what is to be done at its end. LLVM 20
/// and 21 hand the result to a callback, before the call returns.
Expected<std::vector<WrapperFunctionCall>> runAtOnce(orc::shared::AllocActions &Actions) {
#if LLVM_VERSION_MAJOR == 20 || LLVM_VERSION_MAJOR == 21
  std::optional<Expected<std::vector<WrapperFunctionCall>>> Result;
  orc::shared::runFinalizeActions(Actions,
                                  [&](Expected<std::vector<WrapperFunctionCall>> Given) { Result.emplace(std::move(Given)); });
  return std::move(*Result);
#else
  return orc::shared::runFinalizeActions(Actions);
#endif
}

/// Runs what is to be done at the end of code; as above.
Error runAtTheEnd(ArrayRef<WrapperFunctionCall> Actions) {
#if LLVM_VERSION_MAJOR == 20 || LLVM_VERSION_MAJOR == 21
  std::optional<Error> Result;
  orc::shared::runDeallocActions(Actions, [&](Error Given) { Result.emplace(std::move(Given)); });
  return std::move(*Result);
#else
  return orc::shared::runDeallocActions(Actions);
#endif
}

class CodeMemory final : public JITLinkMemoryManager {
public:
  explicit CodeMemory(std::unique_ptr<JITLinkMemoryManager> Other) : Other(std::move(Other)) {}

  void allocate(const JITLinkDylib *Dylib, LinkGraph &Graph, OnAllocatedFunction OnAllocated) override {
    BasicLayout Layout(Graph);
    auto Memory = std::make_unique<Writer>();
    std::unique_ptr<Pieces> Taken;
    if (Memory->isOpen() && canBePacked(Layout))
      Taken = take(Layout, *Memory);
    if (!Taken)
      return Other->allocate(Dylib, Graph, std::move(OnAllocated));
    if (Error Failed = Layout.apply()) {
      giveBack(*Taken);
      return OnAllocated(std::move(Failed));
    }
    OnAllocated(std::make_unique<Allocation>(*this, Graph, std::move(Taken), std::move(Memory)));
  }

  using JITLinkMemoryManager::allocate;

  void deallocate(std::vector<FinalizedAlloc> Allocations, OnDeallocatedFunction OnDeallocated) override {
    std::vector<FinalizedAlloc> Others;
    Error Failed = Error::success();
    for (FinalizedAlloc &Allocation : Allocations) {
      auto *Packed = Allocation.getAddress().toPtr<Pieces *>();
      if (!forget(Packed)) {
        Others.push_back(std::move(Allocation));
        continue;
      }
      Allocation.release();
      const std::unique_ptr<Pieces> Owned(Packed);
      Failed = joinErrors(std::move(Failed), runAtTheEnd(Owned->AtTheEnd));
      giveBack(*Owned);
    }
    if (Others.empty())
      return OnDeallocated(std::move(Failed));
    Other->deallocate(std::move(Others),
                      [Failed = std::move(Failed), OnDeallocated = std::move(OnDeallocated)](Error Another) mutable {
                        OnDeallocated(joinErrors(std::move(Failed), std::move(Another)));
                      });
  }

  using JITLinkMemoryManager::deallocate;

private:
  class Allocation final : public InFlightAlloc {
  public:
    Allocation(CodeMemory &Manager, LinkGraph &Graph, std::unique_ptr<Pieces> Taken, std::unique_ptr<Writer> Memory)
        : Manager(Manager), Graph(Graph), Taken(std::move(Taken)), Memory(std::move(Memory)) {}

    void finalize(OnFinalizedFunction OnFinalized) override {
      for (Piece &Part : Taken->All) {
        if (!Memory->write(Part.Place, Part.Bytes.get(), Part.Size))
          return fail(createStringError(std::errc::io_error, "cannot write to memory for code"), OnFinalized);
        Part.Bytes.reset();
      }
      Memory.reset();
      auto Actions = runAtOnce(Graph.allocActions());
      if (!Actions)
        return fail(Actions.takeError(), OnFinalized);
      Taken->AtTheEnd = std::move(*Actions);
      OnFinalized(Manager.note(std::move(Taken)));
    }

    using InFlightAlloc::finalize;

    void abandon(OnAbandonedFunction OnAbandoned) override {
      Manager.giveBack(*Taken);
      OnAbandoned(Error::success());
    }

  private:
    void fail(Error Reason, OnFinalizedFunction &OnFinalized) {
      Manager.giveBack(*Taken);
      OnFinalized(std::move(Reason));
    }

    CodeMemory &Manager;
    LinkGraph &Graph;
    std::unique_ptr<Pieces> Taken;
    std::unique_ptr<Writer> Memory;
  };

  static size_t sizeOf(const BasicLayout::Segment &Segment) {
    return std::max<size_t>(alignTo(Segment.ContentSize + Segment.ZeroFillSize, Line), Line);
  }

  static bool canBePacked(BasicLayout &Layout) {
    uint64_t Size = 0;
    for (const auto &[Group, Segment] : Layout.segments()) {
      const bool IsWritten = (Group.getMemProt() & orc::MemProt::Write) == orc::MemProt::Write;
      if (IsWritten || Group.getMemLifetime() != orc::MemLifetime::Standard || Segment.Alignment.value() > Line)
        return false;
      // Neither overflows: what is read from an object is smaller by far.
      Size += sizeOf(Segment);
    }
    return Size <= MostOfAnObject;
  }

  /// Places for all segments, in one slab, so that none is too far from another.
  std::unique_ptr<Pieces> take(BasicLayout &Layout, const Writer &Memory) {
    const std::lock_guard<std::mutex> Lock(Mutex);
    for (const auto &Present : Slabs)
      if (auto Taken = takeIn(*Present, Layout))
        return Taken;
    auto Mapped = Slab::map(Memory);
    if (!Mapped)
      return nullptr;
    Slabs.push_back(std::move(Mapped));
    return takeIn(*Slabs.back(), Layout);
  }

  static std::unique_ptr<Pieces> takeIn(Slab &From, BasicLayout &Layout) {
    auto Taken = std::make_unique<Pieces>();
    Taken->Of = &From;
    for (auto &[Group, Segment] : Layout.segments()) {
      const size_t Size = sizeOf(Segment);
      const bool IsCode = (Group.getMemProt() & orc::MemProt::Exec) == orc::MemProt::Exec;
      char *const Place = From.take(Size, IsCode);
      if (!Place) {
        for (const Piece &Part : Taken->All)
          From.giveBack(Part.Place, Part.Size);
        return nullptr;
      }
      // All zero, as what is not filled is to be.
      Taken->All.push_back({Place, Size, std::make_unique<char[]>(Size)});
      Segment.Addr = orc::ExecutorAddr::fromPtr(Place);
      Segment.WorkingMem = Taken->All.back().Bytes.get();
    }
    return Taken;
  }

  void giveBack(const Pieces &Used) {
    const std::lock_guard<std::mutex> Lock(Mutex);
    for (const Piece &Part : Used.All)
      Used.Of->giveBack(Part.Place, Part.Size);
    // One is kept for the next object.
    if (Used.Of->isUnused() && Slabs.size() > 1)
      Slabs.remove_if([&](const auto &Present) { return Present.get() == Used.Of; });
  }

  FinalizedAlloc note(std::unique_ptr<Pieces> Used) {
    const std::lock_guard<std::mutex> Lock(Mutex);
    Packed.insert(Used.get());
    return FinalizedAlloc(orc::ExecutorAddr::fromPtr(Used.release()));
  }

  /// Whether it is one of this manager's own.
  bool forget(Pieces *Used) {
    const std::lock_guard<std::mutex> Lock(Mutex);
    return Packed.erase(Used);
  }

  const std::unique_ptr<JITLinkMemoryManager> Other;
  std::mutex Mutex;
  std::list<std::unique_ptr<Slab>> Slabs;
  DenseSet<Pieces *> Packed;
};

} // namespace

std::unique_ptr<JITLinkMemoryManager> offloom::packCode(std::unique_ptr<JITLinkMemoryManager> Other) {
  return std::make_unique<CodeMemory>(std::move(Other));
}
