// The hidden piece that `wrapgen link --jit=only` adds to each executable and shared library: it registers the images that the JIT
// library makes of the bitcode. Compiled when wrapgen is built.

#include "library.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

// `__tgt_bin_desc` of libomptarget.
struct Descriptor {
  int32_t image_count;
  const void *images;
  const void *entries_begin;
  const void *entries_end;
};

typedef const struct Descriptor *DescriptorFunction(const struct Descriptor *);

void __tgt_register_lib(const struct Descriptor *descriptor);
void __tgt_unregister_lib(const struct Descriptor *descriptor);

static DescriptorFunction *find_function(void *library, const char *name) {
  return library ? (DescriptorFunction *)dlsym(library, name) : NULL;
}

// The library as it was found when this program or library was registered.
static void *library;

// libomptarget without an image does as it does with images that fit no device: regions run on the host, or end the program where
// offloading is mandatory.
static struct Descriptor without_images(const struct Descriptor *descriptor) {
  struct Descriptor copy = *descriptor;
  copy.image_count = 0;
  return copy;
}

HIDDEN_PIECE void __offloom_jit_register(const struct Descriptor *descriptor) {
  library = find_library();
  const char *problem = library ? NULL : dlerror();
  DescriptorFunction *replace = find_function(library, "offloom_jit_replace_images");
  if (!replace)
    fprintf(stderr,
            "offloom-jit: %s was linked with --jit=only and has no device code without liboffloom_jit.so (%s); "
            "OFFLOOM_JIT_LIBRARY names it where it is elsewhere\n",
            program_invocation_short_name, problem ? problem : "the one that was found is of another version");
  const struct Descriptor *made = replace ? replace(descriptor) : NULL;
  struct Descriptor none = without_images(descriptor);
  __tgt_register_lib(made ? made : &none);
}

HIDDEN_PIECE void __offloom_jit_unregister(const struct Descriptor *descriptor) {
  DescriptorFunction *forget = find_function(library, "offloom_jit_forget_images");
  const struct Descriptor *made = forget ? forget(descriptor) : NULL;
  struct Descriptor none = without_images(descriptor);
  __tgt_unregister_lib(made ? made : &none);
}
