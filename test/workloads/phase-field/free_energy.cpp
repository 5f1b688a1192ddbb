// Free energy of a phase: the pure components, ideal mixing, and Redlich-Kister terms of run-time number.
#include "phase_field.h"

#include <cmath>

#pragma omp declare target
static double pure(const double *c, double temperature) {
  return c[0] + temperature * (c[1] + c[2] * std::log(temperature) + c[3] * temperature);
}

energy_values free_energy(const alloy &a, int phase, double composition, double temperature) {
  const phase_energy &p = a.phases[phase];
  double c = composition, rest = 1 - c, difference = 1 - 2 * c;
  double log_c = std::log(c), log_rest = std::log(rest);
  double first = pure(p.first, temperature), second = pure(p.second, temperature);
  energy_values e;
  e.value = rest * first + c * second + temperature * (c * log_c + rest * log_rest);
  e.slope = second - first + temperature * (log_c - log_rest);
  e.curvature = temperature / (c * rest);
  double product = c * rest, power = 1, power_slope = 0, power_curvature = 0; // of (1-2c)^k
  for (int k = 0; k < a.mixing_terms; ++k) {
    double strength = p.mixing[k][0] + p.mixing[k][1] * temperature;
    e.value += strength * product * power;
    e.slope += strength * (difference * power + product * power_slope);
    e.curvature += strength * (-2 * power + 2 * difference * power_slope + product * power_curvature);
    power_curvature = power_curvature * difference - 4 * power_slope;
    power_slope = power_slope * difference - 2 * power;
    power *= difference;
  }
  return e;
}
#pragma omp end declare target
