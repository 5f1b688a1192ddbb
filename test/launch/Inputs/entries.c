// The offload entries of the kernels in kernels.c, with their image; with -DNO_ENTRIES only the image.
#include "hand_made.h"

#ifndef NO_ENTRIES
ENTRY(saxpy)
ENTRY(values)
ENTRY(map_types)
ENTRY(increment)
ENTRY(count_launches)
ENTRY(many)
ENTRY(double_table)
LINK_ENTRY(table)
#endif
