// Newton's method for the two equations of one cell: the phases mix to the cell's composition and have the
// same chemical potential.
#include "phase_field.h"

#pragma omp declare target
static double inside(double composition) {
  const double edge = 1e-9;
  return composition < edge ? edge : composition > 1 - edge ? 1 - edge : composition;
}

// A step of Newton's method halved until it stays between the pure components.
static double stepped(double composition, double step) {
  for (int halvings = 0; halvings < 60; ++halvings, step *= 0.5)
    if (composition + step > 0 && composition + step < 1)
      return inside(composition + step);
  return composition;
}

pair_of_compositions split(const alloy &a, double mean, double share, double temperature, double tolerance,
                           int most_iterations, pair_of_compositions start) {
  pair_of_compositions c = start;
  c.of[LIQUID] = inside(c.of[LIQUID]);
  c.of[SOLID] = inside(c.of[SOLID]);
  for (c.iterations = 0; c.iterations < most_iterations; ++c.iterations) {
    energy_values liquid = free_energy(a, LIQUID, c.of[LIQUID], temperature);
    energy_values solid = free_energy(a, SOLID, c.of[SOLID], temperature);
    double residual[2] = {(1 - share) * c.of[LIQUID] + share * c.of[SOLID] - mean, liquid.slope - solid.slope};
    double jacobian[2][2] = {{1 - share, share}, {liquid.curvature, -solid.curvature}};
    double size = residual[0] * residual[0] + residual[1] * residual[1];
    if (size < tolerance * tolerance)
      break;
    double determinant = jacobian[0][0] * jacobian[1][1] - jacobian[0][1] * jacobian[1][0];
    double step_liquid = (jacobian[0][1] * residual[1] - jacobian[1][1] * residual[0]) / determinant;
    double step_solid = (jacobian[1][0] * residual[0] - jacobian[0][0] * residual[1]) / determinant;
    c.of[LIQUID] = stepped(c.of[LIQUID], step_liquid);
    c.of[SOLID] = stepped(c.of[SOLID], step_solid);
  }
  return c;
}
#pragma omp end declare target
