// Where in the source the OpenMP runtime is called and functions are, for source_location.rs.
//
// Rules: those of ir_shim.cpp.

#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {

/// Makes `ident_t` constants, one for each place. LLVM's OpenMPIRBuilder has the same, but walks over all
/// variables of the module for each one that it makes.
class Places {
public:
  explicit Places(Module &M) : M(M) {}

  GlobalVariable *at(const DILocation &Location) {
    return at(Location.getScope()->getSubprogram(), Location.getFilename(), Location.getLine(), Location.getColumn());
  }

  GlobalVariable *at(const DISubprogram &Function) { return at(&Function, Function.getFilename(), Function.getLine(), 0); }

private:
  GlobalVariable *at(const DISubprogram *Function, StringRef File, unsigned Line, unsigned Column) {
    std::string Text = (Twine(";") + File + ";" + (Function ? Function->getName() : StringRef()) + ";" + Twine(Line) + ";" +
                        Twine(Column) + ";;")
                           .str();
    GlobalVariable *&Place = Known[Text];
    if (!Place)
      Place = make(Text);
    return Place;
  }

  /// `{ i32 0, i32 KMP_IDENT_KMPC, i32 0, i32 length, ptr text }`, as Clang makes it.
  GlobalVariable *make(StringRef Text) {
    LLVMContext &C = M.getContext();
    auto *String = constant(ConstantDataArray::getString(C, Text), Align(1));
    Type *Int = Type::getInt32Ty(C);
    StructType *Ident = StructType::getTypeByName(C, "struct.ident_t");
    SmallVector<Type *, 5> Fields{Int, Int, Int, Int, PointerType::getUnqual(C)};
    if (!Ident || Ident->isOpaque() || Ident->elements() != ArrayRef<Type *>(Fields))
      Ident = StructType::create(C, Fields, "struct.ident_t");
    auto Number = [&](uint64_t Value) { return ConstantInt::get(Int, Value); };
    Constant *Address = ConstantExpr::getPointerBitCastOrAddrSpaceCast(String, Fields.back());
    return constant(ConstantStruct::get(Ident, {Number(0), Number(2), Number(0), Number(Text.size()), Address}), Align(8));
  }

  GlobalVariable *constant(Constant *Value, Align Alignment) {
    auto *V = new GlobalVariable(M, Value->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage, Value, "", nullptr,
                                 GlobalValue::NotThreadLocal, M.getDataLayout().getDefaultGlobalsAddressSpace());
    V->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    V->setAlignment(Alignment);
    return V;
  }

  Module &M;
  StringMap<GlobalVariable *> Known;
};

} // namespace

extern "C" {

/// Gives each call of the runtime functions `callees` whose first argument is null the `ident_t` of its debug
/// location; if it has none, that of the function whose region id is among its arguments, of `functions` for
/// `regionIds`. Returns whether there was such a call.
bool offloom_ir_locate_calls(LLVMModuleRef M, const LLVMValueRef *callees, size_t count, const LLVMValueRef *regionIds,
                             const LLVMValueRef *functions, size_t regionCount) {
  Places Known(*unwrap(M));
  DenseMap<const Value *, const DISubprogram *> Regions;
  for (size_t I = 0; I != regionCount; ++I)
    if (const DISubprogram *Subprogram = unwrap<Function>(functions[I])->getSubprogram())
      Regions[unwrap(regionIds[I])] = Subprogram;
  bool Changed = false;
  for (size_t I = 0; I != count; ++I) {
    auto *Callee = unwrap<Function>(callees[I]);
    for (User *U : Callee->users()) {
      auto *Call = dyn_cast<CallBase>(U);
      if (!Call || Call->getCalledOperand() != Callee || Call->arg_empty() || !isa<ConstantPointerNull>(Call->getArgOperand(0)))
        continue;
      GlobalVariable *Place = nullptr;
      if (const DILocation *Location = Call->getDebugLoc().get())
        Place = Known.at(*Location);
      else
        for (Value *Argument : Call->args())
          if (const DISubprogram *Subprogram = Regions.lookup(Argument))
            Place = Known.at(*Subprogram);
      if (!Place)
        continue;
      Call->setArgOperand(0, ConstantExpr::getPointerBitCastOrAddrSpaceCast(Place, Call->getArgOperand(0)->getType()));
      Changed = true;
    }
  }
  return Changed;
}

/// Hands over the function's name as a person has it, and where debug info has it; line 0 where that is
/// nowhere.
void offloom_ir_describe_function(LLVMValueRef function, void *receiver,
                                  void (*take)(void *, const char *, size_t, const char *, size_t, uint32_t)) {
  const auto *F = unwrap<Function>(function);
  const std::string Name = demangle(F->getName().str());
  const DISubprogram *Subprogram = F->getSubprogram();
  const StringRef File = Subprogram ? Subprogram->getFilename() : StringRef();
  take(receiver, Name.data(), Name.size(), File.data(), File.size(), Subprogram ? Subprogram->getLine() : 0);
}

} // extern "C"
