// Which pointers lead to accesses that would be wider if more were known of their alignment, as C
// functions with plain arguments, for wider_accesses.rs. Rules: those of ir_shim.cpp.

#include "llvm-c/Types.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Triple.h"
#include <map>
#include <set>
#include <tuple>
#include <vector>

using namespace llvm;

namespace {

/// Bytes of the widest access that a thread of a GPU has; from sm_100 on it has such of 32 too.
constexpr uint64_t WidestAccess = 16;

/// How far an access is from the pointer that it goes through.
class Distance {
public:
  /// A part that is not constant: what it is, the loop that adds it again and again if it is a step, and
  /// what of it there is.
  using Term = std::tuple<const SCEV *, const Loop *, uint64_t>;

  Distance(ScalarEvolution &SE, uint64_t Size) : SE(SE), Size(Size) {}

  /// Adds a part, in units of `Scale` bytes. What is known once the arguments are may be any multiple
  /// then, and so may a product.
  void add(const SCEV *Part, uint64_t Scale) {
    SmallVector<const SCEV *, 4> Factors;
    split(Part, Scale, Factors);
    if (Factors.empty()) {
      Constant += Scale;
      return;
    }
    if (Factors.size() > 1)
      return note(Part, nullptr, Scale);
    const SCEV *Factor = Factors.front();
    if (auto *Sum = dyn_cast<SCEVAddExpr>(Factor)) {
      for (const SCEV *Term : Sum->operands())
        add(Term, Scale);
      return;
    }
    auto *Recurrence = dyn_cast<SCEVAddRecExpr>(Factor);
    if (!Recurrence || !Recurrence->isAffine()) {
      note(Factor, nullptr, Scale);
      return isMultipleOf(Factors, Scale);
    }
    add(Recurrence->getStart(), Scale);
    const SCEV *Step = Recurrence->getOperand(1);
    note(Step, Recurrence->getLoop(), Scale);
    Factors.clear();
    split(Step, Scale, Factors);
    if (Factors.empty() && (Scale == Size || Scale == -Size))
      GoesOnByOne = true;
    else
      isMultipleOf(Factors, Scale);
  }

  /// Whether two such accesses, one behind the other, may begin at a multiple of what they have together.
  bool mayBeAligned() const { return Multiple >= 2 * Size; }

  /// Whether a loop goes from one access to the one behind it, so that several may come together.
  bool goesOnByOne() const { return GoesOnByOne; }

  uint64_t constant() const { return Constant; }

  /// The parts that are not constant, in an order that is the same for the same parts.
  std::vector<Term> terms() const {
    std::vector<Term> Sorted = Terms;
    llvm::sort(Sorted);
    return Sorted;
  }

private:
  ScalarEvolution &SE;
  /// Bytes of the access.
  const uint64_t Size;
  uint64_t Constant = 0;
  std::vector<Term> Terms;
  /// What is not constant is a multiple of this power of two.
  uint64_t Multiple = uint64_t(1) << 63;
  bool GoesOnByOne = false;

  void note(const SCEV *Part, const Loop *Again, uint64_t Scale) { Terms.emplace_back(withoutCasts(Part), Again, Scale); }

  /// A part has these factors that are not constant.
  void isMultipleOf(ArrayRef<const SCEV *> Factors, uint64_t Scale) {
    if (Factors.size() > 1 || (Factors.size() == 1 && isOfArguments(Factors.front())))
      return;
    // What LLVM makes of the product of two numbers of 32 bits that are extended.
    auto *Unknown = Factors.empty() ? nullptr : dyn_cast<SCEVUnknown>(Factors.front());
    auto *Shift = Unknown ? dyn_cast<PossiblyExactOperator>(Unknown->getValue()) : nullptr;
    if (Shift && Shift->getOpcode() == Instruction::AShr && Shift->isExact()) {
      SmallVector<const SCEV *, 4> Shifted;
      uint64_t Ignored = 1;
      split(SE.getSCEV(Shift->getOperand(0)), Ignored, Shifted);
      if (Shifted.size() > 1)
        return;
    }
    if (Scale)
      Multiple = std::min(Multiple, Scale & -Scale);
  }

  static const SCEV *withoutCasts(const SCEV *S) {
    while (auto *Cast = dyn_cast<SCEVIntegralCastExpr>(S))
      S = Cast->getOperand();
    return S;
  }

  /// How a product is made: its constant factor is put to `Scale`, and the others to `Factors`.
  static void split(const SCEV *Product, uint64_t &Scale, SmallVectorImpl<const SCEV *> &Factors) {
    Product = withoutCasts(Product);
    auto *Constant = dyn_cast<SCEVConstant>(Product);
    if (auto *Mul = dyn_cast<SCEVMulExpr>(Product))
      for (const SCEV *Factor : Mul->operands())
        split(Factor, Scale, Factors);
    else if (Constant && Constant->getAPInt().getSignificantBits() <= 64)
      Scale *= static_cast<uint64_t>(Constant->getAPInt().getSExtValue());
    else
      Factors.push_back(Product);
  }

  /// Whether the expression is known once the arguments are.
  static bool isOfArguments(const SCEV *S) {
    return !SCEVExprContains(S, [](const SCEV *Part) {
      auto *Unknown = dyn_cast<SCEVUnknown>(Part);
      return isa<SCEVAddRecExpr>(Part) || (Unknown && !isa<Argument>(Unknown->getValue()));
    });
  }
};

class WiderAccesses {
  ScalarEvolution &SE;
  const DataLayout &Layout;
  /// Where accesses are that differ by a constant: by pointer, rest of the address, and size, of loads or
  /// stores.
  std::map<std::tuple<const Argument *, std::vector<Distance::Term>, uint64_t, unsigned>, std::set<uint64_t>> Places;

public:
  WiderAccesses(ScalarEvolution &SE, const DataLayout &Layout) : SE(SE), Layout(Layout) {}

  /// The parameter that the access goes through, if a higher alignment of it may make the access wider.
  const Argument *parameterOf(Instruction &Access) {
    auto *Load = dyn_cast<LoadInst>(&Access);
    auto *Store = dyn_cast<StoreInst>(&Access);
    if (!(Load && Load->isSimple()) && !(Store && Store->isSimple()))
      return nullptr;
    TypeSize Bytes = Layout.getTypeStoreSize(getLoadStoreType(&Access));
    if (Bytes.isScalable() || !isPowerOf2_64(Bytes.getFixedValue()) || Bytes.getFixedValue() >= WidestAccess)
      return nullptr;
    const uint64_t Size = Bytes.getFixedValue();
    const SCEV *Address = SE.getSCEV(getLoadStorePointerOperand(&Access));
    auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
    auto *Pointer = Base ? dyn_cast<Argument>(Base->getValue()->stripPointerCasts()) : nullptr;
    const SCEV *Whole = Pointer ? SE.getMinusSCEV(Address, Base) : SE.getCouldNotCompute();
    if (isa<SCEVCouldNotCompute>(Whole))
      return nullptr;
    Distance Distance(SE, Size);
    Distance.add(Whole, 1);
    if (!Distance.mayBeAligned())
      return nullptr;
    std::set<uint64_t> &Others = Places[{Pointer, Distance.terms(), Size, Access.getOpcode()}];
    const uint64_t Place = Distance.constant();
    Others.insert(Place);
    return Distance.goesOnByOne() || Others.count(Place - Size) || Others.count(Place + Size) ? Pointer : nullptr;
  }
};

} // namespace

extern "C" {

/// For each parameter of a definition, whether it is a pointer through which there are accesses that may
/// become wider once it is known to be aligned to more than they are.
void offloom_ir_wider_accesses(LLVMValueRef function, bool *parameters) {
  auto *F = unwrap<Function>(function);
  TargetLibraryInfoImpl Functions{Triple(F->getParent()->getTargetTriple())};
  TargetLibraryInfo Library(Functions);
  AssumptionCache Assumptions(*F);
  DominatorTree Tree(*F);
  LoopInfo Loops(Tree);
  ScalarEvolution Evolution(*F, Library, Assumptions, Tree, Loops);
  WiderAccesses Accesses(Evolution, F->getParent()->getDataLayout());
  for (Instruction &I : instructions(F))
    if (const Argument *Parameter = Accesses.parameterOf(I))
      parameters[Parameter->getArgNo()] = true;
}

} // extern "C"
