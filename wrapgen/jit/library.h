// How the hidden pieces of programs find the JIT library. They are linked into programs, so they need nothing
// but libc.

#ifndef OFFLOOM_JIT_LIBRARY_H
#define OFFLOOM_JIT_LIBRARY_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// Weak, so that two relocatable objects that each hold this piece can be linked together.
#define HIDDEN_PIECE __attribute__((weak, visibility("hidden")))

// Where the link found the library; empty: nowhere. Defined beside this object by the link.
extern const char __offloom_jit_library[] HIDDEN_PIECE;

static void *open_library(const char *name) {
  // Global, so that device images loaded later see the function they announce themselves to. Never unloaded:
  // images keep pointers into it.
  return dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

// What the user has chosen in its place; null: nothing. Not looked at in a program with more rights than its
// user.
static const char *chosen_library(void) {
  const char *chosen = secure_getenv("OFFLOOM_JIT_LIBRARY");
  return chosen && *chosen ? chosen : NULL;
}

// Null: none, and `dlerror` says why. Only what was chosen, if anything was.
static void *find_library(void) {
  const char *chosen = chosen_library();
  if (chosen)
    return open_library(chosen);
  void *library = NULL;
  if (__offloom_jit_library && *__offloom_jit_library)
    library = open_library(__offloom_jit_library);
  return library ? library : open_library("liboffloom_jit.so");
}

// `offloom_jit_registered` of the library: is told that an executable or library in which an address lies has
// registered its images.
typedef void RegisteredFunction(const void *inside);

static RegisteredFunction *find_registered(void *library) {
  return (RegisteredFunction *)dlsym(library, "offloom_jit_registered");
}

#endif
