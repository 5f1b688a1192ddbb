// Exercises: the second unit of the template kernels; it comes after and before main's in a link.
#include "kernels.h"

int from_other_unit() {
  int whole[3] = {1, 2, 3};
  float real[2] = {3.0f, 4.0f};
  int sum = scaled_sum(whole, 3, 1) + static_cast<int>(scaled_sum(real, 2, 1.0f));
  filter<int, 2> f = {{0, 1}};
  f.apply(whole, 3);
  if (whole[0] != 2)
    return -1;
  return sum + use<int>();
}
