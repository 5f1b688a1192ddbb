// What the parts of the phase-field workload share. The functions marked so run on both sides.
#ifndef PHASE_FIELD_H
#define PHASE_FIELD_H

enum { MOST_MIXING_TERMS = 4 };
enum phase { LIQUID, SOLID, PHASES };
enum interpolation { LINEAR, CUBIC, QUINTIC };

// Free energy of one phase of a binary alloy, in units of the gas constant times the melting point of the
// first component; temperatures in units of that melting point.
struct phase_energy {
  double first[4];                      // a + b*T + c*T*ln(T) + d*T^2 of the pure first component
  double second[4];                     // likewise of the second one
  double mixing[MOST_MIXING_TERMS][2];  // a + b*T of each Redlich-Kister term
};

struct alloy {
  phase_energy phases[PHASES];
  int mixing_terms;
};

// The free energy of one phase at a composition, and its first two derivatives.
struct energy_values {
  double value, slope, curvature;
};

// Compositions of both phases in one cell.
struct pair_of_compositions {
  double of[PHASES];
  int iterations;
};

#pragma omp declare target
// interpolation.cpp: how much solid a phase field stands for, and the derivative of that
double solid_share(double field, int kind);
double solid_share_slope(double field, int kind);
double well_slope(double field);

// free_energy.cpp
energy_values free_energy(const alloy &a, int phase, double composition, double temperature);

// newton.cpp: the compositions that mix to `mean` and have one chemical potential
pair_of_compositions split(const alloy &a, double mean, double share, double temperature, double tolerance,
                           int most_iterations, pair_of_compositions start);
#pragma omp end declare target

// kernels.cpp; all pointers are mapped already.
void launch_solve(const double *field, const double *composition, double *liquid, double *solid, double *force,
                  int cells, const alloy &a, double temperature, int kind, double tolerance, int most_iterations);
void launch_evolve(const double *field, const double *composition, const double *liquid, const double *solid,
                   const double *force, double *next_field, double *next_composition, int nx, int ny, int periodic,
                   int kind, double time_step, double mobility, double gradient_energy, double well_height,
                   double diffusion_liquid, double diffusion_solid);

#endif
