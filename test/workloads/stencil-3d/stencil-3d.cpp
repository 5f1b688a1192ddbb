// Jacobi sweeps of a star-shaped stencil over a box, one cell a thread. Extents, pitches and radius come at
// run time. Known values remove the divisions that take a thread's index apart, and unroll the stencil.
// --size: cells along each axis. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

static void sweep(const double *in, double *out, int nx, int ny, int nz, int radius, long row, long plane,
                  double centre, double side) {
#pragma omp target teams distribute parallel for collapse(3)
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x) {
        const double *at = in + (z + radius) * plane + (y + radius) * row + x + radius;
        double sum = 0;
        for (int r = 1; r <= radius; ++r) {
          sum += at[-r] + at[r];
          sum += at[-r * row] + at[r * row];
          sum += at[-r * plane] + at[r * plane];
        }
        out[at - in] = centre * at[0] + side * sum;
      }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "stencil-3d", 16, 128);
  long nx = workload_setting(&run, "nx", 1, run.size, run.size);
  long ny = workload_setting(&run, "ny", 1, run.size, run.size);
  long nz = workload_setting(&run, "nz", 1, run.size, run.size);
  long radius = workload_setting(&run, "radius", 1, 2, 2);
  long sweeps = workload_setting(&run, "launches", 1, 6, 200);
  double centre = workload_real_setting(&run, "centre", 0.4);
  workload_settings_end(&run);
  long row = nx + 2 * radius, plane = row * (ny + 2 * radius), cells = plane * (nz + 2 * radius);
  if (nx > 4096 || ny > 4096 || nz > 4096 || radius > 64) {
    fprintf(stderr, "stencil-3d: no box of these extents\n");
    return 2;
  }
  double side = (1 - centre) / (6.0 * (double)radius);

  // The margin is the same in both buffers, and no sweep writes it.
  std::vector<double> one(cells), other;
  workload_fill(one.data(), one.size(), 1, -1, 1);
  other = one;
  double *in = one.data(), *out = other.data();

  workload_timer timer = workload_timer_new("sweep");
#pragma omp target data map(tofrom : in[0 : cells], out[0 : cells])
  for (long i = 0; i < sweeps; ++i) {
    workload_timer_start(&timer);
    sweep(in, out, (int)nx, (int)ny, (int)nz, (int)radius, row, plane, centre, side);
    workload_timer_stop(&timer);
    double *last = in;
    in = out;
    out = last;
  }

  // `out` holds the state before the last sweep.
  workload_check check = workload_check_begin(&run, "last-sweep");
  size_t step = workload_check_stride(&run, nx * ny * nz);
  double largest = 0;
  for (long i = 0; i < nx * ny * nz; i += step) {
    long x = i % nx, y = i / nx % ny, z = i / nx / ny;
    long at = (z + radius) * plane + (y + radius) * row + x + radius;
    long double sum = 0;
    for (long r = 1; r <= radius; ++r)
      for (long stride : {1L, row, plane})
        sum += (long double)out[at - r * stride] + out[at + r * stride];
    double want = (double)(centre * (long double)out[at] + side * sum);
    workload_check_value(&check, at, in[at], want, 1e-13, 1e-14);
    largest = fmax(largest, fabs(in[at]));
  }
  workload_check_end(&check);
  // Each sweep takes a mean with weights that add up to 1.
  workload_check_that(&run, "means-stay-between", largest > 0 && largest <= 1);
  workload_checksum("cells", in, cells * sizeof(double));
  workload_timer_end(&timer);
  return workload_end(&run);
}
