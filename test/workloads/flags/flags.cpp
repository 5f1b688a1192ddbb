// The matrix of forces between two sets of points, by an inner loop full of switches that never change: which
// terms count, whether distances wrap around, whether a force is weighted and clamped. Known switches leave one
// short loop that vectorises.
// --size: points of the first set. Results: equal bits unless the device fuses multiply and add or computes
// exp by other code.
#include "workload.h"

#include <algorithm>
#include <cmath>
#include <vector>

struct options {
  int attraction, repulsion, screening, wrapped, weighted, clamped;
  float period, softening, decay, limit;
};

static void forces(const float *position, const float *centre, const float *weight, float *force, int points,
                   int centres, const options &chosen) {
  int attraction = chosen.attraction, repulsion = chosen.repulsion, screening = chosen.screening;
  int wrapped = chosen.wrapped, weighted = chosen.weighted, clamped = chosen.clamped;
  float period = chosen.period, softening = chosen.softening, decay = chosen.decay, limit = chosen.limit;
#pragma omp target teams distribute parallel for
  for (int i = 0; i < points; ++i)
    for (int j = 0; j < centres; ++j) {
      float difference = position[i] - centre[j];
      if (wrapped)
        difference -= period * std::floor(difference / period + 0.5f);
      float square = difference * difference + softening, inverse = 1.0f / square, value = 0;
      if (attraction)
        value += inverse;
      if (repulsion)
        value -= inverse * inverse * inverse;
      if (screening)
        value *= std::exp(-decay * std::sqrt(square));
      if (weighted)
        value *= weight[j];
      if (clamped)
        value = value > limit ? limit : value < -limit ? -limit : value;
      force[(long)i * centres + j] = value;
    }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "flags", 200, 1000);
  options chosen;
  chosen.attraction = (int)workload_setting(&run, "attraction", 0, 1, 1);
  chosen.repulsion = (int)workload_setting(&run, "repulsion", 0, 0, 0);
  chosen.screening = (int)workload_setting(&run, "screening", 0, 0, 0);
  chosen.wrapped = (int)workload_setting(&run, "wrapped", 0, 0, 0);
  chosen.weighted = (int)workload_setting(&run, "weighted", 0, 1, 1);
  chosen.clamped = (int)workload_setting(&run, "clamped", 0, 1, 1);
  int centres = (int)workload_setting(&run, "centres", 1, 100, 400);
  long launches = workload_setting(&run, "launches", 1, 5, 3000);
  chosen.period = (float)workload_real_setting(&run, "period", 1);
  chosen.softening = (float)workload_real_setting(&run, "softening", 0.0625);
  chosen.decay = (float)workload_real_setting(&run, "decay", 0.5);
  chosen.limit = (float)workload_real_setting(&run, "limit", 10);
  workload_settings_end(&run);
  if (run.size > INT32_MAX || chosen.period <= 0 || chosen.softening <= 0) {
    fprintf(stderr, "flags: int points, a positive period and softening\n");
    return 2;
  }

  size_t points = (size_t)run.size, pairs = points * centres;
  std::vector<float> positions(points), places(centres), weights(centres), results(pairs, 0.0f);
  workload_fill_float(positions.data(), positions.size(), 1, -1, 1);
  workload_fill_float(places.data(), places.size(), 2, -1, 1);
  workload_fill_float(weights.data(), weights.size(), 3, 0.5, 1.5);
  float *position = positions.data(), *centre = places.data(), *weight = weights.data(), *force = results.data();

  workload_timer timer = workload_timer_new("forces");
#pragma omp target data map(to : position[0 : points], centre[0 : centres], weight[0 : centres])                  \
    map(from : force[0 : pairs])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    forces(position, centre, weight, force, (int)points, centres, chosen);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "forces");
  size_t step = workload_check_stride(&run, pairs);
  for (size_t at = 0; at < pairs; at += step) {
    double difference = (double)position[at / centres] - centre[at % centres]; // in double
    if (chosen.wrapped) // the nearest image; halfway between two both are as near
      difference = remainder(difference, chosen.period);
    double square = difference * difference + chosen.softening;
    double want = (chosen.attraction ? 1 / square : 0) - (chosen.repulsion ? 1 / (square * square * square) : 0);
    want *= chosen.screening ? exp(-chosen.decay * sqrt(square)) : 1;
    want *= chosen.weighted ? weight[at % centres] : 1;
    if (chosen.clamped)
      want = std::clamp(want, (double)-chosen.limit, (double)chosen.limit);
    double tolerance = 1e-5 * (1 / square + (chosen.repulsion ? 1 / (square * square * square) : 0));
    workload_check_value(&check, at, force[at], want, 1e-5, tolerance);
  }
  workload_check_end(&check);
  workload_checksum("forces", force, pairs * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
