// Exercises: a region that captures many values of every size, so that the launch passes dozens of
// arguments, literals next to pointers, and a struct mapped member by member.
#include <cstdio>

struct wide {
  char a;
  short b;
  int c;
  long d;
  float e;
  double f;
  int *g;
};

int main() {
  char c0 = 1, c1 = -2;
  unsigned char u0 = 255;
  short s0 = 3, s1 = -4;
  int i0 = 5, i1 = -6, i2 = 7, i3 = 8, i4 = 9;
  unsigned u1 = 4000000000u;
  long l0 = 1L << 40, l1 = -(1L << 41);
  float f0 = 0.5f, f1 = -0.25f;
  double d0 = 2.5, d1 = -8.0;
  bool b0 = true, b1 = false;
  int x[2] = {1, 2}, y[3] = {3, 4, 5}, z[4] = {6, 7, 8, 9};
  wide w = {1, 2, 3, 4, 5, 6, x};
  long whole = 0;
  double real = 0;

#pragma omp target map(tofrom : whole, real) map(to : w.a, w.b, w.c) map(tofrom : w.d, w.f)        \
    map(tofrom : x, y) map(to : z)
  {
    whole = c0 + c1 + u0 + s0 + s1 + i0 + i1 + i2 + i3 + i4 + static_cast<long>(u1) + l0 + l1 + b0 +
            b1;
    real = f0 + f1 + d0 + d1;
    for (int i = 0; i < 2; ++i)
      x[i] += y[i] + z[i];
    y[2] = w.a + w.b + w.c;
    w.d += 100;
    w.f *= 2;
  }
  std::printf("whole %ld real %.2f x %d %d y %d w %ld %.1f\n", whole, real, x[0], x[1], y[2], w.d,
              w.f);
  return (real == -5.25 && x[0] == 10 && x[1] == 13 && y[2] == 6 &&
                                          w.d == 104 && w.f == 12.0)
             ? 0
             : 1;
}
