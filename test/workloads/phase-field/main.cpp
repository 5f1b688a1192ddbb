// Solidification of a binary alloy by a phase field: in each cell a small nonlinear system gives the
// compositions of both phases, from free energies as thermodynamic databases have them. Solver, energies and
// interpolation are in files of their own; the alloy is mapped `to` by reference. It cools: the temperature
// is a scalar that is new at each launch.
// --size: cells along each side. Results: equal bits unless the device fuses multiply and add or computes
// log by other code.
#include "phase_field.h"
#include "workload.h"

#include <tuple>
#include <utility>
#include <vector>

struct model {
  alloy metal;
  int nx, ny, periodic, kind, most_iterations;
  double tolerance, time_step, mobility, gradient_energy, well_height, diffusion_liquid, diffusion_solid;
};

// An ideal lens between two melting points with a little interaction.
static alloy make_alloy(int mixing_terms) {
  alloy a = {};
  a.mixing_terms = mixing_terms;
  const double melting[2] = {1, 0.6}, heat[2] = {1.1, 0.9};
  for (int k = 0; k < 4; ++k) // the same in both phases: it cancels, as most of a database's terms do
    for (phase_energy &p : a.phases) {
      p.first[k] = 0.4 * workload_uniform(1, k) - 0.2;
      p.second[k] = 0.4 * workload_uniform(2, k) - 0.2;
    }
  a.phases[SOLID].first[0] -= heat[0];
  a.phases[SOLID].first[1] += heat[0] / melting[0];
  a.phases[SOLID].second[0] -= heat[1];
  a.phases[SOLID].second[1] += heat[1] / melting[1];
  for (int k = 0; k < MOST_MIXING_TERMS; ++k) {
    double weaker = 1.0 / (1 + 3 * k);
    a.phases[LIQUID].mixing[k][0] = (0.3 - 0.2 * k) * weaker;
    a.phases[SOLID].mixing[k][0] = (0.4 - 0.3 * k) * weaker;
    a.phases[LIQUID].mixing[k][1] = a.phases[SOLID].mixing[k][1] = -0.1 * weaker;
  }
  return a;
}

// ---- the reference: free energies by their definition, chemical potentials by a difference quotient, and
// bisection instead of Newton's method

static long double plain_energy(const alloy &a, int phase, long double c, long double t) {
  const phase_energy &p = a.phases[phase];
  auto pure = [&](const double *k) { return k[0] + k[1] * t + k[2] * t * logl(t) + k[3] * t * t; };
  long double sum = (1 - c) * pure(p.first) + c * pure(p.second) + t * (c * logl(c) + (1 - c) * logl(1 - c));
  for (int k = 0; k < a.mixing_terms; ++k)
    sum += c * (1 - c) * (p.mixing[k][0] + p.mixing[k][1] * t) * powl(1 - 2 * c, k);
  return sum;
}

static long double plain_potential(const alloy &a, int phase, long double c, long double t) {
  long double step = 1e-6L * fminl(c, 1 - c);
  return (plain_energy(a, phase, c + step, t) - plain_energy(a, phase, c - step, t)) / (2 * step);
}

template <typename function_type> static long double bisect(long double low, long double high, function_type rising) {
  for (int i = 0; i < 50; ++i) {
    long double middle = (low + high) / 2;
    (rising(middle) > 0 ? high : low) = middle;
  }
  return (low + high) / 2;
}

static pair_of_compositions plain_split(const alloy &a, long double mean, long double share, long double t) {
  pair_of_compositions c = {{0, 0}, 0};
  bisect(-20, 20, [&](long double potential) {
    for (int phase = 0; phase < PHASES; ++phase)
      c.of[phase] = (double)bisect(1e-9L, 1 - 1e-9L,
                                   [&](long double x) { return plain_potential(a, phase, x, t) - potential; });
    return (1 - share) * c.of[LIQUID] + share * c.of[SOLID] - mean;
  });
  return c;
}

// One cell after a step, from the state before it: {field, composition}.
static std::pair<double, double> plain_step(const model &m, const double *field, const double *composition,
                                            const double *liquid, const double *solid, const double *force, int x,
                                            int y) {
  int here = y * m.nx + x;
  double curved = 0, inflow = 0;
  const int steps[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  for (auto step : steps) {
    int to_x = x + step[0], to_y = y + step[1];
    if (m.periodic) {
      to_x = (to_x + m.nx) % m.nx;
      to_y = (to_y + m.ny) % m.ny;
    }
    if (to_x < 0 || to_x >= m.nx || to_y < 0 || to_y >= m.ny)
      continue;
    int there = to_y * m.nx + to_x;
    curved += field[there] - field[here];
    double share = (solid_share(field[here], m.kind) + solid_share(field[there], m.kind)) / 2;
    inflow += (1 - share) * m.diffusion_liquid * (liquid[there] - liquid[here]);
    inflow += share * m.diffusion_solid * (solid[there] - solid[here]);
  }
  double f = field[here];
  double rate = m.gradient_energy * curved - m.well_height * 2 * f * (1 - f) * (1 - 2 * f) +
                solid_share_slope(f, m.kind) * force[here];
  return {f + m.time_step * m.mobility * rate, composition[here] + m.time_step * inflow};
}

struct state {
  std::vector<double> field, composition;
};

// The whole run on the host, one cell after the other.
static void check_all_steps(workload &run, const model &m, const state &start, long steps, double start_temperature,
                            double cooling, const double *field, const double *composition) {
  state now = start, next = start;
  std::vector<double> liquid = start.composition, solid = start.composition, force = start.composition;
  size_t cells = liquid.size();
  for (long step = 0; step < steps; ++step) {
    double temperature = start_temperature - cooling * step;
    for (size_t i = 0; i < cells; ++i) {
      pair_of_compositions c = split(m.metal, now.composition[i], solid_share(now.field[i], m.kind), temperature,
                                     m.tolerance, m.most_iterations, {{liquid[i], solid[i]}, 0});
      liquid[i] = c.of[LIQUID], solid[i] = c.of[SOLID];
      energy_values e = free_energy(m.metal, LIQUID, liquid[i], temperature);
      force[i] = e.value - free_energy(m.metal, SOLID, solid[i], temperature).value - e.slope * (liquid[i] - solid[i]);
    }
    for (size_t i = 0; i < cells; ++i)
      std::tie(next.field[i], next.composition[i]) =
          plain_step(m, now.field.data(), now.composition.data(), liquid.data(), solid.data(), force.data(),
                     (int)(i % m.nx), (int)(i / m.nx));
    std::swap(now, next);
  }
  workload_check whole = workload_check_begin(&run, "all-steps");
  for (size_t i = 0; i < cells; ++i) {
    workload_check_value(&whole, 2 * i, field[i], now.field[i], 0, 1e-8);
    workload_check_value(&whole, 2 * i + 1, composition[i], now.composition[i], 0, 1e-8);
  }
  workload_check_end(&whole);
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "phase-field", 32, 400);
  model m;
  m.nx = (int)workload_setting(&run, "nx", 1, run.size, run.size);
  m.ny = (int)workload_setting(&run, "ny", 1, run.size, run.size);
  m.periodic = (int)workload_setting(&run, "periodic", 0, 0, 0);
  m.kind = (int)workload_setting(&run, "interpolation", 0, 2, 2);
  m.most_iterations = (int)workload_setting(&run, "most-iterations", 1, 50, 50);
  int mixing_terms = (int)workload_setting(&run, "mixing-terms", 0, 3, 3);
  long steps = workload_setting(&run, "steps", 1, 10, 120);
  m.tolerance = workload_real_setting(&run, "tolerance", 1e-10);
  m.time_step = workload_real_setting(&run, "time-step", 0.1);
  double start_temperature = workload_real_setting(&run, "temperature", 0.82);
  double cooling = workload_real_setting(&run, "cooling", 0.0004);
  workload_settings_end(&run);
  long cells = (long)m.nx * m.ny;
  if (mixing_terms > MOST_MIXING_TERMS || m.kind > QUINTIC || cells > 100000000 ||
      start_temperature - cooling * steps < 0.65) {
    fprintf(stderr, "phase-field: at most %d mixing-terms, interpolation 0 to 2, temperatures from 0.65\n",
            MOST_MIXING_TERMS);
    return 2;
  }
  m.metal = make_alloy(mixing_terms);
  m.mobility = 0.5, m.gradient_energy = 1, m.well_height = 1;
  m.diffusion_liquid = 1, m.diffusion_solid = 0.05;

  std::vector<double> fields[2], compositions[2];
  for (int k = 0; k < 2; ++k)
    fields[k].resize(cells), compositions[k].resize(cells);
  double total = 0;
  for (long i = 0; i < cells; ++i) { // a solid disc in the middle of an almost even liquid
    double dx = i % m.nx + 0.5 - m.nx / 2.0, dy = i / m.nx + 0.5 - m.ny / 2.0;
    fields[0][i] = 0.5 * (1 - tanh((sqrt(dx * dx + dy * dy) - 0.25 * m.nx) / 2));
    compositions[0][i] = 0.4 + 0.05 * (workload_uniform(5, i) - 0.5);
    total += compositions[0][i];
  }
  state start = {fields[0], compositions[0]}; // for the reference
  std::vector<double> liquids = compositions[0], solids = compositions[0], forces(cells);
  double *field = fields[0].data(), *next_field = fields[1].data(), *liquid = liquids.data();
  double *composition = compositions[0].data(), *next_composition = compositions[1].data(), *solid = solids.data();
  double *force = forces.data(), temperature = start_temperature;
  const alloy &metal = m.metal;

  workload_timer solve = workload_timer_new("solve"), evolve = workload_timer_new("evolve");
#pragma omp target data map(tofrom : field[0 : cells], composition[0 : cells], liquid[0 : cells], solid[0 : cells])  \
    map(tofrom : next_field[0 : cells], next_composition[0 : cells], force[0 : cells])
  for (long step = 0; step < steps; ++step) {
    temperature = start_temperature - cooling * step;
    workload_timer_start(&solve);
    launch_solve(field, composition, liquid, solid, force, (int)cells, metal, temperature, m.kind, m.tolerance,
                 m.most_iterations);
    workload_timer_stop(&solve);
    workload_timer_start(&evolve);
    launch_evolve(field, composition, liquid, solid, force, next_field, next_composition, m.nx, m.ny, m.periodic,
                  m.kind, m.time_step, m.mobility, m.gradient_energy, m.well_height, m.diffusion_liquid,
                  m.diffusion_solid);
    workload_timer_stop(&evolve);
    std::swap(field, next_field);
    std::swap(composition, next_composition);
  }

  // next_field and next_composition now hold the state before the last step; liquid, solid and force go with it.
  workload_check split_check = workload_check_begin(&run, "compositions-of-phases");
  workload_check step_check = workload_check_begin(&run, "last-step");
  long sampled = cells > 64 ? cells / 61 : 1, stride = (long)workload_check_stride(&run, cells);
  for (long i = 0; i < cells; i += sampled) {
    double share = solid_share(next_field[i], m.kind);
    pair_of_compositions want = plain_split(metal, next_composition[i], share, temperature);
    workload_check_value(&split_check, 3 * i, liquid[i], want.of[LIQUID], 0, 1e-7);
    workload_check_value(&split_check, 3 * i + 1, solid[i], want.of[SOLID], 0, 1e-7);
    double driving = (double)(plain_energy(metal, LIQUID, liquid[i], temperature) -
                              plain_energy(metal, SOLID, solid[i], temperature) -
                              plain_potential(metal, LIQUID, liquid[i], temperature) * (liquid[i] - solid[i]));
    workload_check_value(&split_check, 3 * i + 2, force[i], driving, 0, 1e-7);
  }
  double after = 0;
  for (long i = 0; i < cells; ++i) {
    after += composition[i];
    if (i % stride == 0) {
      auto want = plain_step(m, next_field, next_composition, liquid, solid, force, (int)(i % m.nx), (int)(i / m.nx));
      workload_check_value(&step_check, 2 * i, field[i], want.first, 1e-12, 1e-12);
      workload_check_value(&step_check, 2 * i + 1, composition[i], want.second, 1e-12, 1e-12);
    }
  }
  workload_check_end(&split_check);
  workload_check_end(&step_check);
  if (!run.is_large)
    check_all_steps(run, m, start, steps, start_temperature, cooling, field, composition);
  workload_check_that(&run, "composition-is-conserved", fabs(after - total) < 1e-11 * total * (double)steps);
  workload_checksum("field", field, cells * sizeof(double));
  workload_checksum("composition", composition, cells * sizeof(double));
  workload_timer_end(&solve);
  workload_timer_end(&evolve);
  return workload_end(&run);
}
