// Smooths a wave 400 times with a filter of run-time width, and compares what is left of it with theory.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void smooth(const double *in, double *out, int count, int radius) {
#pragma omp target teams distribute parallel for
  for (int i = radius; i < count - radius; ++i) {
    double sum = 0;
    for (int k = -radius; k <= radius; ++k)
      sum += in[i + k];
    out[i] = sum / (2 * radius + 1);
  }
}

int main(int argc, char **argv) {
  int count = 100000, steps = 400, radius = argc > 1 ? std::atoi(argv[1]) : 2, width = 2 * radius + 1;
  double angle = 2 * M_PI / 1000;
  std::vector<double> a(count), b(count);
  for (int i = 0; i < count; ++i)
    a[i] = b[i] = std::cos(angle * (i - count / 2));
  double *in = a.data(), *out = b.data();
  auto start = std::chrono::steady_clock::now();
#pragma omp target data map(tofrom : in[0 : count], out[0 : count])
  for (int step = 0; step < steps; ++step) {
    smooth(in, out, count, radius);
    double *other = in;
    in = out, out = other;
  }
  std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  double left = std::pow(std::sin(width * angle / 2) / (width * std::sin(angle / 2)), steps);
  std::printf("height %.6f, by theory %.6f; %.0f us a step\n", a[count / 2], left, time.count() / steps);
}
