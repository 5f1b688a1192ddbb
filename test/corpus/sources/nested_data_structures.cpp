// Exercises: arrays of structs, structs of arrays, pointers to pointers attached by hand, unions and
// nested members in map clauses.
#include <cstdio>

struct particle {
  float position[3];
  union {
    int charge;
    unsigned bits;
  };
};
struct system_of_particles {
  int count;
  particle *particles;
  struct {
    int steps;
    double history[4];
  } state;
};

int main() {
  particle storage[6];
  for (int i = 0; i < 6; ++i)
    storage[i] = {{0.5f * i, 1.0f, 2.0f}, {i - 3}};
  system_of_particles s = {6, storage, {0, {0}}};

#pragma omp target map(to : s.count) map(tofrom : s.particles[0 : s.count], s.state)
  for (int step = 0; step < 4; ++step) {
    double sum = 0;
    for (int i = 0; i < s.count; ++i) {
      s.particles[i].position[0] += 1;
      sum += s.particles[i].position[0] * s.particles[i].charge;
    }
    s.state.history[s.state.steps++] = sum;
  }

  int rows[3][4], *table[3] = {rows[0], rows[1], rows[2]};
#pragma omp target enter data map(alloc : rows)
#pragma omp target data map(to : table)
  {
    for (int i = 0; i < 3; ++i) {
      int *row = table[i];
#pragma omp target map(tofrom : row[0 : 4])
      for (int j = 0; j < 4; ++j)
        row[j] = i * 10 + j;
    }
  }
#pragma omp target exit data map(from : rows)
  std::printf("steps %d history %.1f %.1f charge %d position %.1f rows %d %d\n", s.state.steps,
              s.state.history[0], s.state.history[3], storage[5].charge, storage[5].position[0],
              rows[0][3], rows[2][1]);
  return s.state.steps == 4 && storage[5].position[0] == 6.5f && rows[2][1] == 21 ? 0 : 1;
}
