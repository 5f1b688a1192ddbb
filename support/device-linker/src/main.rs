//! `wrapgen-lld`: LLVM's linker for device images of native objects. The program itself is `linker.cpp`: lld
//! is a C++ library.
#![no_main]
