// What divisions by known numbers leave.

#pragma once

#include "llvm/ADT/APInt.h"
#include "llvm/IR/PatternMatch.h"
#include <optional>

namespace offloom {

/// What a division by a known number leaves, `x - x / c * c`, as LLVM writes it.
struct Rest {
  llvm::Value *Dividend, *Quotient;
  llvm::APInt Divisor;

  /// `dividend - quotient * factor`, if it is one.
  static std::optional<Rest> of(llvm::Value *Dividend, llvm::Value *Quotient, const llvm::APInt &Factor) {
    using namespace llvm::PatternMatch;
    const llvm::APInt *Divisor;
    if (!match(Quotient, m_IDiv(m_Specific(Dividend), m_StrictlyPositive(Divisor))) || Factor != *Divisor)
      return std::nullopt;
    return Rest{Dividend, Quotient, *Divisor};
  }

  /// A sum or a difference, if it is one. Of a sum of two products one is looked at.
  static std::optional<Rest> of(llvm::Value *V) {
    using namespace llvm::PatternMatch;
    llvm::Value *Dividend, *Quotient;
    const llvm::APInt *Factor;
    if (match(V, m_c_Add(m_c_Mul(m_Value(Quotient), m_APInt(Factor)), m_Value(Dividend))))
      return of(Dividend, Quotient, -*Factor);
    if (match(V, m_Sub(m_Value(Dividend), m_c_Mul(m_Value(Quotient), m_APInt(Factor)))))
      return of(Dividend, Quotient, *Factor);
    return std::nullopt;
  }
};

} // namespace offloom
