// An inner loop full of switches that never change: which terms of a pair force count, whether it is
// clamped, whether it is weighted. Known flags leave one straight loop that vectorises.
// --size: points. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <algorithm>
#include <vector>

struct options {
  int attraction, repulsion, screening, weighted, clamped;
  float cutoff, limit, decay;
};

#pragma omp declare target
static inline float pair_term(float distance, float weight, int attraction, int repulsion, int screening,
                              int weighted, int clamped, float limit, float decay) {
  float inverse = 1.0f / distance, term = 0;
  if (attraction)
    term += inverse * inverse;
  if (repulsion)
    term -= inverse * inverse * inverse * 0.5f;
  if (screening)
    term *= 1.0f / (1.0f + decay * distance);
  if (weighted)
    term *= weight;
  if (clamped)
    term = term > limit ? limit : term < -limit ? -limit : term;
  return term;
}
#pragma omp end declare target

static void forces(const float *position, const float *centre, const float *weight, float *force, int points,
                   int centres, const options &chosen) {
  int attraction = chosen.attraction, repulsion = chosen.repulsion, screening = chosen.screening;
  int weighted = chosen.weighted, clamped = chosen.clamped;
  float limit = chosen.limit, decay = chosen.decay, offset = chosen.cutoff;
#pragma omp target teams distribute parallel for
  for (int i = 0; i < points; ++i)
    for (int block = 0; block < centres; block += 16) {
      // sixteen partial results a point, kept apart: their order of addition is fixed
      for (int lane = 0; lane < 16; ++lane) {
        float difference = position[i] - centre[block + lane];
        float distance = (difference < 0 ? -difference : difference) + offset;
        force[i * 16 + lane] += pair_term(distance, weight[block + lane], attraction, repulsion, screening,
                                          weighted, clamped, limit, decay);
      }
    }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "flags", 2000, 60000);
  options chosen;
  chosen.attraction = (int)workload_setting(&run, "attraction", 0, 1, 1);
  chosen.repulsion = (int)workload_setting(&run, "repulsion", 0, 0, 0);
  chosen.screening = (int)workload_setting(&run, "screening", 0, 0, 0);
  chosen.weighted = (int)workload_setting(&run, "weighted", 0, 1, 1);
  chosen.clamped = (int)workload_setting(&run, "clamped", 0, 1, 1);
  int centres = (int)workload_setting(&run, "centre-blocks", 1, 8, 16) * 16;
  long launches = workload_setting(&run, "launches", 1, 5, 360);
  chosen.cutoff = (float)workload_real_setting(&run, "cutoff", 0.125);
  chosen.limit = (float)workload_real_setting(&run, "limit", 20);
  chosen.decay = (float)workload_real_setting(&run, "decay", 0.5);
  workload_settings_end(&run);

  long points = run.size;
  if (points > INT32_MAX / 16) {
    fprintf(stderr, "flags: %ld points are too many for int indices\n", points);
    return 2;
  }
  std::vector<float> positions(points), places(centres), weights(centres), results(points * 16, 0.0f);
  workload_fill_float(positions.data(), positions.size(), 1, -1, 1);
  workload_fill_float(places.data(), places.size(), 2, -1, 1);
  workload_fill_float(weights.data(), weights.size(), 3, 0.5, 1.5);
  float *position = positions.data(), *centre = places.data(), *weight = weights.data(), *force = results.data();

  workload_timer timer = workload_timer_new("forces");
#pragma omp target data map(to : position[0 : points], centre[0 : centres], weight[0 : centres])                  \
    map(tofrom : force[0 : points * 16])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    forces(position, centre, weight, force, (int)points, centres, chosen);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "forces");
  size_t step = workload_check_stride(&run, results.size());
  for (size_t at = 0; at < results.size(); at += step) {
    double want = 0, size = 0; // in double, clamped alike
    for (int other = at % 16; other < centres; other += 16) {
      double distance = fabs((double)position[at / 16] - centre[other]) + chosen.cutoff;
      double term = (chosen.attraction ? 1 / (distance * distance) : 0) -
                    (chosen.repulsion ? 0.5 / (distance * distance * distance) : 0);
      term /= chosen.screening ? 1 + chosen.decay * distance : 1;
      term *= chosen.weighted ? weight[other] : 1;
      if (chosen.clamped)
        term = std::clamp(term, (double)-chosen.limit, (double)chosen.limit);
      want += term;
      size += fabs(term);
    }
    workload_check_value(&check, at, force[at], launches * want, 0, 1e-4 * launches * size);
  }
  workload_check_end(&check);
  workload_checksum("forces", force, results.size() * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
