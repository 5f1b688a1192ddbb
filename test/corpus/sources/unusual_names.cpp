// Exercises: symbol names with letters outside ASCII, dollar signs, digits and underscores that look
// like the kernel naming scheme, very long names, and operators as parents of regions.
#include <cstdio>

#pragma omp begin declare target
int größe = 4;
int price$ = 30;
int __omp_offload_like_l5_1 = 500;
struct a_l12 {
  static int _l7;
};
int a_l12::_l7 = 7000;
#pragma omp end declare target

int kernel_l19(int x) {
#pragma omp target map(tofrom : x)
  x += größe;
  return x;
}
int kernel_l19_1(int x) {
#pragma omp target map(tofrom : x)
  x += price$ + __omp_offload_like_l5_1;
  return x;
}
namespace a_namespace_with_a_name_that_goes_on_for_a_while {
template <typename first_parameter, typename second_parameter, int third_parameter>
first_parameter a_function_with_a_long_name(first_parameter x, second_parameter y) {
#pragma omp target map(tofrom : x)
  x += y + third_parameter;
  return x;
}
} // namespace a_namespace_with_a_name_that_goes_on_for_a_while

struct number {
  int n;
};
number operator<<(number a, int by) {
  int n = a.n;
#pragma omp target map(tofrom : n)
  n <<= by;
  return {n};
}
number operator,(number a, number b) {
  int n = 0;
#pragma omp target map(from : n)
  n = a.n * 10 + b.n;
  return {n};
}

int main() {
  using namespace a_namespace_with_a_name_that_goes_on_for_a_while;
  int a = kernel_l19(1), b = kernel_l19_1(1), c = a_function_with_a_long_name<int, long, 70>(1, 2L);
  number d = ((number{1} << 3), number{2});
  int e = 0;
#pragma omp target map(from : e)
  e = a_l12::_l7;
  std::printf("%d %d %d %d %d\n", a, b, c, d.n, e);
  return a == 5 && b == 531 && c == 73 && d.n == 82 && e == 7000 ? 0 : 1;
}
