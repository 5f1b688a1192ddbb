// Exercises: the same template kernels instantiated in two units (weak, one kernel, two entries)
// and static members of class templates that both units share on the device.
#include "kernels.h"
#include <cstdio>

int main() {
  int whole[6] = {1, 2, 3, 4, 5, 6};
  double real[3] = {0.5, 1.5, 2.0};
  int a = scaled_sum(whole, 6, 2);
  double b = scaled_sum(real, 3, 4.0);
  filter<int, 2> f = {{1, -1}};
  f.apply(whole, 6);
  int other = from_other_unit();
  int seen = use<int>(), fresh = use<long>();
  std::printf("%d %.1f %d %d %d %d\n", a, b, whole[0], other, seen, fresh);
  return a == 42 && b == 16.0 && whole[0] == -1 && other == 6 + 7 + 1 && seen == 2 && fresh == 1
             ? 0
             : 1;
}
