// The hidden piece that `wrapgen link --jit` adds to each executable and shared library: it loads the JIT library, if there
// is one, and hands it the bundle. Compiled when wrapgen is built; linked into programs, so it needs nothing but libc.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Weak, so that two relocatable objects that each hold this piece can be linked together.
#define HIDDEN_PIECE __attribute__((weak, visibility("hidden")))

// Where the link found the library; empty: nowhere. Defined beside this object by the link.
extern const char __offloom_jit_library[] HIDDEN_PIECE;

typedef void AttachFunction(const void *bundle, size_t size);

static void *open_library(const char *name) {
  // Global, so that device images loaded later see the function they announce themselves to. Never unloaded: images keep
  // pointers into it.
  return dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

static void *find_library(void) {
  // Not looked at in a program with more rights than its user.
  const char *chosen = secure_getenv("OFFLOOM_JIT_LIBRARY");
  if (chosen && *chosen)
    return open_library(chosen);
  void *library = NULL;
  if (__offloom_jit_library && *__offloom_jit_library)
    library = open_library(__offloom_jit_library);
  return library ? library : open_library("liboffloom_jit.so");
}

HIDDEN_PIECE void __offloom_jit_attach(const void *bundle_start, const void *bundle_end) {
  const char *mode = getenv("OFFLOOM_JIT");
  if (mode && strcmp(mode, "off") == 0)
    return;
  void *library = find_library();
  if (!library)
    return;
  AttachFunction *attach = (AttachFunction *)dlsym(library, "offloom_jit_attach");
  if (attach)
    attach(bundle_start, (size_t)((const char *)bundle_end - (const char *)bundle_start));
}
