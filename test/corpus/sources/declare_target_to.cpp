// Exercises: declare target to(...) for scalars, arrays, structs, functions, after and before their
// definition, with target update both ways.
#include <cstdio>

struct settings {
  int depth;
  char name[8];
  double ratio[2];
};

extern int declared_first;
#pragma omp declare target to(declared_first)
int declared_first = 11;

int counter = 1;
double table[3][4] = {{1, 2}, {3, 4, 5}};
settings config = {3, "abc", {0.5, 0.25}};
unsigned char zeroed[1000];
#pragma omp declare target to(counter, table) to(config, zeroed)

int helper(int x);
#pragma omp declare target(helper)
int helper(int x) { return x * declared_first; }

int main() {
#pragma omp target
  {
    counter += helper(2);
    table[2][3] = table[0][1] + table[1][2];
    config.name[0] = 'z';
    config.ratio[1] *= 8;
    for (int i = 0; i < 1000; ++i)
      zeroed[i] = static_cast<unsigned char>(i);
  }
#pragma omp target update from(counter, table, config, zeroed)
  std::printf("counter %d table %.1f config %s %.2f zeroed %d\n", counter, table[2][3], config.name,
              config.ratio[1], zeroed[999]);
  bool good = counter == 23 && table[2][3] == 7.0 && zeroed[999] == 231 && config.name[0] == 'z';

  counter = 1000;
  declared_first = 5;
#pragma omp target update to(counter, declared_first)
#pragma omp target
  counter += helper(1);
#pragma omp target update from(counter)
  std::printf("counter %d\n", counter);
  return good && counter == 1005 ? 0 : 1;
}
