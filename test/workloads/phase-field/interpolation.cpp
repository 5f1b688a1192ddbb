// Interpolation between the phases.
#include "phase_field.h"

#pragma omp declare target
double solid_share(double field, int kind) {
  double f = field < 0 ? 0 : field > 1 ? 1 : field;
  switch (kind) {
  case LINEAR:
    return f;
  case CUBIC:
    return f * f * (3 - 2 * f);
  default:
    return f * f * f * (10 + f * (6 * f - 15));
  }
}

double solid_share_slope(double field, int kind) {
  double f = field < 0 ? 0 : field > 1 ? 1 : field;
  switch (kind) {
  case LINEAR:
    return 1;
  case CUBIC:
    return 6 * f * (1 - f);
  default:
    return 30 * f * f * (1 - f) * (1 - f);
  }
}

double well_slope(double field) { return 2 * field * (1 - field) * (1 - 2 * field); }
#pragma omp end declare target
