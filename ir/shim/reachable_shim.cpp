// Cutting a module down to what some of its symbols need, for reachable.rs.
//
// Rules: those of ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace {

/// The symbols that some roots need: what their bodies and initial values name, and whole comdats.
class Reachable {
public:
  explicit Reachable(Module &M) {
    for (GlobalObject &O : M.global_objects())
      if (const Comdat *C = O.getComdat())
        Groups[C].push_back(&O);
  }

  void add(GlobalValue *Root) {
    push(Root);
    while (!Pending.empty())
      visit(Pending.pop_back_val());
  }

  bool contains(const GlobalValue *G) const { return Live.contains(const_cast<GlobalValue *>(G)); }

  /// The symbols found so far, in the order in which they were found.
  ArrayRef<GlobalValue *> symbols() const { return Live.getArrayRef(); }

private:
  void push(GlobalValue *G) {
    if (Live.insert(G))
      Pending.push_back(G);
  }

  void visit(GlobalValue *G) {
    visitOperands(*G);
    if (auto *F = dyn_cast<Function>(G))
      for (BasicBlock &B : *F)
        for (Instruction &I : B)
          visitOperands(I);
    if (auto *O = dyn_cast<GlobalObject>(G))
      if (const Comdat *C = O->getComdat())
        for (GlobalObject *Member : Groups[C])
          push(Member);
  }

  void visitOperands(User &U) {
    for (Value *Operand : U.operands()) {
      if (auto *G = dyn_cast<GlobalValue>(Operand))
        push(G);
      else if (auto *C = dyn_cast<Constant>(Operand))
        if (C->getNumOperands() != 0 && Constants.insert(C).second)
          visitOperands(*C);
    }
  }

  SetVector<GlobalValue *> Live;
  SmallPtrSet<const Constant *, 32> Constants;
  SmallVector<GlobalValue *, 32> Pending;
  DenseMap<const Comdat *, SmallVector<GlobalObject *, 2>> Groups;
};

/// The constructors or destructors that a module lists, by what they work on.
///
/// A C++ front end gives each variable an initialiser of its own, which the list names, or which a function that the list names
/// calls: that function does nothing but calling initialisers, which can be kept or dropped one by one. Any other function on the
/// list is kept or dropped as a whole.
class Structors {
public:
  Structors(Module &M, StringRef Name) : M(M), Name(Name) {
    GlobalVariable *List = M.getNamedGlobal(Name);
    Array = List && List->hasInitializer() ? dyn_cast<ConstantArray>(List->getInitializer()) : nullptr;
    if (!Array)
      return;
    for (Value *Element : Array->operands())
      if (Function *F = function(Element)) {
        if (callsInitialisersOnly(*F))
          for (Instruction &I : F->getEntryBlock()) {
            if (auto *Call = dyn_cast<CallInst>(&I); Call && !Call->isDebugOrPseudoInst())
              note(*Call->getCalledFunction());
          }
        else
          note(*F);
      }
  }

  /// Keeps those that work on the variable.
  void keepFor(GlobalValue *Variable, Reachable &Kept) const {
    auto Found = Of.find(Variable);
    if (Found != Of.end())
      for (Function *F : Found->second)
        Kept.add(F);
  }

  /// Drops those that nobody keeps.
  void dropOthers(Reachable &Kept) {
    if (!Array)
      return;
    SmallVector<Constant *, 8> Elements;
    for (Value *Element : Array->operands())
      if (Function *F = function(Element); F && keeps(*F, Kept))
        Elements.push_back(cast<Constant>(Element));
    if (Elements.size() == Array->getNumOperands())
      return;
    Type *ElementType = Array->getType()->getElementType();
    M.getNamedGlobal(Name)->eraseFromParent();
    if (Elements.empty())
      return;
    auto *NewType = ArrayType::get(ElementType, Elements.size());
    new GlobalVariable(M, NewType, false, GlobalValue::AppendingLinkage, ConstantArray::get(NewType, Elements), Name);
  }

private:
  static Function *function(Value *Element) {
    auto *Structor = dyn_cast<ConstantStruct>(Element);
    return Structor ? dyn_cast<Function>(Structor->getOperand(1)->stripPointerCasts()) : nullptr;
  }

  /// Whether all that the function does is to call the module's own functions without arguments or result.
  static bool callsInitialisersOnly(Function &F) {
    if (F.size() != 1)
      return false;
    bool Calls = false;
    for (Instruction &I : F.getEntryBlock()) {
      if (I.isDebugOrPseudoInst() || isa<ReturnInst>(I))
        continue;
      auto *Call = dyn_cast<CallInst>(&I);
      Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (!Callee || Callee->isDeclaration() || !Callee->hasLocalLinkage() || !Callee->arg_empty() ||
          !Callee->getReturnType()->isVoidTy())
        return false;
      Calls = true;
    }
    return Calls;
  }

  /// Notes the variables that the function works on, itself or by what it calls: not those that it only reads, or hands to a function that
  /// works on another.
  void note(Function &F) {
    SmallSetVector<Function *, 8> Reached;
    Reached.insert(&F);
    for (size_t Next = 0; Next != Reached.size(); ++Next)
      for (Instruction &I : instructions(*Reached[Next]))
        for (Use &U : I.operands()) {
          Value *Symbol = symbolOf(U);
          if (auto *Other = dyn_cast_or_null<Function>(Symbol))
            Reached.insert(Other);
          else if (auto *V = dyn_cast_or_null<GlobalVariable>(Symbol);
                   V && worksOn(I, U) && !V->isConstant() && !V->isDeclaration())
            Of[V].insert(&F);
        }
  }

  /// What a constant is the address of, or lies in; null if there is none.
  static Value *symbolOf(Value *V) {
    auto *C = dyn_cast<Constant>(V);
    Value *Symbol = C ? C->stripInBoundsConstantOffsets() : nullptr;
    auto *Alias = dyn_cast_or_null<GlobalAlias>(Symbol);
    return Alias ? Alias->getAliaseeObject() : Symbol;
  }

  static bool worksOn(Instruction &I, Use &U) {
    if (auto *Call = dyn_cast<CallBase>(&I)) {
      // The object that is constructed or filled comes first, but for where it is handed over to be destroyed at the end.
      Function *Callee = Call->getCalledFunction();
      bool IsAtExit = Callee && Callee->getName() == "__cxa_atexit";
      return Call->isArgOperand(&U) && (IsAtExit || Call->getArgOperandNo(&U) == 0);
    }
    if (isa<StoreInst>(I))
      return U.getOperandNo() == StoreInst::getPointerOperandIndex();
    return !isa<LoadInst>(I);
  }

  bool keeps(Function &F, Reachable &Kept) const {
    if (Kept.contains(&F))
      return true;
    if (!callsInitialisersOnly(F))
      return false;
    bool Any = false;
    for (Instruction &I : make_early_inc_range(F.getEntryBlock())) {
      auto *Call = dyn_cast<CallInst>(&I);
      if (!Call || Call->isDebugOrPseudoInst())
        continue;
      if (Kept.contains(Call->getCalledFunction()))
        Any = true;
      else
        Call->eraseFromParent();
    }
    if (Any)
      Kept.add(&F);
    return Any;
  }

  Module &M;
  StringRef Name;
  ConstantArray *Array;
  DenseMap<GlobalValue *, SmallSetVector<Function *, 1>> Of;
};

} // namespace

extern "C" {

/// Removes every symbol that the roots do not need. Constructors and destructors of variables that are kept are kept.
void offloom_ir_keep_reachable(LLVMModuleRef M, const LLVMValueRef *roots, size_t count) {
  Module &Mod = *unwrap(M);
  Reachable Kept(Mod);
  for (size_t I = 0; I != count; ++I)
    Kept.add(unwrap<GlobalValue>(roots[I]));
  Structors Constructors(Mod, "llvm.global_ctors"), Destructors(Mod, "llvm.global_dtors");
  // What they need can have constructors in turn.
  for (size_t I = 0; I != Kept.symbols().size(); ++I) {
    GlobalValue *Symbol = Kept.symbols()[I];
    Constructors.keepFor(Symbol, Kept);
    Destructors.keepFor(Symbol, Kept);
  }
  Constructors.dropOthers(Kept);
  Destructors.dropOthers(Kept);
  for (bool CompilerOnly : {false, true}) {
    SmallVector<GlobalValue *, 16> Old, New;
    GlobalVariable *List = collectUsedGlobalVariables(Mod, Old, CompilerOnly);
    copy_if(Old, std::back_inserter(New), [&](GlobalValue *G) { return Kept.contains(G); });
    if (!List || Old.size() == New.size())
      continue;
    List->eraseFromParent();
    if (!New.empty())
      CompilerOnly ? appendToCompilerUsed(Mod, New) : appendToUsed(Mod, New);
  }
  SmallVector<GlobalValue *, 32> Dead;
  for (GlobalValue &G : Mod.global_values()) {
    bool IsList = G.hasAppendingLinkage() && G.getName().starts_with("llvm.");
    if (!IsList && !Kept.contains(&G))
      Dead.push_back(&G);
  }
  // Annotations and the like may name what goes: they keep their form without it.
  for (GlobalValue *G : Dead) {
    if (auto *F = dyn_cast<Function>(G))
      F->deleteBody();
    else if (auto *V = dyn_cast<GlobalVariable>(G))
      V->setInitializer(nullptr);
  }
  for (GlobalValue *G : Dead) {
    G->removeDeadConstantUsers();
    G->replaceNonMetadataUsesWith(Constant::getNullValue(G->getType()));
    G->eraseFromParent();
  }
}

} // extern "C"
