// Acoustic waves in a box: second order in time, run-time order in space. Each thread takes its flat index
// apart by run-time extents; the stencil's radius and coefficients come at run time. Known values remove the
// divisions and unroll the stencil.
// --size: cells along each axis. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <utility>
#include <vector>

// One step: next = 2*now - before + speed^2 * dt^2 * laplacian(now), zero outside the inner cells.
static void step(const float *now, const float *before, float *next, const float *coefficient, const float *speed,
                 int nx, int ny, int nz, int radius, float time_step, float inverse_x2, float inverse_y2,
                 float inverse_z2) {
  int cells = nx * ny * nz, row = nx, plane = nx * ny;
#pragma omp target teams distribute parallel for
  for (int i = 0; i < cells; ++i) {
    int x = i % nx, y = i / nx % ny, z = i / nx / ny;
    if (x < radius || x >= nx - radius || y < radius || y >= ny - radius || z < radius || z >= nz - radius)
      continue;
    float along_x = coefficient[0] * now[i], along_y = along_x, along_z = along_x;
    for (int r = 1; r <= radius; ++r) {
      along_x += coefficient[r] * (now[i - r] + now[i + r]);
      along_y += coefficient[r] * (now[i - r * row] + now[i + r * row]);
      along_z += coefficient[r] * (now[i - r * plane] + now[i + r * plane]);
    }
    float laplacian = along_x * inverse_x2 + along_y * inverse_y2 + along_z * inverse_z2;
    float reach = speed[i] * time_step;
    next[i] = 2.0f * now[i] - before[i] + reach * reach * laplacian;
  }
}

// Coefficients of the central second difference of order 2*radius.
static std::vector<float> second_difference(int radius) {
  std::vector<float> result(radius + 1);
  double centre = 0;
  for (int r = 1; r <= radius; ++r) {
    double value = 2.0 / ((double)r * r);
    for (int other = 1; other <= radius; ++other)
      if (other != r)
        value *= (double)other * other / ((double)other * other - (double)r * r);
    result[r] = (float)value;
    centre -= 2 * value;
  }
  result[0] = (float)centre;
  return result;
}

struct box {
  long nx, ny, nz, radius;
  double time_step, inverse_x2, inverse_y2, inverse_z2;
};

// The value of one cell after a step, in double.
static double stepped(const float *now, const float *before, const float *coefficient, const float *speed,
                      const box &b, long x, long y, long z) {
  auto at = [&](long dx, long dy, long dz) { return (double)now[((z + dz) * b.ny + y + dy) * b.nx + x + dx]; };
  double laplacian = 0;
  for (long r = -b.radius; r <= b.radius; ++r)
    laplacian += coefficient[r < 0 ? -r : r] *
                 (at(r, 0, 0) * b.inverse_x2 + at(0, r, 0) * b.inverse_y2 + at(0, 0, r) * b.inverse_z2);
  double reach = speed[(z * b.ny + y) * b.nx + x] * b.time_step;
  return 2 * at(0, 0, 0) - before[(z * b.ny + y) * b.nx + x] + reach * reach * laplacian;
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "wave", 24, 160);
  box b;
  b.nx = workload_setting(&run, "nx", 1, run.size, run.size);
  b.ny = workload_setting(&run, "ny", 1, run.size, run.size);
  b.nz = workload_setting(&run, "nz", 1, run.size, run.size);
  b.radius = workload_setting(&run, "radius", 1, 4, 4);
  long steps = workload_setting(&run, "steps", 1, 10, 40);
  b.time_step = workload_real_setting(&run, "time-step", 0.0005);
  double spacing = workload_real_setting(&run, "spacing", 5);
  workload_settings_end(&run);
  long cells = b.nx * b.ny * b.nz;
  if (cells > INT32_MAX || b.nx <= 2 * b.radius || b.ny <= 2 * b.radius || b.nz <= 2 * b.radius) {
    fprintf(stderr, "wave: no box of these extents\n");
    return 2;
  }
  b.inverse_x2 = b.inverse_y2 = b.inverse_z2 = (float)(1 / (spacing * spacing));

  std::vector<float> coefficients = second_difference((int)b.radius), speeds(cells);
  std::vector<float> buffers[3] = {std::vector<float>(cells, 0.0f), std::vector<float>(cells, 0.0f),
                                   std::vector<float>(cells, 0.0f)};
  workload_fill_float(speeds.data(), speeds.size(), 1, 1500, 3500);
  for (long i = 0; i < cells; ++i) { // a smooth bump at rest in the middle
    double dx = (i % b.nx) - b.nx * 0.5, dy = (i / b.nx % b.ny) - b.ny * 0.5, dz = (i / b.nx / b.ny) - b.nz * 0.5;
    double shape = 1 - (dx * dx + dy * dy + dz * dz) / 36;
    buffers[0][i] = buffers[1][i] = shape > 0 ? (float)(shape * shape) : 0.0f;
  }
  std::vector<float> first = buffers[0], second = buffers[1]; // for the reference
  float *coefficient = coefficients.data(), *speed = speeds.data();
  float *before = buffers[0].data(), *now = buffers[1].data(), *next = buffers[2].data();

  workload_timer timer = workload_timer_new("step");
#pragma omp target data map(to : coefficient[0 : b.radius + 1], speed[0 : cells])                                 \
    map(tofrom : before[0 : cells], now[0 : cells], next[0 : cells])
  for (long i = 0; i < steps; ++i) {
    workload_timer_start(&timer);
    step(now, before, next, coefficient, speed, (int)b.nx, (int)b.ny, (int)b.nz, (int)b.radius, (float)b.time_step,
         (float)b.inverse_x2, (float)b.inverse_y2, (float)b.inverse_z2);
    workload_timer_stop(&timer);
    float *oldest = before;
    before = now;
    now = next;
    next = oldest;
  }

  // `next` still holds the state before `before`: the last step is checked cell by cell.
  workload_check check = workload_check_begin(&run, "last-step");
  size_t stride = workload_check_stride(&run, cells);
  double largest = 0;
  for (long i = 0; i < cells; ++i)
    largest = fmax(largest, fabs((double)now[i]));
  for (long i = 0; i < cells; i += stride) {
    long x = i % b.nx, y = i / b.nx % b.ny, z = i / b.nx / b.ny;
    bool inner = x >= b.radius && x < b.nx - b.radius && y >= b.radius && y < b.ny - b.radius && z >= b.radius &&
                 z < b.nz - b.radius;
    double want = inner ? stepped(before, next, coefficient, speed, b, x, y, z) : now[i];
    workload_check_value(&check, i, now[i], want, 1e-5, 1e-6);
  }
  workload_check_end(&check);
  if (!run.is_large) {
    workload_check whole = workload_check_begin(&run, "all-steps");
    for (long i = 0; i < steps; ++i) {
      for (long z = b.radius; z < b.nz - b.radius; ++z)
        for (long y = b.radius; y < b.ny - b.radius; ++y)
          for (long x = b.radius; x < b.nx - b.radius; ++x)
            first[(z * b.ny + y) * b.nx + x] =
                (float)stepped(second.data(), first.data(), coefficient, speed, b, x, y, z);
      first.swap(second); // a cell's oldest value is read by that cell alone
    }
    for (long i = 0; i < cells; ++i)
      workload_check_value(&whole, i, now[i], second[i], 0, 1e-5 * steps);
    workload_check_end(&whole);
  }
  workload_check_that(&run, "waves-stay-bounded", largest > 0 && largest < 2);
  workload_checksum("field", now, cells * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
