// The two kernels of a time step: the compositions and the driving force of each cell by themselves, then
// the phase field and the composition with their neighbours.
#include "phase_field.h"

void launch_solve(const double *field, const double *composition, double *liquid, double *solid, double *force,
                  int cells, const alloy &a, double temperature, int kind, double tolerance, int most_iterations) {
#pragma omp target teams distribute parallel for map(to : a)
  for (int i = 0; i < cells; ++i) {
    pair_of_compositions start = {{liquid[i], solid[i]}, 0};
    double share = solid_share(field[i], kind);
    pair_of_compositions c =
        split(a, composition[i], share, temperature, tolerance, most_iterations, start);
    energy_values of_liquid = free_energy(a, LIQUID, c.of[LIQUID], temperature);
    energy_values of_solid = free_energy(a, SOLID, c.of[SOLID], temperature);
    liquid[i] = c.of[LIQUID];
    solid[i] = c.of[SOLID];
    force[i] = of_liquid.value - of_solid.value - of_liquid.slope * (c.of[LIQUID] - c.of[SOLID]);
  }
}

#pragma omp declare target
// The neighbour at `at + step` of a line of cells; without a period the edge repeats.
static int neighbour(int at, int step, int length, int periodic) {
  int next = at + step;
  if (next >= 0 && next < length)
    return next;
  return periodic ? at + step * (1 - length) : at;
}

// The stream of composition from cell `to` into cell `from` through their common face.
static double stream(const double *field, const double *liquid, const double *solid, int from, int to, int kind,
                     double diffusion_liquid, double diffusion_solid) {
  double share = 0.5 * (solid_share(field[from], kind) + solid_share(field[to], kind));
  return (1 - share) * diffusion_liquid * (liquid[to] - liquid[from]) +
         share * diffusion_solid * (solid[to] - solid[from]);
}
#pragma omp end declare target

void launch_evolve(const double *field, const double *composition, const double *liquid, const double *solid,
                   const double *force, double *next_field, double *next_composition, int nx, int ny, int periodic,
                   int kind, double time_step, double mobility, double gradient_energy, double well_height,
                   double diffusion_liquid, double diffusion_solid) {
  int cells = nx * ny;
#pragma omp target teams distribute parallel for
  for (int i = 0; i < cells; ++i) {
    int x = i % nx, y = i / nx;
    int west = y * nx + neighbour(x, -1, nx, periodic), east = y * nx + neighbour(x, 1, nx, periodic);
    int south = neighbour(y, -1, ny, periodic) * nx + x, north = neighbour(y, 1, ny, periodic) * nx + x;
    double curved = field[west] + field[east] + field[south] + field[north] - 4 * field[i];
    double rate = gradient_energy * curved - well_height * well_slope(field[i]) +
                  force[i] * solid_share_slope(field[i], kind);
    next_field[i] = field[i] + time_step * mobility * rate;
    double inflow = stream(field, liquid, solid, i, west, kind, diffusion_liquid, diffusion_solid) +
                    stream(field, liquid, solid, i, east, kind, diffusion_liquid, diffusion_solid) +
                    stream(field, liquid, solid, i, south, kind, diffusion_liquid, diffusion_solid) +
                    stream(field, liquid, solid, i, north, kind, diffusion_liquid, diffusion_solid);
    next_composition[i] = composition[i] + time_step * inflow;
  }
}
