// Has a library add numbers on the device.
#include <cstdio>

extern "C" int number();
double sum_to(int n);

int main() {
  double sum = sum_to(number());
  std::printf("sum %g\n", sum);
  return sum == 500500 ? 0 : 1;
}
