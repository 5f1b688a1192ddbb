// The hidden piece that `wrapgen link --jit` adds to each executable and shared library: it loads the JIT
// library, if there is one, and hands it the bundle. Compiled when wrapgen is built.

#include "library.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef void AttachFunction(const void *bundle, size_t size);

// What is to be told that the images are registered; null: nobody. For all parts of a program that each hold
// this piece.
static RegisteredFunction *registered;

// As the library reads it (jit/cache/src/settings/values.rs).
static int is_off(const char *value) {
  return strcasecmp(value, "off") == 0 || strcmp(value, "0") == 0 || strcasecmp(value, "no") == 0 ||
         strcasecmp(value, "false") == 0;
}

// The variable by which the user asks for something that the library alone can give; null: none.
static const char *asked_of_library(void) {
  static const char *const names[] = {"OFFLOOM_JIT_LOG", "OFFLOOM_JIT_STATS", "OFFLOOM_JIT_DUMP_DIR"};
  for (size_t number = 0; number < sizeof names / sizeof *names; ++number) {
    const char *value = secure_getenv(names[number]);
    if (value && *value && !is_off(value))
      return names[number];
  }
  return NULL;
}

HIDDEN_PIECE void __offloom_jit_attach(const void *bundle_start, const void *bundle_end) {
  const char *mode = secure_getenv("OFFLOOM_JIT");
  if (mode && is_off(mode))
    return;
  void *library = find_library();
  if (!library) {
    // Without one, a program is as it would be without the JIT. That is said to who expects something of it.
    const char *problem = dlerror();
    const char *asked = asked_of_library();
    if (!problem)
      problem = "it is not to be found";
    if (chosen_library())
      fprintf(stderr, "offloom-jit: OFFLOOM_JIT_LIBRARY cannot be loaded: %s: kernels stay ahead of time\n", problem);
    else if (asked)
      fprintf(stderr,
              "offloom-jit: %s does nothing: there is no liboffloom_jit.so (%s): kernels stay ahead of time; OFFLOOM_JIT_LIBRARY "
              "names it "
              "where it is elsewhere\n",
              asked, problem);
    return;
  }
  AttachFunction *attach = (AttachFunction *)dlsym(library, "offloom_jit_attach");
  if (!attach && chosen_library())
    fprintf(stderr, "offloom-jit: OFFLOOM_JIT_LIBRARY names a file that is no liboffloom_jit.so: kernels stay ahead of time\n");
  if (!attach)
    return;
  attach(bundle_start, (size_t)((const char *)bundle_end - (const char *)bundle_start));
  registered = find_registered(library);
}

// Behind the constructor that registers the images (support/abi/src/device_image.rs, `REGISTER_PRIORITY`),
// before all of the program but those that ask for the same place.
__attribute__((constructor(102))) static void tell_of_registration(void) {
  if (registered)
    registered((const void *)&registered);
}
