// The offload entries of the kernels in kernels.c, with their image.
#include "hand_made.h"

ENTRY(saxpy)
ENTRY(values)
ENTRY(map_types)
ENTRY(increment)
ENTRY(count_launches)
ENTRY(many)
