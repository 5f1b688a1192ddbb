// Exercises: pointers to functions, to member functions and to data members, function references,
// lambdas turned into pointers, and a device global that keeps one between regions.
#include <cstdio>

#pragma omp begin declare target
using unary = int (*)(int);
int add_three(int x) { return x + 3; }
template <int N> int add(int x) { return x + N; }
inline int inline_minus(int x) { return -x; }

struct cell {
  int a = 1, b = 2;
  int sum(int x) { return a + b + x; }
  int product(int x) { return a * b * x; }
};

unary chosen = nullptr;
int call_twice(unary f, int x) { return f(f(x)); }
int call_reference(int (&f)(int), int x) { return f(x); }
#pragma omp end declare target

int main() {
  int results[7] = {0};
#pragma omp target map(from : results)
  {
    unary list[3] = {add_three, add<40>, inline_minus};
    results[0] = call_twice(list[0], 1);
    results[1] = call_twice(list[1], 1);
    results[2] = call_reference(inline_minus, 6);
    cell c;
    int (cell::*method)(int) = &cell::product;
    int cell::*member = &cell::b;
    results[3] = (c.*method)(21) + c.*member;
    method = &cell::sum;
    results[4] = (c.*method)(100);
    results[5] = call_twice([](int x) { return x * 5; }, 2);
    chosen = list[1];
  }
#pragma omp target map(tofrom : results)
  results[6] = chosen ? chosen(2) : -1;
  for (int result : results)
    std::printf("%d ", result);
  std::printf("\n");
  return results[0] == 7 && results[1] == 81 && results[2] == -6 && results[3] == 44 &&
                 results[4] == 103 && results[5] == 50 && results[6] == 42
             ? 0
             : 1;
}
