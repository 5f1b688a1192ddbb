// Exercises: const, constexpr, extern const, static, volatile and reference globals that regions
// reach, with and without declare target.
#include <cstdio>

const int implicit_constant = 3;
constexpr double implicit_real = 0.125;
static const int implicit_table[4] = {2, 4, 6, 8};

#pragma omp begin declare target
const int plain = 30;
extern const int exported;
const int exported = 300;
static const short local_table[3] = {1, 2, 3};
constexpr int computed[3] = {plain, plain * 2, plain * 3};
static int mutable_static = 7;
volatile int unstable = 9;
const char *const words[2] = {"device", "host"};
const int *const pointer_to_constant = &exported;
int &alias = mutable_static;
void bump() { alias += 1; }
#pragma omp end declare target

static int length(const char *s) {
  int n = 0;
  while (s[n])
    ++n;
  return n;
}

int main() {
  int sum = 0, letters = 0;
  double real = 0;
#pragma omp target map(to : implicit_table) map(from : sum, letters, real)
  {
    sum = implicit_constant + plain + exported + *pointer_to_constant;
    for (int i = 0; i < 3; ++i)
      sum += implicit_table[i] * local_table[i] + computed[i];
    bump();
    unstable = unstable + 1;
    sum += mutable_static + unstable;
    real = implicit_real * 8;
    letters = length(words[0]) * 10 + length(words[1]);
  }
  std::printf("sum %d letters %d real %.2f\n", sum, letters, real);
  return sum == 859 && letters == 64 && real == 1.0 ? 0 : 1;
}
