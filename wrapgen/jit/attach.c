// The hidden piece that `wrapgen link --jit` adds to each executable and shared library: it loads the JIT library, if there
// is one, and hands it the bundle. Compiled when wrapgen is built.

#include "library.h"

#include <stdio.h>
#include <string.h>

typedef void AttachFunction(const void *bundle, size_t size);

HIDDEN_PIECE void __offloom_jit_attach(const void *bundle_start, const void *bundle_end) {
  const char *mode = secure_getenv("OFFLOOM_JIT");
  if (mode && strcmp(mode, "off") == 0)
    return;
  void *library = find_library();
  if (!library) {
    // Without one that was asked for, a program is as it would be without the JIT.
    const char *problem = chosen_library() ? dlerror() : NULL;
    if (problem)
      fprintf(stderr, "offloom-jit: OFFLOOM_JIT_LIBRARY cannot be loaded: %s: kernels stay ahead of time\n", problem);
    return;
  }
  AttachFunction *attach = (AttachFunction *)dlsym(library, "offloom_jit_attach");
  if (!attach && chosen_library())
    fprintf(stderr, "offloom-jit: OFFLOOM_JIT_LIBRARY names a file that is no liboffloom_jit.so: kernels stay ahead of time\n");
  if (attach)
    attach(bundle_start, (size_t)((const char *)bundle_end - (const char *)bundle_start));
}
