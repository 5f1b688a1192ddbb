// The hidden piece that `wrapgen link --jit=only` adds to each executable and shared library: it registers
// the images that the JIT library makes of the bitcode. Compiled when wrapgen is built.

#include "library.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// `__tgt_device_image` of libomptarget.
struct Image {
  const char *start, *end;
  const void *entries_begin, *entries_end;
};

// `__tgt_bin_desc` of libomptarget.
struct Descriptor {
  int32_t image_count;
  const struct Image *images;
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

// A descriptor without the images that only the JIT library can use. It lasts as long as the program, since
// libomptarget knows images by where their records lie.
struct WithoutBitcode {
  struct WithoutBitcode *next;
  const struct Descriptor *given;
  struct Descriptor descriptor;
  struct Image images[];
};

static struct WithoutBitcode *made_without_bitcode;

// With or without the header by which bitcode for GPUs comes with what its images are made of besides
// (support/abi/src/jit_gpu_code.rs).
static int is_bitcode(const struct Image *image) {
  return image->end - image->start >= 4 &&
         (memcmp(image->start, "BC\xc0\xde", 4) == 0 || memcmp(image->start, "\xde\xc0\x17\x0b", 4) == 0);
}

// libomptarget without an image does as it does with images that fit no device: regions run on the host, or
// end the program where offloading is mandatory. Images for other devices stay.
static const struct Descriptor *without_bitcode(const struct Descriptor *given) {
  for (struct WithoutBitcode *made = made_without_bitcode; made; made = made->next)
    if (made->given == given)
      return &made->descriptor;
  struct WithoutBitcode *made = malloc(sizeof *made + (size_t)given->image_count * sizeof *made->images);
  if (!made)
    return given;
  made->next = made_without_bitcode;
  made->given = given;
  made->descriptor = *given;
  made->descriptor.images = made->images;
  made->descriptor.image_count = 0;
  for (int32_t number = 0; number < given->image_count; ++number)
    if (!is_bitcode(&given->images[number]))
      made->images[made->descriptor.image_count++] = given->images[number];
  made_without_bitcode = made;
  return &made->descriptor;
}

HIDDEN_PIECE void __offloom_jit_register(const struct Descriptor *descriptor) {
  library = find_library();
  const char *problem = library ? NULL : dlerror();
  DescriptorFunction *replace = find_function(library, "offloom_jit_replace_images");
  if (!replace)
    fprintf(stderr,
            "offloom-jit: %s was linked with --jit=only and holds device code that is of no use without liboffloom_jit.so (%s); "
            "OFFLOOM_JIT_LIBRARY names it where it is elsewhere\n",
            program_invocation_short_name, problem ? problem : "the one that was found is of another version");
  const struct Descriptor *made = replace ? replace(descriptor) : NULL;
  __tgt_register_lib(made ? made : without_bitcode(descriptor));
  RegisteredFunction *registered = made ? find_registered(library) : NULL;
  if (registered)
    registered(descriptor);
}

HIDDEN_PIECE void __offloom_jit_unregister(const struct Descriptor *descriptor) {
  DescriptorFunction *forget = find_function(library, "offloom_jit_forget_images");
  const struct Descriptor *made = forget ? forget(descriptor) : NULL;
  __tgt_unregister_lib(made ? made : without_bitcode(descriptor));
}
