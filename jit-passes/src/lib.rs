//! The passes behind the JIT: dispatch stubs, variants, specialisation.
