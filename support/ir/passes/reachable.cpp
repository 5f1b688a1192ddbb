// Cutting a module down to what some of its symbols need, for reachable.rs.
//
// Rules: those of shim/ir_shim.cpp.

#include "lists.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <string>

using namespace llvm;

namespace {

/// What can be in a name that assembly has without quotation marks; `$` can too, and before a name it makes
/// an operand of the address.
bool isInWord(char C) { return isAlnum(C) || C == '_' || C == '.'; }

/// The symbols that some roots need: what their bodies, their assembly and their initial values name, and
/// whole comdats.
class Reachable {
public:
  explicit Reachable(Module &M) : M(M) {
    for (GlobalObject &O : M.global_objects())
      if (const Comdat *C = O.getComdat())
        Groups[C].push_back(&O);
    for (GlobalValue &G : M.global_values())
      if (!all_of(G.getName(), isInWord))
        OfSeveralWords.push_back(&G);
    // It stays.
#if LLVM_VERSION_MAJOR < 23
    addNamedIn(std::string(M.getModuleInlineAsm()));
#else
    for (const auto &Fragment : M.getModuleInlineAsm())
      addNamedIn(Fragment.Asm);
#endif
    visitPending();
  }

  void add(GlobalValue *Root) {
    push(Root);
    visitPending();
  }

  bool contains(const GlobalValue *G) const { return Live.contains(const_cast<GlobalValue *>(G)); }

  /// The symbols found so far, in the order in which they were found.
  ArrayRef<GlobalValue *> symbols() const { return Live.getArrayRef(); }

private:
  void push(GlobalValue *G) {
    if (Live.insert(G))
      Pending.push_back(G);
  }

  void visitPending() {
    while (!Pending.empty())
      visit(Pending.pop_back_val());
  }

  /// Adds what assembly may name.
  void addNamedIn(std::string Assembly) {
    // As operands of inline assembly are `$0`, another `$` is two.
    for (size_t At = 0; (At = Assembly.find("$$", At)) != std::string::npos; ++At)
      Assembly.erase(At, 1);
    StringRef Text = Assembly;
    for (StringRef Rest = Text; !Rest.empty();) {
      Rest = Rest.drop_until(isInWord);
      StringRef Word = Rest.take_while(isInWord);
      Rest = Rest.drop_front(Word.size());
      if (GlobalValue *G = M.getNamedValue(Word))
        push(G);
    }
    for (GlobalValue *G : OfSeveralWords)
      if (Text.contains(G->getName()))
        push(G);
  }

  void visit(GlobalValue *G) {
    visitOperands(*G);
    if (auto *F = dyn_cast<Function>(G))
      for (Instruction &I : instructions(*F)) {
        visitOperands(I);
        auto *Call = dyn_cast<CallBase>(&I);
        if (auto *Assembly = Call ? dyn_cast<InlineAsm>(Call->getCalledOperand()) : nullptr)
          addNamedIn(std::string(Assembly->getAsmString()));
      }
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

  Module &M;
  SetVector<GlobalValue *> Live;
  SmallPtrSet<const Constant *, 32> Constants;
  SmallVector<GlobalValue *, 32> Pending;
  DenseMap<const Comdat *, SmallVector<GlobalObject *, 2>> Groups;
  /// Symbols whose names are more than a word.
  SmallVector<GlobalValue *, 2> OfSeveralWords;
};

/// Leaves the annotations of what is kept in the module's list, and keeps their texts.
void keepAnnotations(Module &M, Reachable &Kept) {
  GlobalVariable *List = M.getNamedGlobal("llvm.global.annotations");
  auto *Array = List && List->hasInitializer() ? dyn_cast<ConstantArray>(List->getInitializer()) : nullptr;
  if (!Array)
    return;
  SmallVector<Constant *, 8> Elements;
  for (Value *Element : Array->operands()) {
    auto *Annotation = dyn_cast<ConstantStruct>(Element);
    auto *Symbol = Annotation ? dyn_cast<GlobalValue>(Annotation->getOperand(0)->stripPointerCasts()) : nullptr;
    if (!Symbol || !Kept.contains(Symbol))
      continue;
    Elements.push_back(Annotation);
    for (Value *Text : drop_begin(Annotation->operands()))
      if (auto *G = dyn_cast<GlobalValue>(Text->stripPointerCasts()))
        Kept.add(G);
  }
  offloom::setElements(*List, *Array, Elements);
}

/// Leaves what is said of kept functions in what NVPTX code generation reads about a module's: where one is
/// gone, LLVM 19's OpenMPOpt looks for it at address 0.
void keepGpuAnnotations(Module &M, const Reachable &Kept) {
  NamedMDNode *List = M.getNamedMetadata("nvvm.annotations");
  if (!List)
    return;
  SmallVector<MDNode *, 16> Nodes;
  for (MDNode *Node : List->operands()) {
    Metadata *First = Node->getNumOperands() ? Node->getOperand(0).get() : nullptr;
    auto *Symbol = dyn_cast_or_null<ConstantAsMetadata>(First);
    auto *G = Symbol ? dyn_cast<GlobalValue>(Symbol->getValue()) : nullptr;
    if (First && (!G || Kept.contains(G)))
      Nodes.push_back(Node);
  }
  List->clearOperands();
  for (MDNode *Node : Nodes)
    List->addOperand(Node);
}

/// The constructors or destructors that a module lists, by what they work on.
///
/// A C++ front end gives each variable an initialiser of its own, which the list names, or which a function
/// that the list names calls: that function does nothing but calling initialisers, which can be kept or
/// dropped one by one. Any other function on the list is kept or dropped as a whole.
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
    offloom::setElements(*M.getNamedGlobal(Name), *Array, Elements);
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

  /// Notes the variables that the function works on, itself or by what it calls: not those that it only
  /// reads, or hands to a function that works on another.
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
    if (auto *Copy = dyn_cast<MemTransferInst>(&I))
      return &U == &Copy->getRawDestUse();
    if (auto *Call = dyn_cast<CallBase>(&I)) {
      if (!Call->isArgOperand(&U))
        return false;
      unsigned Argument = Call->getArgOperandNo(&U);
      Function *Callee = Call->getCalledFunction();
      if (Callee && Callee->getName() == "__cxa_atexit")
        // It is handed over to be destroyed at the end.
        return true;
      if (Call->isByValArgument(Argument) || Call->onlyReadsMemory(Argument))
        return false;
      // What is constructed or filled comes first. What comes later is, too, where the first is no other
      // object; but host code, of which there is nothing here, may only take note of it.
      return Argument == 0 || (Callee && !Callee->isDeclaration() && !isObject(Call->getArgOperand(0)));
    }
    // Its address in a local variable is there to be written through; in another object it is that one's
    // value.
    if (auto *Store = dyn_cast<StoreInst>(&I))
      return &U != &Store->getOperandUse(0) || !isObject(Store->getPointerOperand());
    return !isa<LoadInst>(I);
  }

  /// Whether it is the address of a variable of the program, or of a part of one.
  static bool isObject(Value *Address) {
    auto *V = dyn_cast_or_null<GlobalVariable>(symbolOf(Address));
    return V && !V->isConstant();
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

/// Removes every symbol that the roots do not need. Constructors and destructors of variables that are kept
/// are kept.
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
  keepAnnotations(Mod, Kept);
  keepGpuAnnotations(Mod, Kept);
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
  // What else names what goes keeps its form without it.
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
