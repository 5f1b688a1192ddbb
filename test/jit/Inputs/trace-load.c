// A library in the place of liboffloom_jit.so: leaves a file where it was loaded.
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void) {
  const char *name = getenv("TRACE_LOAD");
  FILE *file = name ? fopen(name, "w") : NULL;
  if (file)
    fclose(file);
}
