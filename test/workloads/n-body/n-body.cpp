// Gravity between all pairs of bodies, one body a thread: leapfrog steps of a kick and a drift. Known values
// unroll the loop over the other bodies, and make steps and strides constants.
// --size: bodies. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <utility>
#include <vector>

// A body is `words` floats: position, mass, and padding.
static void step(const float *now, float *next, float *velocity, int bodies, int words, float softening,
                 float time_step) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < bodies; ++i) {
    float x = now[i * words], y = now[i * words + 1], z = now[i * words + 2], ax = 0, ay = 0, az = 0;
    for (int j = 0; j < bodies; ++j) {
      float dx = now[j * words] - x, dy = now[j * words + 1] - y, dz = now[j * words + 2] - z;
      float square = dx * dx + dy * dy + dz * dz + softening;
      float pull = now[j * words + 3] / (square * sqrtf(square));
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    float vx = velocity[3 * i] + time_step * ax, vy = velocity[3 * i + 1] + time_step * ay,
          vz = velocity[3 * i + 2] + time_step * az;
    velocity[3 * i] = vx;
    velocity[3 * i + 1] = vy;
    velocity[3 * i + 2] = vz;
    next[i * words] = x + time_step * vx;
    next[i * words + 1] = y + time_step * vy;
    next[i * words + 2] = z + time_step * vz;
    next[i * words + 3] = now[i * words + 3];
  }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "n-body", 160, 4096);
  long words = workload_setting(&run, "words", 4, 4, 4);
  long steps = workload_setting(&run, "launches", 1, 4, 20);
  double softening = workload_real_setting(&run, "softening", 0.01);
  double time_step = workload_real_setting(&run, "time-step", 0.0005);
  workload_settings_end(&run);
  long bodies = run.size;
  if (bodies * words > INT32_MAX / 4) {
    fprintf(stderr, "n-body: too many bodies\n");
    return 2;
  }

  std::vector<float> one(bodies * words), other(bodies * words), speeds(3 * bodies);
  workload_fill_float(one.data(), one.size(), 1, -1, 1);
  workload_fill_float(speeds.data(), speeds.size(), 2, -0.1f, 0.1f);
  for (long i = 0; i < bodies; ++i)
    one[i * words + 3] = (float)((0.5 + workload_uniform(3, i)) / bodies);
  // Momentum is kept: each pair pulls alike. Drift and kick of one step also tie positions to velocities.
  double momentum[3] = {0, 0, 0};
  for (long i = 0; i < bodies; ++i)
    for (int axis = 0; axis < 3; ++axis)
      momentum[axis] += (double)one[i * words + 3] * speeds[3 * i + axis];
  float *now = one.data(), *next = other.data(), *velocity = speeds.data();
  std::vector<float> before;

  workload_timer timer = workload_timer_new("step");
#pragma omp target data map(tofrom : now[0 : bodies * words], next[0 : bodies * words])                           \
    map(tofrom : velocity[0 : 3 * bodies])
  for (long i = 0; i < steps; ++i) {
    if (i + 1 == steps) {
#pragma omp target update from(velocity[0 : 3 * bodies])
      before = speeds;
    }
    workload_timer_start(&timer);
    step(now, next, velocity, (int)bodies, (int)words, (float)softening, (float)time_step);
    workload_timer_stop(&timer);
    std::swap(now, next);
  }

  // `next` holds the state before the last step.
  workload_check kicks = workload_check_begin(&run, "kicks"), drifts = workload_check_begin(&run, "drifts");
  size_t stride = run.is_large ? bodies / 97 + 1 : 1; // each body takes all others
  for (long i = 0; i < bodies; i += stride)
    for (int axis = 0; axis < 3; ++axis) {
      double pull = 0;
      for (long j = 0; j < bodies; ++j) {
        double apart[3], square = (float)softening;
        for (int other_axis = 0; other_axis < 3; ++other_axis) {
          apart[other_axis] = (double)next[j * words + other_axis] - next[i * words + other_axis];
          square += apart[other_axis] * apart[other_axis];
        }
        pull += apart[axis] * next[j * words + 3] / (square * sqrt(square));
      }
      double kicked = before[3 * i + axis] + time_step * pull;
      workload_check_value(&kicks, 3 * i + axis, velocity[3 * i + axis], kicked, 1e-5, 1e-6);
      workload_check_value(&drifts, 3 * i + axis, now[i * words + axis],
                           next[i * words + axis] + time_step * velocity[3 * i + axis], 1e-6, 1e-7);
    }
  workload_check_end(&kicks);
  workload_check_end(&drifts);
  workload_check kept = workload_check_begin(&run, "momentum");
  for (int axis = 0; axis < 3; ++axis) {
    double sum = 0;
    for (long i = 0; i < bodies; ++i)
      sum += (double)now[i * words + 3] * velocity[3 * i + axis];
    workload_check_value(&kept, axis, sum, momentum[axis], 0, 1e-6);
  }
  workload_check_end(&kept);
  for (long i = 0; i < bodies; ++i) // what is padding was never written in one of the buffers
    for (long word = 4; word < words; ++word)
      now[i * words + word] = 0;
  workload_checksum("bodies", now, bodies * words * sizeof(float));
  workload_checksum("velocities", velocity, 3 * bodies * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
