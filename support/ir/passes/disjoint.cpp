// What the LLVM C API lacks for versions of straight-line code, as C functions with plain arguments, for
// disjoint.rs. Rules as in shim/ir_shim.cpp.
//
// A kernel's arguments are addresses, and nobody knows before the launch whether one leads to what another
// does. So behind a store everything is loaded again. In a variant much is straight-line code, whose accesses
// lie at known distances from few addresses. Comparing these says for all of it that nothing overlaps. LLVM
// compares so for loops (LoopVersioning), and not for straight-line code.

#include "pipeline.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/MustExecute.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"
#include <optional>

using namespace llvm;

namespace {

/// With more accesses than this code is left alone, and with more addresses from which they are.
constexpr size_t MostAccesses = 512, MostGroups = 16;

/// Fewer accesses than this that the second form saves do not make up for it, nor fewer for a comparison.
constexpr size_t LeastSaved = 4, LeastSavedByEach = 2;

/// One of how many accesses it must save at least: two forms have more registers than one.
constexpr size_t OneOf = 4;

/// With more values kept than fit in so many 32-bit registers, fewer threads run at a time, or values are
/// spilled: what is used soon again is kept then.
constexpr size_t MostWords = 64;

/// More instructions than this are not made for an address.
constexpr unsigned MostForAddress = 32;

/// What an access finds its memory by, before that is said to be in another address space: newer releases of
/// LLVM say so of each address by itself, and scalar evolution does not look through it.
Value *addressOf(Instruction &Access) {
  const DataLayout &Layout = Access.getModule()->getDataLayout();
  Value *Address = getLoadStorePointerOperand(&Access);
  while (auto *Cast = dyn_cast<AddrSpaceCastOperator>(Address)) {
    Value *Before = Cast->getPointerOperand();
    if (Layout.getTypeSizeInBits(Before->getType()) != Layout.getTypeSizeInBits(Cast->getType()))
      break;
    Address = Before;
  }
  return Address;
}

/// Accesses at known distances from the first one's address.
struct Group {
  Instruction *First;
  /// Of the lowest byte, and behind the highest, from that address.
  int64_t Low = 0, High = 0;
  /// Whether the address can be told before the code is entered.
  bool IsKnownBefore = false;
  SmallVector<Instruction *, 16> Accesses;

  Value *address() const { return addressOf(*First); }
};

/// What an instruction accesses of a group.
struct Access {
  unsigned Group;
  int64_t Offset, Size;
  Type *Accessed;

  bool isSame(const Access &Other) const { return Group == Other.Group && Offset == Other.Offset && Accessed == Other.Accessed; }
  bool overlaps(const Access &Other) const {
    return Group == Other.Group && Offset < Other.Offset + Other.Size && Other.Offset < Offset + Size;
  }
};

/// An instruction that uses memory; without an access it may use any.
struct MemoryUse {
  Instruction *I;
  std::optional<Access> Of;
};

/// Which bytes hold what is known.
struct Known {
  Access Of;
  /// The load or store that knows it, and which use of memory that is.
  Instruction *By;
  size_t Since;
  /// The store that nothing has read from memory yet, and which use of memory that is.
  Instruction *Unread = nullptr;
  size_t StoredAt = 0;
};

using Pair = std::pair<unsigned, unsigned>;

/// A load whose value is known, or a store that is overwritten unread.
struct Saving {
  Instruction *Access;
  /// The load or store that knows the value; null for a store.
  Instruction *By;
  /// Among the uses of memory: where the value is known, and where it is used. Until then it is kept.
  size_t Since, Until;
  /// 32-bit registers that keep it.
  size_t Words;
  /// Groups that must not overlap.
  SmallVector<Pair, 2> Compared;
};

Pair ordered(unsigned One, unsigned Other) { return {std::min(One, Other), std::max(One, Other)}; }

/// Whether it is an ordinary access to so many bytes, by an address that is a number.
bool isSimpleAccess(const Instruction &I) {
  auto *Load = dyn_cast<LoadInst>(&I);
  auto *Store = dyn_cast<StoreInst>(&I);
  if (!(Load && Load->isSimple()) && !(Store && Store->isSimple()))
    return false;
  const DataLayout &Layout = I.getModule()->getDataLayout();
  TypeSize Size = Layout.getTypeStoreSize(getLoadStoreType(const_cast<Instruction *>(&I)));
  return !Size.isScalable() && !Size.isZero() && Layout.getTypeSizeInBits(getLoadStorePointerOperand(&I)->getType()) <= 64;
}

/// Whether it uses memory that accesses may use too.
bool usesMemory(const Instruction &I) {
  auto *Call = dyn_cast<CallBase>(&I);
  return I.mayReadOrWriteMemory() && !(Call && Call->onlyAccessesInaccessibleMemory());
}

/// Straight-line code: a part of one block, all of which is executed, or nothing.
class Segment {
public:
  Segment(Instruction *Begin, Instruction *End, ScalarEvolution &SE, AAResults &Aliases)
      : Begin(Begin), End(End), SE(SE), Aliases(Aliases) {}

  /// Whether a form for memory that does not overlap saves enough.
  bool mayGain() {
    // Loads alone LLVM saves, and what it knows of their addresses takes long to find out.
    bool Stores =
        any_of(make_range(Begin->getIterator(), End->getIterator()), [](const Instruction &I) { return isa<StoreInst>(I); });
    if (!Stores || !findUses() || Groups.size() < 2)
      return false;
    findSavings();
    limitKept();
    for (const Saving &S : Savings)
      Compared.insert(S.Compared.begin(), S.Compared.end());
    // The others LLVM saves.
    size_t Saved = count_if(Savings, [](const Saving &S) { return !S.Compared.empty(); });
    return Saved >= std::max({LeastSaved, LeastSavedByEach * Compared.size(), Uses.size() / OneOf});
  }

  /// Gives the code a second form, entered where nothing overlaps that was compared. `MayBeMarked`: what is
  /// in no loop of the function is executed once.
  void version(DominatorTree &Tree, LoopInfo &Loops, bool MayBeMarked);

private:
  bool findUses();
  void add(Instruction &I);
  void findSavings();
  bool save(size_t Index, const Known &By, ArrayRef<std::optional<size_t>> Last);
  void limitKept();
  bool mayOverlap(unsigned One, unsigned Other);
  bool isComparable(unsigned One, unsigned Other) const;
  bool isKnownBefore(const Value *V, unsigned &Left) const;
  Value *before(Value *V, Instruction *Place, DenseMap<Value *, Value *> &Made) const;
  Value *overlap(Instruction *Place) const;
  void markAccesses(const ValueToValueMapTy &Copies) const;
  void removeSaved(const ValueToValueMapTy &Copies) const;

  bool contains(const Instruction &I) const {
    return I.getParent() == Begin->getParent() && !I.comesBefore(Begin) && I.comesBefore(End);
  }

  Instruction *Begin, *End;
  ScalarEvolution &SE;
  AAResults &Aliases;
  SmallVector<Group, 8> Groups;
  SmallVector<MemoryUse, 64> Uses;
  DenseMap<Pair, bool> Overlaps;
  SmallSetVector<Pair, 8> Compared;
  SmallVector<Saving, 32> Savings;
};

/// Whether a value is there before the code, or can be computed there from what is, by at most so many
/// instructions.
bool Segment::isKnownBefore(const Value *V, unsigned &Left) const {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !contains(*I))
    return true;
  return Left-- > 0 && !I->mayReadOrWriteMemory() && !isa<PHINode, FreezeInst>(I) && isSafeToSpeculativelyExecute(I) &&
         all_of(I->operands(), [&](const Value *Operand) { return isKnownBefore(Operand, Left); });
}

/// The value, computed before the code.
Value *Segment::before(Value *V, Instruction *Place, DenseMap<Value *, Value *> &Made) const {
  auto *I = dyn_cast<Instruction>(V);
  // The code has a block of its own by now.
  if (!I || I->getParent() != Begin->getParent())
    return V;
  if (Value *Found = Made.lookup(V))
    return Found;
  Instruction *Copy = I->clone();
  for (Use &U : Copy->operands())
    U.set(before(U.get(), Place, Made));
  Copy->insertBefore(Place->getIterator());
  Made[V] = Copy;
  return Copy;
}

void Segment::add(Instruction &I) {
  Type *Accessed = getLoadStoreType(&I);
  auto Bytes = static_cast<int64_t>(I.getModule()->getDataLayout().getTypeStoreSize(Accessed).getFixedValue());
  Value *Pointer = addressOf(I);
  const SCEV *Address = SE.getSCEV(Pointer);
  for (auto [Index, G] : enumerate(Groups)) {
    if (G.address()->getType() != Pointer->getType())
      continue;
    auto *Distance = dyn_cast<SCEVConstant>(SE.getMinusSCEV(Address, SE.getSCEV(G.address())));
    if (!Distance || Distance->getAPInt().getSignificantBits() > 32)
      continue;
    int64_t Offset = Distance->getAPInt().getSExtValue();
    G.Low = std::min(G.Low, Offset);
    G.High = std::max(G.High, Offset + Bytes);
    G.Accesses.push_back(&I);
    Uses.push_back({&I, Access{static_cast<unsigned>(Index), Offset, Bytes, Accessed}});
    return;
  }
  unsigned Left = MostForAddress;
  Uses.push_back({&I, Access{static_cast<unsigned>(Groups.size()), 0, Bytes, Accessed}});
  Groups.push_back({&I, 0, Bytes, isKnownBefore(Pointer, Left), {&I}});
}

bool Segment::findUses() {
  for (Instruction &I : make_range(Begin->getIterator(), End->getIterator())) {
    if (isSimpleAccess(I))
      add(I);
    else if (usesMemory(I))
      Uses.push_back({&I, std::nullopt});
    if (Uses.size() > MostAccesses || Groups.size() > MostGroups)
      return false;
  }
  return true;
}

/// Whether accesses of two groups may overlap, for all that LLVM knows.
bool Segment::mayOverlap(unsigned One, unsigned Other) {
  auto [At, IsNew] = Overlaps.try_emplace(ordered(One, Other), false);
  if (IsNew) {
    auto Around = [&](unsigned Index) { return MemoryLocation(Groups[Index].address(), LocationSize::beforeOrAfterPointer()); };
    At->second = Aliases.alias(Around(One), Around(Other)) != AliasResult::NoAlias;
  }
  return At->second;
}

bool Segment::isComparable(unsigned One, unsigned Other) const {
  const Group &A = Groups[One], &B = Groups[Other];
  return A.IsKnownBefore && B.IsKnownBefore && A.address()->getType() == B.address()->getType();
}

/// Saves a use of what is known, if it is so where groups do not overlap that were used meanwhile: when last,
/// is said of each group.
bool Segment::save(size_t Index, const Known &By, ArrayRef<std::optional<size_t>> Last) {
  const auto &[I, Of] = Uses[Index];
  bool IsStore = isa<StoreInst>(I);
  size_t Since = IsStore ? By.StoredAt : By.Since;
  Saving Found{IsStore ? By.Unread : I, IsStore ? nullptr : By.By, Since, Index, divideCeil(Of->Size, 4), {}};
  for (auto [Other, Use] : enumerate(Last)) {
    if (Other == Of->Group || !Use || *Use < Since || !mayOverlap(Of->Group, Other))
      continue;
    if (!isComparable(Of->Group, Other))
      return false;
    Found.Compared.push_back(ordered(Of->Group, Other));
  }
  Savings.push_back(std::move(Found));
  return true;
}

/// Finds what is saved where groups do not overlap, and which are to be compared for that.
void Segment::findSavings() {
  SmallVector<Known, 64> Table;
  SmallVector<std::optional<size_t>, 8> LastStore(Groups.size()), LastUse(Groups.size());
  for (size_t Index = 0; Index != Uses.size(); ++Index) {
    const MemoryUse &Use = Uses[Index];
    if (!Use.Of) {
      if (Use.I->mayWriteToMemory())
        Table.clear();
      for (Known &K : Table)
        K.Unread = nullptr;
      continue;
    }
    const Access &Of = *Use.Of;
    auto Same = find_if(Table, [&](const Known &K) { return K.Of.isSame(Of); });
    bool IsStore = isa<StoreInst>(Use.I);
    bool IsSaved = false;
    if (Same != Table.end() && !IsStore)
      IsSaved = save(Index, *Same, LastStore);
    else if (Same != Table.end() && Same->Unread)
      save(Index, *Same, LastUse);
    if (IsSaved) {
      Same->By = Use.I, Same->Since = Index;
      continue;
    }
    if (IsStore)
      erase_if(Table, [&](const Known &K) { return K.Of.overlaps(Of); });
    for (Known &K : Table)
      if (K.Of.overlaps(Of))
        K.Unread = nullptr;
    if (IsStore || Same == Table.end())
      Table.push_back({Of, Use.I, Index, IsStore ? Use.I : nullptr, Index});
    else
      // What was stored meanwhile may have changed it.
      Same->By = Use.I, Same->Since = Index;
    LastUse[Of.Group] = Index;
    if (IsStore)
      LastStore[Of.Group] = Index;
  }
}

/// Gives up savings that have too much kept at a time, those first that have it kept for long.
void Segment::limitKept() {
  SmallVector<size_t, 64> Kept(Uses.size());
  SmallVector<const Saving *, 32> ByLength;
  for (const Saving &S : Savings)
    ByLength.push_back(&S);
  stable_sort(ByLength, [](const Saving *A, const Saving *B) { return A->Until - A->Since < B->Until - B->Since; });
  SmallPtrSet<Instruction *, 16> Loaded;
  for (const Saving *S : ByLength) {
    if (!S->By)
      continue;
    auto Meanwhile = MutableArrayRef(Kept).slice(S->Since, S->Until - S->Since);
    if (any_of(Meanwhile, [&](size_t Words) { return Words + S->Words > MostWords; }))
      Loaded.insert(S->Access);
    else
      for (size_t &Words : Meanwhile)
        Words += S->Words;
  }
  // What is loaded after all may read a store that nothing else reads.
  if (!Loaded.empty())
    erase_if(Savings, [&](const Saving &S) { return !S.By || Loaded.contains(S.Access); });
}

/// Whether memory of groups that are compared overlaps.
Value *Segment::overlap(Instruction *Place) const {
  IRBuilder<> Builder(Place);
  DenseMap<Value *, Value *> Made;
  SmallVector<std::pair<Value *, Value *>, 8> Ends(Groups.size());
  auto EndsOf = [&](unsigned Index) {
    auto &[Low, High] = Ends[Index];
    if (!Low) {
      const Group &G = Groups[Index];
      Value *Address = before(G.address(), Place, Made);
      Type *Word = Place->getModule()->getDataLayout().getIntPtrType(Address->getType());
      Value *Number = Builder.CreatePtrToInt(Address, Word);
      Low = Builder.CreateAdd(Number, ConstantInt::getSigned(Word, G.Low));
      High = Builder.CreateAdd(Number, ConstantInt::getSigned(Word, G.High));
    }
    return Ends[Index];
  };
  Value *Any = Builder.getFalse();
  for (auto [One, Other] : Compared) {
    auto [OneLow, OneHigh] = EndsOf(One);
    auto [OtherLow, OtherHigh] = EndsOf(Other);
    Value *Both = Builder.CreateAnd(Builder.CreateICmpULT(OneLow, OtherHigh), Builder.CreateICmpULT(OtherLow, OneHigh));
    Any = Builder.CreateOr(Any, Both);
  }
  return Any;
}

/// Marks copies of accesses as not overlapping what they were compared with, for code generation: it makes
/// one access of several that are neighbours.
void Segment::markAccesses(const ValueToValueMapTy &Copies) const {
  LLVMContext &Context = Begin->getContext();
  MDBuilder Builder(Context);
  MDNode *Domain = Builder.createAnonymousAliasScopeDomain();
  SmallVector<Metadata *, 8> Scopes;
  for (size_t Index = 0; Index != Groups.size(); ++Index)
    Scopes.push_back(Builder.createAnonymousAliasScope(Domain));
  for (auto [Index, G] : enumerate(Groups)) {
    SmallVector<Metadata *, 8> Others;
    for (auto [One, Other] : Compared)
      if (One == Index || Other == Index)
        Others.push_back(Scopes[One == Index ? Other : One]);
    if (Others.empty())
      continue;
    for (Instruction *Access : G.Accesses) {
      auto *Copy = cast<Instruction>(Copies.lookup(Access));
      auto Add = [&](unsigned Kind, ArrayRef<Metadata *> More) {
        Copy->setMetadata(Kind, MDNode::concatenate(Copy->getMetadata(Kind), MDNode::get(Context, More)));
      };
      Add(LLVMContext::MD_alias_scope, Scopes[Index]);
      Add(LLVMContext::MD_noalias, Others);
    }
  }
}

/// Removes from the copy what it need not access.
void Segment::removeSaved(const ValueToValueMapTy &Copies) const {
  // The map follows what a value is replaced by.
  auto CopyOf = [&](Instruction *I) { return I ? cast<Instruction>(Copies.lookup(I)) : nullptr; };
  SmallVector<std::pair<Instruction *, Instruction *>, 32> Saved;
  for (const Saving &S : Savings)
    Saved.emplace_back(CopyOf(S.Access), CopyOf(S.By));
  DenseMap<Instruction *, Value *> Values;
  for (auto [Access, By] : Saved) {
    if (!By)
      continue;
    auto *Store = dyn_cast<StoreInst>(By);
    // What may be said of the value where it was loaded need not hold where it is used now.
    if (!Store)
      By->dropPoisonGeneratingMetadata();
    Value *Before = Values.lookup(By);
    Value *Value = Store ? Store->getValueOperand() : Before ? Before : By;
    Access->replaceAllUsesWith(Value);
    Values[Access] = Value;
  }
  for (auto [Access, By] : Saved)
    Access->eraseFromParent();
}

void Segment::version(DominatorTree &Tree, LoopInfo &Loops, bool MayBeMarked) {
  BasicBlock *Head = Begin->getParent();
  bool IsOnce = MayBeMarked && !Loops.getLoopFor(Head);
  BasicBlock *Body = SplitBlock(Head, Begin, &Tree, &Loops);
  BasicBlock *Tail = SplitBlock(Body, End, &Tree, &Loops);
  Value *Overlap = overlap(Head->getTerminator());

  ValueToValueMapTy Copies;
  BasicBlock *Copy = CloneBasicBlock(Body, Copies, ".disjoint", Head->getParent());
  Copy->moveAfter(Body);
  remapInstructionsInBlocks({Copy}, Copies);
  if (Loop *Around = Loops.getLoopFor(Head))
    Around->addBasicBlockToLoop(Copy, Loops);
  Instruction *Forward = Head->getTerminator();
  MDNode *Unlikely = MDBuilder(Head->getContext()).createUnlikelyBranchWeights();
  IRBuilder<>(Forward).CreateCondBr(Overlap, Body, Copy, Unlikely);
  Forward->eraseFromParent();
  Tree.addNewBlock(Copy, Head);
  Tree.changeImmediateDominator(Tail, Head);

  for (Instruction &I : *Body) {
    SmallVector<Use *, 8> Outside;
    for (Use &U : I.uses())
      if (cast<Instruction>(U.getUser())->getParent() != Body)
        Outside.push_back(&U);
    if (Outside.empty())
      continue;
    PHINode *Either = PHINode::Create(I.getType(), 2, I.getName(), Tail->begin());
    Either->addIncoming(&I, Body);
    Either->addIncoming(Copies.lookup(&I), Copy);
    for (Use *U : Outside)
      U->set(Either);
  }
  // Of other executions of the code the comparisons say nothing, and the marks would.
  if (IsOnce)
    markAccesses(Copies);
  removeSaved(Copies);
}

/// Instructions of a whole warp that not all releases of LLVM call convergent, by how their names begin.
constexpr StringLiteral OfWarp[] = {"llvm.nvvm.ldmatrix.", "llvm.nvvm.mma.", "llvm.nvvm.wmma."};

/// Whether all threads of a warp must execute the call together.
bool isOfWarp(const CallBase &Call) {
  if (Call.isConvergent())
    return true;
  const Function *Callee = Call.getCalledFunction();
  return Callee && any_of(OfWarp, [&](StringRef Prefix) { return Callee->getName().starts_with(Prefix); });
}

/// Whether straight-line code ends at the instruction: what follows may not be executed, or two copies of it
/// may not take its place.
bool isBound(const Instruction &I) {
  if (I.isTerminator() || I.getType()->isTokenTy() || !isGuaranteedToTransferExecutionToSuccessor(&I))
    return true;
  auto *Call = dyn_cast<CallBase>(&I);
  return Call && (isOfWarp(*Call) || Call->cannotDuplicate() || Call->isMustTailCall());
}

/// Where straight-line code may begin in a block: variables of the stack stay in the block that they are in.
Instruction *firstOf(BasicBlock &Block) {
  Instruction *First = &*Block.getFirstInsertionPt();
  for (Instruction &I : Block)
    if (isa<AllocaInst>(I))
      First = I.getNextNode();
  return First;
}

/// Gives straight-line code a second form where that saves enough. In how many places.
unsigned versionSegments(Function &F, FunctionAnalysisManager &Analyses) {
  auto &Tree = Analyses.getResult<DominatorTreeAnalysis>(F);
  auto &Loops = Analyses.getResult<LoopAnalysis>(F);
  auto &SE = Analyses.getResult<ScalarEvolutionAnalysis>(F);
  auto &Aliases = Analyses.getResult<AAManager>(F);
  SmallVector<Segment, 4> Found;
  for (BasicBlock &Block : F) {
    if (!Tree.isReachableFromEntry(&Block) || Block.getFirstInsertionPt() == Block.end())
      continue;
    Instruction *Begin = firstOf(Block);
    for (Instruction &I : make_range(Begin->getIterator(), Block.end()))
      if (isBound(I)) {
        if (Segment All(Begin, &I, SE, Aliases); Begin != &I && All.mayGain())
          Found.push_back(std::move(All));
        Begin = I.getNextNode();
      }
  }
  if (Found.empty())
    return 0;
  // Another function may be called in a loop, and become a part of it.
  bool MayBeMarked = F.use_empty() && !mayContainIrreducibleControl(F, &Loops);
  for (Segment &S : Found)
    S.version(Tree, Loops, MayBeMarked);
  return Found.size();
}

} // namespace

extern "C" {

/// Gives straight-line code of a module a second form for memory that does not overlap, where that saves
/// accesses. In how many places.
unsigned offloom_ir_version_straight_line_code(LLVMModuleRef module) {
  offloom::Analyses All;
  PassBuilder Builder;
  All.registerWith(Builder);
  unsigned Count = 0;
  for (Function &F : *unwrap(module))
    if (!F.isDeclaration())
      Count += versionSegments(F, All.OfFunctions);
  return Count;
}
}
