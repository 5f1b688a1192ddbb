// How many iterations a team of a GPU is given at a time, as C functions with plain arguments, for
// distribution.rs. Rules as in shim/ir_shim.cpp.
//
// `distribute parallel for` without a `dist_schedule` gives each team as many iterations at a time as it has
// threads. Clang asks the device runtime for that number, and OpenMPOpt puts the kernel's thread limit in its
// place. Where a launch has fewer threads than the limit, each thread then runs several iterations, one after
// another, and the other teams have nothing to do.

#include "branches.h"
#include "generic_addresses.h"
#include "hidden_operand.h"
#include "regions.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include <optional>

using namespace llvm;

namespace {

using offloom::calleeOf, offloom::callsOf, offloom::isStartOfRegion, offloom::RegionArgument;

/// `kmp_sched_distr_static_chunk`: chunks of iterations go to teams in turn.
constexpr uint64_t DistributeInChunks = 91;

/// The place of the chunk's length among the arguments of `__kmpc_distribute_static_init_*`, and that of the
/// kind of schedule. Before the former are the variables of the schedule.
constexpr unsigned ChunkArgument = 8, ScheduleArgument = 2, FirstVariable = 3, LastVariable = 6;

bool isInitOfDistribute(StringRef Name) { return Name.starts_with("__kmpc_distribute_static_init_"); }
bool isInitOfFor(StringRef Name) { return Name.starts_with("__kmpc_for_static_init_"); }
bool isEndOfFor(StringRef Name) { return Name == "__kmpc_for_static_fini"; }
/// Functions of the device runtime that schedule a loop, and say nothing else of threads and teams.
bool isOfSchedule(StringRef Name) {
  static constexpr StringLiteral Others[] = {"__kmpc_target_init", "__kmpc_target_deinit", "__kmpc_distribute_static_fini",
                                             "__kmpc_global_thread_num"};
  return isInitOfDistribute(Name) || isInitOfFor(Name) || isEndOfFor(Name) || isStartOfRegion(Name) || is_contained(Others, Name);
}

/// Functions of the device runtime by which a thread has memory of its own that others could reach.
bool isAllocation(StringRef Name) { return Name == "__kmpc_alloc_shared"; }
bool isMemoryOfThread(StringRef Name) { return isAllocation(Name) || Name == "__kmpc_free_shared"; }

/// Whether PTX reads a register of the hardware other than those of its own (PTX ISA, special registers).
bool readsSpecialRegister(StringRef Ptx) {
  static constexpr StringLiteral Names[] = {"tid",
                                            "ntid",
                                            "laneid",
                                            "warpid",
                                            "nwarpid",
                                            "ctaid",
                                            "nctaid",
                                            "smid",
                                            "nsmid",
                                            "gridid",
                                            "lanemask_",
                                            "clock",
                                            "globaltimer",
                                            "pm",
                                            "envreg",
                                            "cluster",
                                            "is_explicit_cluster",
                                            "dynamic_smem_size",
                                            "total_smem_size",
                                            "aggr_smem_size",
                                            "reserved_smem",
                                            "current_graph_exec",
                                            "nclusterid"};
  for (StringRef Rest = Ptx.split('%').second; !Rest.empty(); Rest = Rest.split('%').second)
    if (any_of(Names, [&](StringRef Name) { return Rest.starts_with(Name); }))
      return true;
  return false;
}

/// Whether the code can tell which thread of which team runs it, or waits for others, or adds numbers in an
/// order that it could tell by.
bool knowsItsThread(const Instruction &I) {
  if (auto *Atomic = dyn_cast<AtomicRMWInst>(&I))
    return AtomicRMWInst::isFPOperation(Atomic->getOperation());
  if (isa<AtomicCmpXchgInst>(I) || isa<FenceInst>(I) || isa<InvokeInst>(I) || isa<CallBrInst>(I))
    return true;
  for (const Use &Operand : I.operands())
    if (auto *Variable = dyn_cast<GlobalVariable>(Operand->stripPointerCasts()); Variable && Variable->getAddressSpace() == 3)
      return true;
  auto *Call = dyn_cast<CallInst>(&I);
  if (!Call)
    return false;
  bool IsAmds = Triple(I.getModule()->getTargetTriple()).isAMDGPU();
  if (auto *Assembly = dyn_cast<InlineAsm>(Call->getCalledOperand()))
    return Assembly->hasSideEffects() || readsSpecialRegister(Assembly->getAsmString()) ||
           (IsAmds && !offloom::isHiddenOperand(Call));
  Function *Callee = Call->getCalledFunction();
  if (!Callee)
    return true;
  StringRef Name = Callee->getName();
  if (Callee->isIntrinsic())
    return Call->isConvergent() || Name.contains(".sreg.") || Name.contains(".shfl.") || Name.contains(".vote.") ||
           Name.starts_with("llvm.read_") || (IsAmds && Name.starts_with("llvm.amdgcn.") && !Call->getType()->isFPOrFPVectorTy());
  return Callee->isDeclaration() && !isOfSchedule(Name) && !isMemoryOfThread(Name);
}

/// A function in which a loop is shared among threads or teams.
class SharedLoop {
public:
  /// `Init` is the call that says which iterations are whose.
  SharedLoop(Function &F, CallInst &Init) : Code(F), Start(Init), Dominators(F), Loops(Dominators) {
    for (unsigned I = FirstVariable; I <= LastVariable; ++I)
      if (auto *Variable = dyn_cast<AllocaInst>(Start.getArgOperand(I)->stripPointerCasts()))
        Variables.insert(Variable);
  }

  /// Whether iterations leave nothing behind for the next one of the same thread, and nothing is done beside
  /// them.
  bool keepsNothing() {
    if (Variables.size() != LastVariable - FirstVariable + 1)
      return false;
    for (Loop *L : Loops)
      if (!isLoopOfIterations(*L))
        return false;
    for (Instruction &I : instructions(Code))
      if (!Loops.getLoopFor(I.getParent()) && writesForOthers(I))
        return false;
    for (Instruction &I : instructions(Code)) {
      Function *Callee = calleeOf(I);
      bool IsMemory = isa<AllocaInst>(I) || (Callee && isAllocation(Callee->getName()));
      if (IsMemory && !isVariable(&I) && !Loops.getLoopFor(I.getParent()) && !isNewForEach(I))
        return false;
    }
    return true;
  }

private:
  /// A loop that is in no other: its values are those of the schedule, and none is used after it.
  bool isLoopOfIterations(Loop &L) {
    if (!Dominators.dominates(Start.getParent(), L.getHeader()))
      return false;
    for (BasicBlock *Block : L.blocks())
      for (Instruction &I : *Block)
        for (User *Reader : I.users())
          if (!L.contains(cast<Instruction>(Reader)))
            return false;
    return all_of(L.getHeader()->phis(), [&](PHINode &Phi) { return isOfSchedule(Phi, L); });
  }

  /// Whether the value in each round is computed from the schedule's variables, with one of them at least.
  bool isOfSchedule(PHINode &Phi, Loop &L) {
    for (BasicBlock *From : Phi.blocks()) {
      if (!L.contains(From))
        continue;
      SmallSetVector<Value *, 16> Parts;
      Parts.insert(Phi.getIncomingValueForBlock(From));
      bool HasVariable = false;
      for (unsigned Next = 0; Next != Parts.size(); ++Next) {
        auto *I = dyn_cast<Instruction>(Parts[Next]);
        if (auto *Load = dyn_cast_or_null<LoadInst>(I); Load && isVariable(Load->getPointerOperand())) {
          HasVariable = true;
          continue;
        }
        if (!I || !L.contains(I) || (isa<PHINode>(I) && I->getParent() == L.getHeader() && isIndex(*I)))
          continue;
        auto *Intrinsic = dyn_cast<IntrinsicInst>(I);
        bool IsSimple =
            isa<BinaryOperator>(I) || isa<CastInst>(I) || isa<SelectInst>(I) || isa<ICmpInst>(I) || isa<GetElementPtrInst>(I) ||
            (Intrinsic &&
             is_contained({Intrinsic::smin, Intrinsic::smax, Intrinsic::umin, Intrinsic::umax}, Intrinsic->getIntrinsicID()));
        if (!IsSimple)
          return false;
        for (Value *Operand : I->operands())
          Parts.insert(Operand);
      }
      if (!HasVariable)
        return false;
    }
    return true;
  }

  static bool isIndex(const Instruction &I) { return I.getType()->isIntegerTy() || I.getType()->isPointerTy(); }

  bool isVariable(const Value *Pointer) const {
    auto *Memory = dyn_cast<AllocaInst>(Pointer->stripPointerCasts());
    return Memory && Variables.contains(Memory);
  }

  /// Whether an instruction outside the loops writes to other memory than this function's own.
  static bool writesForOthers(const Instruction &I) {
    if (!I.mayWriteToMemory() || isa<LifetimeIntrinsic>(I))
      return false;
    if (auto *Store = dyn_cast<StoreInst>(&I))
      return !isa<AllocaInst>(getUnderlyingObject(Store->getPointerOperand()));
    Function *Callee = calleeOf(I);
    if (Callee && Callee->isIntrinsic()) {
      auto *Memory = dyn_cast<AnyMemIntrinsic>(&I);
      return !Memory || !isa<AllocaInst>(getUnderlyingObject(Memory->getRawDest()));
    }
    if (!Callee || isStartOfRegion(Callee->getName()))
      return true;
    return !::isOfSchedule(Callee->getName()) && !isMemoryOfThread(Callee->getName());
  }

  /// Whether a variable of the function begins anew in each iteration; or holds nothing when the first one
  /// begins, any of which may be a thread's first; or nothing but what a parallel region is handed, which is
  /// written before each.
  bool isNewForEach(Instruction &Memory) {
    bool BeginsInLoop = false, IsForRegion = true, IsEmptyBefore = true;
    SmallSetVector<Value *, 16> Addresses;
    Addresses.insert(&Memory);
    for (unsigned Next = 0; Next != Addresses.size(); ++Next)
      for (User *Reader : Addresses[Next]->users()) {
        auto *I = dyn_cast<Instruction>(Reader);
        if (!I)
          return false;
        if (auto *Lifetime = dyn_cast<LifetimeIntrinsic>(I)) {
          BeginsInLoop |= Lifetime->getIntrinsicID() == Intrinsic::lifetime_start && Loops.getLoopFor(I->getParent());
          continue;
        }
        if (isa<GetElementPtrInst>(I) || isa<BitCastInst>(I) || isa<AddrSpaceCastInst>(I)) {
          Addresses.insert(I);
          continue;
        }
        Function *Callee = calleeOf(*I);
        if (Callee && isMemoryOfThread(Callee->getName()))
          continue;
        IsEmptyBefore &= Loops.getLoopFor(I->getParent()) != nullptr;
        if (auto *Store = dyn_cast<StoreInst>(I)) {
          // What is stored elsewhere could be anybody's.
          if (Addresses.contains(Store->getValueOperand()))
            return false;
          continue;
        }
        IsForRegion &= Callee && isStartOfRegion(Callee->getName());
      }
    return BeginsInLoop || IsForRegion || IsEmptyBefore;
  }

  Function &Code;
  CallInst &Start;
  DominatorTree Dominators;
  LoopInfo Loops;
  SmallPtrSet<AllocaInst *, 4> Variables;
};

/// `kmp_sched_static_chunk`: iterations, or chunks of them, go to threads in turn.
constexpr uint64_t StaticInChunks = 33;

/// The places of a schedule's first and last iteration and its step among the arguments, and of how they are
/// given to the code of a parallel region: behind two addresses of thread numbers.
constexpr unsigned FirstIteration = 4, LastIteration = 5, StepArgument = 7, FirstOfRegion = 2, LastOfRegion = 3;

/// The places of the arguments of the call that starts a parallel region: of the clauses `if` and
/// `num_threads`, the array of the region's arguments, and how many they are.
constexpr unsigned IfArgument = 2, ThreadsArgument = 3, ArgumentsArgument = 7, CountArgument = 8;

bool isNumber(const Value *V, uint64_t Number) {
  auto *Constant = dyn_cast<ConstantInt>(V);
  return Constant && Constant->getValue().sextOrTrunc(64) == Number;
}

const Value *withoutCasts(const Value *V) {
  while (isa<CastInst>(V))
    V = cast<CastInst>(V)->getOperand(0);
  return V;
}

/// The only value that is stored in a variable of a schedule before the call that shares the loop; or null.
const Value *storedBefore(CallInst &Init, unsigned Argument) {
  const Value *Stored = nullptr;
  Value *Variable = Init.getArgOperand(Argument)->stripPointerCasts();
  for (User *Reader : Variable->users())
    if (auto *Store = dyn_cast<StoreInst>(Reader);
        Store && Store->getPointerOperand() == Variable && Store->getParent() == Init.getParent() && Store->comesBefore(&Init)) {
      if (Stored)
        return nullptr;
      Stored = Store->getValueOperand();
    }
  return Stored;
}

/// Whether a number is computed from variables of a schedule, and from nothing else that changes after the
/// call that shares the loop.
bool isComputedFrom(const Value *V, CallInst &Init) {
  DominatorTree Dominators(*Init.getFunction());
  SmallSetVector<const Value *, 16> Parts;
  Parts.insert(V);
  bool HasVariable = false;
  for (unsigned Next = 0; Next != Parts.size(); ++Next) {
    auto *I = dyn_cast<Instruction>(Parts[Next]);
    if (auto *Load = dyn_cast_or_null<LoadInst>(I)) {
      bool IsVariable = false;
      for (unsigned Argument = FirstVariable; Argument <= LastVariable; ++Argument)
        IsVariable |= Load->getPointerOperand()->stripPointerCasts() == Init.getArgOperand(Argument)->stripPointerCasts();
      if (!IsVariable && !Dominators.dominates(Load, &Init))
        return false;
      HasVariable |= IsVariable;
    } else if (auto *Call = dyn_cast_or_null<CallInst>(I); Call && !isa<MinMaxIntrinsic>(Call)) {
      return false;
    } else if (I) {
      for (const Value *Operand : I->operands())
        Parts.insert(Operand);
    }
  }
  return HasVariable;
}

/// What a call hands to the code of a parallel region as an argument: the only value that is stored there.
const Value *handedOver(CallInst &Start, unsigned Number) {
  Value *Arguments = Start.getArgOperand(ArgumentsArgument)->stripPointerCasts();
  const DataLayout &Layout = Start.getModule()->getDataLayout();
  const Value *Found = nullptr;
  SmallVector<Value *, 4> Addresses{Arguments};
  for (User *Reader : Arguments->users())
    if (isa<GetElementPtrInst>(Reader))
      Addresses.push_back(Reader);
  for (Value *Address : Addresses) {
    APInt Offset(Layout.getIndexTypeSizeInBits(Address->getType()), 0);
    if (Address->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true) != Arguments)
      return nullptr;
    for (User *Reader : Address->users())
      if (auto *Store = dyn_cast<StoreInst>(Reader); Store && Store->getPointerOperand() == Address && Offset == 8 * Number) {
        if (Found)
          return nullptr;
        Found = Store->getValueOperand();
      }
  }
  return Found;
}

/// The call that starts a function's only parallel region, if it is one of all threads.
CallInst *regionOfAllThreads(Function &F) {
  auto Regions = callsOf(F, isStartOfRegion);
  if (Regions.size() != 1)
    return nullptr;
  CallInst *Start = Regions.front();
  bool OfAll = isNumber(Start->getArgOperand(IfArgument), 1) && isNumber(Start->getArgOperand(ThreadsArgument), -1);
  return OfAll ? Start : nullptr;
}

/// A kernel's only `distribute`, whose iterations a parallel region of all threads of a team shares.
struct Composite {
  CallInst *Distribute;
  /// The call that starts the region, its code, and the call there that shares the iterations.
  CallInst *Start;
  Function *Region;
  CallInst *For;
};

/// Whether it is one: the region gets the first and the last iteration of a chunk, and shares those.
std::optional<Composite> compositeOf(Function &Kernel, const SmallSetVector<Function *, 16> &Functions) {
  SmallVector<CallInst *, 1> Distributions;
  size_t Regions = 0;
  for (Function *F : Functions) {
    Distributions.append(callsOf(*F, isInitOfDistribute));
    Regions += callsOf(*F, isStartOfRegion).size();
    for (Instruction &I : instructions(*F)) {
      auto *Call = dyn_cast<CallInst>(&I);
      Function *Callee = calleeOf(I);
      if (Call && !Call->isInlineAsm() && (!Callee || offloom::mayMakeThreadState(Callee->getName())))
        return std::nullopt;
    }
  }
  // Another region may be one within the first.
  if (Distributions.size() != 1 || Regions != 1)
    return std::nullopt;
  CallInst *Distribute = Distributions.front();
  if (Distribute->arg_size() != ChunkArgument + 1 || !isNumber(Distribute->getArgOperand(ScheduleArgument), DistributeInChunks) ||
      !isNumber(Distribute->getArgOperand(StepArgument), 1))
    return std::nullopt;
  CallInst *Start = regionOfAllThreads(*Distribute->getFunction());
  auto *Region = Start ? dyn_cast<Function>(Start->getArgOperand(RegionArgument)->stripPointerCasts()) : nullptr;
  if (!Region || Region->isDeclaration() || !Region->hasOneUse() || Region->arg_size() <= LastOfRegion)
    return std::nullopt;
  for (unsigned Number : {0, 1}) {
    const Value *Bound = handedOver(*Start, Number);
    if (!Bound || !isComputedFrom(Bound, *Distribute))
      return std::nullopt;
  }
  auto Fors = callsOf(*Region, isInitOfFor);
  if (Fors.size() != 1)
    return std::nullopt;
  CallInst *For = Fors.front();
  const Value *First = storedBefore(*For, FirstIteration), *Last = storedBefore(*For, LastIteration);
  bool SharesThose =
      First && Last && withoutCasts(First) == Region->getArg(FirstOfRegion) && withoutCasts(Last) == Region->getArg(LastOfRegion);
  if (!SharesThose || For->arg_size() != ChunkArgument + 1 || !isNumber(For->getArgOperand(ScheduleArgument), StaticInChunks) ||
      !isNumber(For->getArgOperand(ChunkArgument), 1) || !isNumber(For->getArgOperand(StepArgument), 1))
    return std::nullopt;
  return Composite{Distribute, Start, Region, For};
}

/// Whether nobody can tell which thread runs an iteration, and before or after which other.
bool isIndependent(const SmallSetVector<Function *, 16> &Functions) {
  for (Function *F : Functions) {
    if (any_of(instructions(*F), knowsItsThread))
      return false;
    auto Inits = callsOf(*F, isInitOfDistribute);
    Inits.append(callsOf(*F, isInitOfFor));
    if (Inits.size() > 1 || (Inits.size() == 1 && !SharedLoop(*F, *Inits.front()).keepsNothing()))
      return false;
  }
  return true;
}

/// The iterations of a `distribute`.
struct Iterations {
  /// Of `Parts`, shared among teams of so many threads.
  Iterations(const Composite &Parts, uint32_t Threads)
      : Last(const_cast<Value *>(storedBefore(*Parts.Distribute, LastIteration))) {
    const Value *First = storedBefore(*Parts.Distribute, FirstIteration);
    auto *Number = dyn_cast_or_null<ConstantInt>(Last);
    AreKnown = First && isNumber(First, 0) && Number && !Number->isNegative();
    NumberOfLast = AreKnown ? Number->getZExtValue() : 0;
    HaveRest = !AreKnown || (NumberOfLast + 1) % Threads != 0;
  }

  /// Whether the number of the last one, and those of so many more, are numbers of this type.
  bool areFewerThan(uint64_t More, Type *T) const {
    uint64_t Most = APInt::getSignedMaxValue(T->getIntegerBitWidth()).getZExtValue();
    return AreKnown && More < Most && NumberOfLast < Most - More;
  }

  Value *Last;
  /// Whether the first is 0, and the last known.
  bool AreKnown;
  uint64_t NumberOfLast;
  /// Whether the threads of some team have no iteration of the last chunk.
  bool HaveRest;
};

/// Takes the loop around an iteration away, of which a thread has one at most; and without a rest, the
/// question whether it has one. Returns whether the loop was as expected.
bool runOnce(const Composite &Parts, bool HasRest) {
  DominatorTree Dominators(*Parts.Region);
  LoopInfo Loops(Dominators);
  if (Loops.getTopLevelLoops().size() != 1)
    return false;
  Loop *L = Loops.getTopLevelLoops().front();
  BasicBlock *Latch = L->getLoopLatch(), *Exit = L->getExitBlock();
  Instruction *Back = Latch ? offloom::conditionalBranch(*Latch) : nullptr;
  if (!Exit || !Back || L->getExitingBlock() != Latch || !Dominators.dominates(Parts.For->getParent(), L->getHeader()))
    return false;
  // The branch around the loop: to where it ends.
  BasicBlock *Into = L->getLoopPreheader();
  BasicBlock *Before = Into ? Into->getSinglePredecessor() : nullptr;
  Instruction *Guard = Before ? offloom::conditionalBranch(*Before) : nullptr;
  L->getHeader()->removePredecessor(Latch);
  IRBuilder<>(Back).CreateBr(Exit);
  Back->eraseFromParent();
  if (HasRest || !Guard || !is_contained(successors(Guard), Exit))
    return true;
  Exit->removePredecessor(Before, /*KeepOneInputPHIs=*/true);
  IRBuilder<>(Guard).CreateBr(Into);
  Guard->eraseFromParent();
  return true;
}

/// The integer variable that a call of the device runtime leaves a schedule's first iteration in; or null.
AllocaInst *variableOfFirst(CallInst &Init) {
  auto *Variable = dyn_cast<AllocaInst>(Init.getArgOperand(FirstIteration)->stripPointerCasts());
  return Variable && Variable->getAllocatedType()->isIntegerTy() ? Variable : nullptr;
}

/// Adds the thread's number to a schedule's first iteration, before `At`.
void startAtThread(AllocaInst &Variable, Instruction *At, bool Fits) {
  IRBuilder<> Builder(At);
  Type *T = Variable.getAllocatedType();
  Module &M = *At->getModule();
  const char *Name = Triple(M.getTargetTriple()).isAMDGPU() ? "llvm.amdgcn.workitem.id.x" : "llvm.nvvm.read.ptx.sreg.tid.x";
  FunctionCallee Thread = M.getOrInsertFunction(Name, Builder.getInt32Ty());
  Value *Own = Builder.CreateZExt(Builder.CreateCall(Thread), T);
  Builder.CreateStore(Builder.CreateAdd(Builder.CreateLoad(T, &Variable), Own, "", /*HasNUW=*/Fits, /*HasNSW=*/Fits), &Variable);
}

/// Has all threads call the region's code, in the place of the device runtime, which has them wait for each
/// other around it. Where threads may have no iteration of the last chunk, each goes through its own
/// iterations, and ends behind its last, if `teams` (0: not known) say that their numbers stay numbers.
/// Returns whether it has.
bool callDirectly(const Composite &Parts, uint32_t Threads, uint32_t Teams, const Iterations &All) {
  auto *Count = dyn_cast<ConstantInt>(Parts.Start->getArgOperand(CountArgument));
  Function &Region = *Parts.Region;
  if (!Count || Region.arg_size() != Count->getZExtValue() + FirstOfRegion || !Region.getReturnType()->isVoidTy())
    return false;
  if (any_of(drop_begin(Region.args(), FirstOfRegion),
             [](Argument &A) { return !A.getType()->isPointerTy() && !A.getType()->isIntegerTy(64); }))
    return false;
  AllocaInst *Variable = variableOfFirst(*Parts.For), *OfTeam = variableOfFirst(*Parts.Distribute);
  Type *T = Variable ? Variable->getAllocatedType() : nullptr;
  if (!T || All.Last->getType() != T)
    return false;
  // A step further than the last iteration, for whoever has the last number.
  uint64_t Further = uint64_t(Threads) * (uint64_t(Teams) + 1);
  bool GoesAlone = All.HaveRest && Teams != 0 && OfTeam && OfTeam->getAllocatedType() == T && All.areFewerThan(Further, T);
  Function &F = *Parts.Start->getFunction();
  IRBuilder<> Entry(&*F.getEntryBlock().getFirstInsertionPt());
  Value *Number = Entry.CreateAlloca(Entry.getInt32Ty());
  IRBuilder<> Builder(Parts.Start);
  Builder.CreateStore(Builder.getInt32(0), Number);
  Value *Address = Builder.CreateAddrSpaceCast(Number, Region.getArg(0)->getType());
  SmallVector<Value *, 16> Arguments(FirstOfRegion, Address);
  for (Argument &A : drop_begin(Region.args(), FirstOfRegion)) {
    Value *Place = Builder.CreateConstInBoundsGEP1_64(Builder.getPtrTy(), Parts.Start->getArgOperand(ArgumentsArgument),
                                                      A.getArgNo() - FirstOfRegion);
    Arguments.push_back(Builder.CreateLoad(A.getType(), Place));
  }
  // A thread whose iteration is one of all has one of the chunk too: the chunk's end need not be computed.
  Value *Last = All.Last;
  if (!All.HaveRest) {
    Value *First = Builder.CreateTrunc(Arguments[FirstOfRegion], T);
    Last = Builder.CreateAdd(First, ConstantInt::get(T, Threads - 1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  }
  Arguments[LastOfRegion] = Builder.CreateZExt(Last, Builder.getInt64Ty());
  Builder.CreateCall(&Region, Arguments);
  Parts.Start->eraseFromParent();
  if (GoesAlone)
    startAtThread(*OfTeam, Parts.Distribute->getNextNode(), /*Fits=*/true);
  else
    startAtThread(*Variable, Parts.For, All.areFewerThan(Threads, T));
  IRBuilder<>(Parts.For).CreateStore(ConstantInt::get(T, Threads), Parts.For->getArgOperand(LastVariable));
  Parts.For->eraseFromParent();
  for (CallInst *End : callsOf(Region, isEndOfFor))
    End->eraseFromParent();
  return true;
}

} // namespace

/// Has each team of a kernel's `distribute parallel for` take as many iterations at a time as it has threads,
/// where it takes as many as the kernel's limit, and each thread run its iteration, without a loop and, where
/// that is not seen, without the device runtime. All threads must run the kernel. Returns a sum: 1 if
/// teams take fewer iterations now, 2 if the loop is gone, 4 if the device runtime is.
extern "C" uint32_t offloom_ir_share_iterations(LLVMValueRef kernel, uint32_t limit, uint32_t threads, uint32_t teams) {
  Function &Kernel = *unwrap<Function>(kernel);
  auto Functions = offloom::functionsOf(Kernel);
  // Calls of the device runtime get these.
  for (Function *F : Functions)
    offloom::accessVariablesUncast(*F);
  std::optional<Composite> Parts = compositeOf(Kernel, Functions);
  if (!Parts)
    return 0;
  auto *Chunk = dyn_cast<ConstantInt>(Parts->Distribute->getArgOperand(ChunkArgument));
  if (!Chunk || (Chunk->getZExtValue() != threads && Chunk->getZExtValue() != limit))
    return 0;
  uint32_t Done = 0;
  bool IsIndependent = isIndependent(Functions);
  if (Chunk->getZExtValue() != threads) {
    if (!IsIndependent)
      return 0;
    Parts->Distribute->setArgOperand(ChunkArgument, ConstantInt::get(Chunk->getType(), threads));
    Done |= 1;
  }
  Iterations All(*Parts, threads);
  if (!All.Last)
    return Done;
  if (runOnce(*Parts, All.HaveRest))
    Done |= 2;
  // With a rest the region gets the last of all iterations, which a loop would go on to.
  if (IsIndependent && ((Done & 2) || !All.HaveRest) && callDirectly(*Parts, threads, teams, All))
    Done |= 4;
  return Done;
}
