// Exercises: declare target functions called through pointers and a constant table, in C.
#include <stdio.h>

#pragma omp begin declare target
typedef int (*operation)(int, int);

static int add(int a, int b) { return a + b; }
static int subtract(int a, int b) { return a - b; }
int multiply(int a, int b) { return a * b; }

static const operation operations[] = {add, subtract, multiply};
operation current = subtract;

int apply(operation f, int a, int b) { return f(a, b); }
#pragma omp end declare target

int main(void) {
  int results[5] = {0};
#pragma omp target map(tofrom : results)
  {
    for (int i = 0; i < 3; ++i)
      results[i] = operations[i](20, 6);
    results[3] = apply(current, 1, 2);
    current = results[3] < 0 ? multiply : add;
    results[4] = apply(current, 7, 8);
  }
  for (int i = 0; i < 5; ++i)
    printf("%d\n", results[i]);
  return results[0] == 26 && results[1] == 14 && results[2] == 120 && results[3] == -1 &&
                 results[4] == 56
             ? 0
             : 1;
}
