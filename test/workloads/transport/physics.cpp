// Physics: how far to the next collision, and what a collision does.
#include "transport.h"

#include <cmath>

#pragma omp declare target
double distance_to_collision(particle &p) { return -std::log(1 - draw(p)) / p.here.total; }

// Elastic scattering, isotropic for the centre of mass.
static void scatter(particle &p) {
  double mass = settings.mass[p.material], cosine = 2 * draw(p) - 1;
  double after = (mass * mass + 2 * mass * cosine + 1) / ((mass + 1) * (mass + 1));
  double straight = (1 + mass * cosine) / std::sqrt(mass * mass + 2 * mass * cosine + 1);
  double angle = 6.2831853071795865 * draw(p);
  p.energy *= after;
  double sideways = std::sqrt(1 - straight * straight > 0 ? 1 - straight * straight : 0);
  double x = p.direction[0], y = p.direction[1], z = p.direction[2], flat = std::sqrt(1 - z * z > 0 ? 1 - z * z : 0);
  double c = std::cos(angle) * sideways, s = std::sin(angle) * sideways;
  if (flat > 1e-10) {
    p.direction[0] = straight * x + (c * x * z - s * y) / flat;
    p.direction[1] = straight * y + (c * y * z + s * x) / flat;
    p.direction[2] = straight * z - c * flat;
  } else {
    p.direction[0] = c;
    p.direction[1] = s;
    p.direction[2] = z > 0 ? straight : -straight;
  }
  double length = std::sqrt(p.direction[0] * p.direction[0] + p.direction[1] * p.direction[1] +
                            p.direction[2] * p.direction[2]);
  for (int axis = 0; axis < 3; ++axis)
    p.direction[axis] /= length;
}

void collide(particle &p, const tally_bins &bins) {
  ++p.collisions;
  double roll = draw(p) * p.here.total;
  if (roll < p.here.scattering) {
    scatter(p);
    if (p.energy < settings.cutoff_energy)
      p.end = ABSORBED;
  } else if (roll < p.here.scattering + p.here.fission) {
    score_fission(p, settings.neutrons_per_fission, bins);
    p.end = CAUSED_FISSION;
  } else {
    p.end = ABSORBED;
  }
}
#pragma omp end declare target
