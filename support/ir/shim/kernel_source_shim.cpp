// What debug info says of a kernel's arguments, for kernel_source.rs.
//
// Rules: those of ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm/ADT/Twine.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {

/// Gets what is found. Strings are not terminated.
struct Sink {
  void *Receiver;
  void (*File)(void *Receiver, const char *Name, size_t NameSize);
  void (*Argument)(void *Receiver, uint32_t Index, const char *Name, size_t NameSize);
  void (*Value)(void *Receiver, uint32_t Offset, uint8_t Size, char Encoding, const char *Name, size_t NameSize, const char *Type,
                size_t TypeSize);
};

/// Structures in structures deeper than this are left out.
constexpr unsigned MostDepth = 16;

/// With -g, Clang puts a region's code into a function of its own, with the source's types, which the kernel
/// calls; it may have been inlined.
const DISubprogram *withSourceTypes(const Function &F) {
  const std::string Name = (F.getName() + "_debug__").str();
  if (const Function *Debug = F.getParent()->getFunction(Name))
    if (const DISubprogram *Subprogram = Debug->getSubprogram())
      return Subprogram;
  auto Of = [&](const DILocation *Location) -> const DISubprogram * {
    for (; Location; Location = Location->getInlinedAt())
      if (const DISubprogram *Subprogram = Location->getScope()->getSubprogram(); Subprogram && Subprogram->getName() == Name)
        return Subprogram;
    return nullptr;
  };
  for (const Instruction &I : instructions(F)) {
    if (const DISubprogram *Subprogram = Of(I.getDebugLoc().get()))
      return Subprogram;
    for (const DbgRecord &Record : I.getDbgRecordRange())
      if (const DISubprogram *Subprogram = Of(Record.getDebugLoc().get()))
        return Subprogram;
  }
  return F.getSubprogram();
}

/// Without what changes neither size nor meaning.
const DIType *plain(const DIType *Type) {
  while (auto *Derived = dyn_cast_or_null<DIDerivedType>(Type)) {
    switch (Derived->getTag()) {
    case dwarf::DW_TAG_typedef:
    case dwarf::DW_TAG_const_type:
    case dwarf::DW_TAG_volatile_type:
    case dwarf::DW_TAG_restrict_type:
    case dwarf::DW_TAG_atomic_type:
      Type = Derived->getBaseType();
      break;
    default:
      return Type;
    }
  }
  return Type;
}

/// The name that the source gives a type; of a pointer, that of what it leads to, with a star.
std::string nameOf(const DIType *Type) {
  while (auto *Derived = dyn_cast_or_null<DIDerivedType>(Type)) {
    if (!Derived->getName().empty())
      break;
    if (Derived->getTag() == dwarf::DW_TAG_pointer_type)
      return nameOf(Derived->getBaseType()) + " *";
    Type = Derived->getBaseType();
  }
  return Type ? Type->getName().str() : "void";
}

/// How a scalar is to be read; 0: it is none that is described.
char encodingOf(const DIType *Type) {
  const uint64_t Bits = Type->getSizeInBits();
  if (auto *Basic = dyn_cast<DIBasicType>(Type)) {
    switch (Basic->getEncoding()) {
    case dwarf::DW_ATE_signed:
    case dwarf::DW_ATE_signed_char:
      return 's';
    case dwarf::DW_ATE_unsigned:
    case dwarf::DW_ATE_unsigned_char:
    case dwarf::DW_ATE_UTF:
      return 'u';
    case dwarf::DW_ATE_boolean:
      return 'b';
    case dwarf::DW_ATE_float:
      return Bits == 32 || Bits == 64 ? 'f' : 0;
    default:
      return 0;
    }
  }
  if (auto *Derived = dyn_cast<DIDerivedType>(Type))
    return Derived->getTag() == dwarf::DW_TAG_pointer_type ? 'p' : 0;
  auto *Composite = dyn_cast<DICompositeType>(Type);
  if (!Composite || Composite->getTag() != dwarf::DW_TAG_enumeration_type)
    return 0;
  auto *Underlying = dyn_cast_or_null<DIBasicType>(plain(Composite->getBaseType()));
  return Underlying && Underlying->getSignedness() == DIBasicType::Signedness::Unsigned ? 'u' : 's';
}

/// Tells of the scalars that a type consists of.
class Values {
public:
  Values(const Sink &Out, uint64_t MostBytes, unsigned MostValues) : Out(Out), MostBytes(MostBytes), Left(MostValues) {}

  /// `Path`: what the source calls a value of the type. `Member`: what comes before the name of a member.
  void add(const DIType *Type, uint64_t Bits, const std::string &Path, const std::string &Member, unsigned Depth) {
    const DIType *Plain = plain(Type);
    if (!Plain || Bits / 8 >= MostBytes || !Left || Depth > MostDepth)
      return;
    const uint64_t Size = Plain->getSizeInBits() / 8;
    if (char Encoding = encodingOf(Plain)) {
      if (Bits % 8 || Size < 1 || Size > 8)
        return;
      const std::string Name = nameOf(Type);
      Out.Value(Out.Receiver, uint32_t(Bits / 8), uint8_t(Size), Encoding, Path.data(), Path.size(), Name.data(), Name.size());
      --Left;
      return;
    }
    auto *Composite = dyn_cast<DICompositeType>(Plain);
    if (!Composite)
      return;
    switch (Composite->getTag()) {
    case dwarf::DW_TAG_structure_type:
    case dwarf::DW_TAG_class_type:
      for (const DINode *Element : Composite->getElements())
        addMember(dyn_cast_or_null<DIDerivedType>(Element), Bits, Member, Depth);
      break;
    case dwarf::DW_TAG_array_type:
      addElements(*Composite, Bits, Path, Depth);
      break;
    default:
      break;
    }
  }

private:
  void addMember(const DIDerivedType *Element, uint64_t Bits, const std::string &Member, unsigned Depth) {
    if (!Element)
      return;
    const uint64_t At = Bits + Element->getOffsetInBits();
    if (Element->getTag() == dwarf::DW_TAG_inheritance)
      return add(Element->getBaseType(), At, Member, Member, Depth + 1);
    if (Element->getTag() != dwarf::DW_TAG_member || Element->isStaticMember() || Element->isBitField())
      return;
    // A member without a name is a structure whose members have the names of this one's.
    if (Element->getName().empty())
      return add(Element->getBaseType(), At, Member, Member, Depth + 1);
    const std::string Path = Member + Element->getName().str();
    add(Element->getBaseType(), At, Path, Path + ".", Depth + 1);
  }

  void addElements(const DICompositeType &Array, uint64_t Bits, const std::string &Path, unsigned Depth) {
    const DIType *Element = Array.getBaseType();
    const DIType *Plain = plain(Element);
    const DINodeArray Dimensions = Array.getElements();
    // In several dimensions as in one: the elements follow one another.
    if (!Plain || !Plain->getSizeInBits() || Array.isVector() || Dimensions.size() != 1)
      return;
    auto *Dimension = dyn_cast_or_null<DISubrange>(Dimensions[0]);
    const DISubrange::BoundType Bound = Dimension ? Dimension->getCount() : DISubrange::BoundType();
    auto *Count = dyn_cast_or_null<ConstantInt *>(Bound);
    if (!Count)
      return;
    for (uint64_t Index = 0; Left && Index < Count->getZExtValue(); ++Index) {
      const uint64_t At = Bits + Index * Plain->getSizeInBits();
      if (At / 8 >= MostBytes)
        return;
      const std::string Name = (Path + "[" + Twine(Index) + "]").str();
      add(Element, At, Name, Name + ".", Depth + 1);
    }
  }

  const Sink &Out;
  const uint64_t MostBytes;
  unsigned Left;
};

void describe(const DILocalVariable &Variable, const Sink &Out, uint64_t MostBytes, unsigned MostValues) {
  const std::string Name = Variable.getName().str();
  const DIType *Type = plain(Variable.getType());
  if (!Type || Name.empty())
    return;
  Values Of(Out, MostBytes, MostValues);
  if (auto *Derived = dyn_cast<DIDerivedType>(Type)) {
    const DIType *Target = Derived->getBaseType();
    if (Derived->getTag() == dwarf::DW_TAG_reference_type || Derived->getTag() == dwarf::DW_TAG_rvalue_reference_type) {
      // What is mapped is captured by reference; of a pointer that is, the pointer itself is on the device.
      Of.add(Target, 0, Name, Name + ".", 0);
    } else if (Derived->getTag() == dwarf::DW_TAG_pointer_type) {
      Of.add(Target, 0, "*" + Name, Name + "->", 0);
    }
    return;
  }
  // A kernel that calls another function for its region declares each scalar as a 64-bit word.
  if (!Variable.isArtificial())
    Of.add(Type, 0, Name, Name + ".", 0);
}

} // namespace

/// `Implicit`: which of the parameters is the launch environment's.
extern "C" void offloom_ir_describe_kernel(LLVMValueRef Kernel, uint32_t Implicit, const Sink *Out, uint64_t MostBytes,
                                           uint32_t MostValues) {
  const auto &F = *unwrap<Function>(Kernel);
  const DISubprogram *Subprogram = withSourceTypes(F);
  if (!Subprogram)
    return;
  const StringRef File = Subprogram->getFilename();
  Out->File(Out->Receiver, File.data(), File.size());
  SmallVector<const DILocalVariable *, 8> Parameters;
  for (const MDNode *Node : Subprogram->getRetainedNodes()) {
    auto *Variable = dyn_cast_or_null<DILocalVariable>(Node);
    if (Variable && Variable->isParameter())
      Parameters.push_back(Variable);
  }
  if (Parameters.empty())
    return;
  // A function that is marked as a kernel has got the implicit parameter later, which its debug info does not
  // know.
  // One that had a list of arguments has got it too, and lacks what it does not read.
  const bool WasListed = F.hasFnAttribute("offloom-unpacked");
  const unsigned Missing = WasListed || Parameters.size() + 1 == F.arg_size() ? 1 : 0;
  // More or fewer: a parameter of the source is several words, or none.
  if (!WasListed && Parameters.size() + Missing != F.arg_size())
    return;
  const unsigned Added = Implicit == 0 ? Missing : 0;
  for (const DILocalVariable *Variable : Parameters) {
    const unsigned Index = Variable->getArg() - 1 + Added;
    const StringRef Name = Variable->getName();
    if (Index == Implicit || Index >= F.arg_size())
      continue;
    Out->Argument(Out->Receiver, Index, Name.data(), Name.size());
    describe(*Variable, *Out, MostBytes, MostValues);
  }
}
