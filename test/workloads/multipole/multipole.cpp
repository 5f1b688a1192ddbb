// Macroscopic cross sections by the windowed multipole method, compute-bound: instead of tables each nuclide
// has complex poles, and a lookup sums those of one energy window, broadened by the Faddeeva function. As in
// the published proxy the kernel has no scalar argument: everything is read through two structs mapped `to`.
// --size: hundreds of lookups a launch. Results: equal bits unless the device fuses multiply and add or
// computes sin, cos and atan by other code.
#include "workload.h"

#include <cmath>
#include <complex>
#include <vector>

enum { MATERIALS = 12, LONGEST_SERIES = 64, LARGEST_MOMENTUM = 4 };

struct number { // complex; plain operations without the special cases of std::complex
  double real, imaginary;
};

struct inputs {
  long lookups;
  int nuclides, nuclides_per_material;
  int poles_per_nuclide, windows_per_nuclide;
  int momenta;     // angular momenta with a phase shift of their own
  int broadened;   // 0 leaves out the temperature
  int series;      // terms of the Faddeeva function's series
  double doppler;  // inverse Doppler width
  uint64_t seed;
};

struct pole {
  number place;
  number total, absorption, fission; // residues
  int64_t momentum;
};

struct window {
  double total, absorption, fission; // smooth part
  int first, last;                   // poles of this window
};

struct simulation_data {
  int *nuclide_counts, *material_nuclides;
  double *concentrations;
  pole *poles;     // [nuclide][poles_per_nuclide], by energy
  window *windows; // [nuclide][windows_per_nuclide]
  double *radii;   // [nuclide][momenta]
  double *series;  // coefficients of the Faddeeva function's series
};

struct sections {
  double total, absorption, fission;
};

#pragma omp declare target
static inline number operator+(number a, number b) { return {a.real + b.real, a.imaginary + b.imaginary}; }
static inline number operator-(number a, number b) { return {a.real - b.real, a.imaginary - b.imaginary}; }
static inline number operator*(number a, number b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}
static inline number operator/(number a, number b) {
  double square = b.real * b.real + b.imaginary * b.imaginary;
  return {(a.real * b.real + a.imaginary * b.imaginary) / square,
          (a.imaginary * b.real - a.real * b.imaginary) / square};
}

// w(z) = exp(-z^2) erfc(-iz) for Im z > 0: Weideman's series of `terms` terms near the origin (SIAM Journal on
// Numerical Analysis 31, 1994), the four-point Gauss-Hermite rule far from it.
static number faddeeva(number z, const double *coefficients, int terms) {
  const double inverse_pi = 0.31830988618379067, inverse_root_pi = 0.56418958354775629;
  number i = {0, 1};
  if (z.real * z.real + z.imaginary * z.imaginary >= 36) {
    number square = z * z;
    number near = number{2 * 0.80491409000551284 * inverse_pi, 0} / (square - number{0.27525512860841095, 0});
    number far = number{2 * 0.081312835447245177 * inverse_pi, 0} / (square - number{2.7247448713915889, 0});
    return i * z * (near + far);
  }
  double scale = std::sqrt(terms * 0.70710678118654752);
  number below = number{scale, 0} - i * z, ratio = (number{scale, 0} + i * z) / below;
  number sum = {coefficients[terms - 1], 0};
  for (int k = terms - 2; k >= 0; --k)
    sum = sum * ratio + number{coefficients[k], 0};
  return number{2, 0} * sum / (below * below) + number{inverse_root_pi, 0} / below;
}

static void phase_factors(const inputs &in, const simulation_data &data, int nuclide, double root,
                          number *factors) {
  for (int l = 0; l < in.momenta; ++l) {
    double shift = data.radii[nuclide * in.momenta + l] * root;
    if (l == 1)
      shift -= std::atan(shift);
    else if (l == 2)
      shift -= std::atan(3 * shift / (3 - shift * shift));
    else if (l == 3)
      shift -= std::atan(shift * (15 - shift * shift) / (15 - 6 * shift * shift));
    factors[l] = {std::cos(2 * shift), -std::sin(2 * shift)};
  }
}

static void add_nuclide(const inputs &in, const simulation_data &data, int nuclide, double energy,
                        double concentration, sections &sum) {
  double root = std::sqrt(energy);
  int place = (int)(energy * in.windows_per_nuclide);
  if (place >= in.windows_per_nuclide)
    place = in.windows_per_nuclide - 1;
  const window &around = data.windows[(long)nuclide * in.windows_per_nuclide + place];
  number factors[LARGEST_MOMENTUM];
  phase_factors(in, data, nuclide, root, factors);
  sections micro = {energy * around.total, energy * around.absorption, energy * around.fission};
  for (int k = around.first; k < around.last; ++k) {
    const pole &p = data.poles[(long)nuclide * in.poles_per_nuclide + k];
    number weight;
    if (in.broadened)
      weight = faddeeva((number{energy, 0} - p.place) * number{in.doppler, 0}, data.series, in.series);
    else
      weight = number{0, 1} / (number{energy, 0} - p.place) * number{1 / in.doppler, 0};
    micro.total += (p.total * weight * factors[p.momentum]).real;
    micro.absorption += (p.absorption * weight).real;
    micro.fission += (p.fission * weight).real;
  }
  sum.total += concentration * micro.total;
  sum.absorption += concentration * micro.absorption;
  sum.fission += concentration * micro.fission;
}

static sections look_up(const inputs &in, const simulation_data &data, long lookup) {
  double energy = workload_uniform(in.seed, 2 * lookup);
  int material = (int)(workload_uniform(in.seed, 2 * lookup + 1) * MATERIALS);
  sections sum = {0, 0, 0};
  for (int i = 0; i < data.nuclide_counts[material]; ++i) {
    long slot = (long)material * in.nuclides_per_material + i;
    add_nuclide(in, data, data.material_nuclides[slot], energy, data.concentrations[slot], sum);
  }
  return sum;
}
#pragma omp end declare target

static void look_up_all(const inputs &in, const simulation_data &data, sections *results) {
#pragma omp target teams distribute parallel for map(to : in, data) map(from : results[0 : in.lookups])
  for (long lookup = 0; lookup < in.lookups; ++lookup)
    results[lookup] = look_up(in, data, lookup);
}

// Owns what simulation_data points to.
struct storage {
  std::vector<int> nuclide_counts, material_nuclides;
  std::vector<double> concentrations, radii, series;
  std::vector<pole> poles;
  std::vector<window> windows;
};

// The series' coefficients: a cosine sum over exp(-t^2) at t = L tan(theta/2).
static std::vector<double> series_coefficients(int terms) {
  const double pi = 3.14159265358979324;
  double scale = sqrt(terms / sqrt(2.0));
  int samples = 4 * terms;
  std::vector<double> result(terms);
  for (int n = 1; n <= terms; ++n) {
    double sum = 0;
    for (int k = -samples + 1; k < samples; ++k) {
      double theta = k * pi / samples, t = scale * tan(theta / 2);
      sum += exp(-t * t) * (scale * scale + t * t) * cos(n * theta);
    }
    result[n - 1] = sum / (2 * samples);
  }
  return result;
}

static storage make_data(const inputs &in) {
  storage s;
  s.series = series_coefficients(in.series);
  for (int material = 0; material < MATERIALS; ++material) {
    int count = material == 0 ? in.nuclides_per_material
                              : 4 + (int)(workload_random(11, material) % (in.nuclides_per_material - 3));
    s.nuclide_counts.push_back(count);
    for (int i = 0; i < in.nuclides_per_material; ++i) {
      s.material_nuclides.push_back((int)(workload_random(12, material) % in.nuclides + 7 * i) % in.nuclides);
      s.concentrations.push_back(workload_uniform(13, material * in.nuclides_per_material + i));
    }
  }
  auto random = [counter = (uint64_t)0]() mutable { return workload_uniform(14, counter++); };
  auto residue = [&] { return number{random() - 0.5, random() - 0.5}; };
  int poles = in.poles_per_nuclide, windows = in.windows_per_nuclide;
  for (int nuclide = 0; nuclide < in.nuclides; ++nuclide) {
    for (int l = 0; l < in.momenta; ++l)
      s.radii.push_back(0.5 + random());
    for (int k = 0; k < poles; ++k) // below the real axis, about evenly spread over the energies
      s.poles.push_back({{(k + random()) / poles, -(0.5 + random()) / poles}, residue(), residue(), residue(),
                         (int64_t)(random() * in.momenta)});
    for (int k = 0; k < windows; ++k) { // half a window's poles more on either side
      int first = (int)((k - 0.5) * poles / windows), last = (int)((k + 1.5) * poles / windows);
      s.windows.push_back({random(), random(), random(), first < 0 ? 0 : first, last > poles ? poles : last});
    }
  }
  return s;
}

typedef std::complex<double> complex;

static complex plain(number z) { return {z.real, z.imaginary}; }

// w(z) as the integral (i/pi) of exp(-t^2)/(z-t), by the trapezoidal rule: exact for z well above the axis.
static complex faddeeva_by_integral(complex z) {
  complex sum = 0;
  for (int k = -160; k <= 160; ++k)
    sum += exp(-0.0025 * k * k) / (z - 0.05 * k);
  return complex(0, 0.05 / 3.14159265358979324) * sum;
}

// The same lookup in std::complex; what belongs to each pole is computed in one expression.
static sections straightforward(const inputs &in, const storage &s, long lookup) {
  double energy = workload_uniform(in.seed, 2 * lookup);
  int material = (int)(workload_uniform(in.seed, 2 * lookup + 1) * MATERIALS);
  sections sum = {0, 0, 0};
  for (int i = 0; i < s.nuclide_counts[material]; ++i) {
    int slot = material * in.nuclides_per_material + i, nuclide = s.material_nuclides[slot];
    const window &w = s.windows[nuclide * in.windows_per_nuclide + (int)(energy * in.windows_per_nuclide)];
    double total = energy * w.total, absorption = energy * w.absorption, fission = energy * w.fission;
    for (int k = w.first; k < w.last; ++k) {
      const pole &p = s.poles[nuclide * in.poles_per_nuclide + k];
      double x = s.radii[nuclide * in.momenta + p.momentum] * sqrt(energy), shift = x;
      shift -= p.momentum == 1   ? atan(x)
               : p.momentum == 2 ? atan(3 * x / (3 - x * x))
               : p.momentum == 3 ? atan(x * (15 - x * x) / (15 - 6 * x * x))
                                 : 0;
      complex z = (energy - plain(p.place)) * in.doppler;
      number w_of_z = faddeeva({z.real(), z.imag()}, s.series.data(), in.series);
      complex weight = in.broadened ? plain(w_of_z) : complex(0, 1) / z;
      total += (plain(p.total) * weight * std::polar(1.0, -2 * shift)).real();
      absorption += (plain(p.absorption) * weight).real();
      fission += (plain(p.fission) * weight).real();
    }
    sum.total += s.concentrations[slot] * total;
    sum.absorption += s.concentrations[slot] * absorption;
    sum.fission += s.concentrations[slot] * fission;
  }
  return sum;
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "multipole", 4, 150);
  inputs in;
  in.lookups = run.size * 100;
  in.nuclides = (int)workload_setting(&run, "nuclides", 8, 24, 68);
  in.nuclides_per_material = in.nuclides / 2;
  in.poles_per_nuclide = (int)workload_setting(&run, "poles", 1, 200, 1000);
  in.windows_per_nuclide = (int)workload_setting(&run, "windows", 1, 20, 100);
  in.momenta = (int)workload_setting(&run, "momenta", 1, 4, 4);
  in.broadened = (int)workload_setting(&run, "broadened", 0, 1, 1);
  in.series = (int)workload_setting(&run, "series", 4, 16, 16);
  in.seed = (uint64_t)workload_setting(&run, "seed", 0, 42, 42);
  long launches = workload_setting(&run, "launches", 1, 3, 10);
  in.doppler = workload_real_setting(&run, "doppler", 0.4 * in.poles_per_nuclide);
  workload_settings_end(&run);
  if (in.momenta > LARGEST_MOMENTUM || in.series > LONGEST_SERIES || in.doppler <= 0) {
    fprintf(stderr, "multipole: at most %d momenta, %d terms, and a positive doppler\n", LARGEST_MOMENTUM,
            LONGEST_SERIES);
    return 2;
  }

  storage s = make_data(in);
  simulation_data data = {s.nuclide_counts.data(), s.material_nuclides.data(), s.concentrations.data(),
                          s.poles.data(),          s.windows.data(),           s.radii.data(),
                          s.series.data()};
  std::vector<sections> found(in.lookups);
  sections *results = found.data();
  size_t slots = s.material_nuclides.size(), poles = s.poles.size(), windows = s.windows.size();
  size_t radii = s.radii.size(), terms = s.series.size();

  workload_timer timer = workload_timer_new("look_up_all");
#pragma omp target enter data map(to : data) map(alloc : results[0 : in.lookups])
#pragma omp target enter data map(                                                                                \
        to : data.nuclide_counts[0 : MATERIALS], data.material_nuclides[0 : slots],                               \
            data.concentrations[0 : slots], data.poles[0 : poles], data.windows[0 : windows],                     \
            data.radii[0 : radii], data.series[0 : terms])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    look_up_all(in, data, results);
    workload_timer_stop(&timer);
  }
#pragma omp target exit data map(from : results[0 : in.lookups])
#pragma omp target exit data map(                                                                                 \
        delete : data.nuclide_counts[0 : MATERIALS], data.material_nuclides[0 : slots],                           \
            data.concentrations[0 : slots], data.poles[0 : poles], data.windows[0 : windows],                     \
            data.radii[0 : radii], data.series[0 : terms])
#pragma omp target exit data map(delete : data)

  if (in.series >= 16) {
    workload_check function = workload_check_begin(&run, "faddeeva-function");
    for (int i = 0; i < 64; ++i) {
      number z = {0.4 * (i % 16) - 2, 1 + 0.5 * (i / 16)};
      number got = faddeeva(z, s.series.data(), in.series);
      complex want = faddeeva_by_integral(plain(z));
      workload_check_value(&function, i, got.real, want.real(), 0, 2e-6);
      workload_check_value(&function, i, got.imaginary, want.imag(), 0, 2e-6);
    }
    workload_check_end(&function);
  }
  workload_check values = workload_check_begin(&run, "sections");
  size_t step = workload_check_stride(&run, found.size());
  for (size_t i = 0; i < found.size(); i += step) {
    sections want = straightforward(in, s, (long)i);
    workload_check_value(&values, 3 * i, found[i].total, want.total, 1e-9, 1e-7);
    workload_check_value(&values, 3 * i + 1, found[i].absorption, want.absorption, 1e-9, 1e-7);
    workload_check_value(&values, 3 * i + 2, found[i].fission, want.fission, 1e-9, 1e-7);
  }
  workload_check_end(&values);
  workload_checksum("sections", results, found.size() * sizeof(sections));
  workload_timer_end(&timer);
  return workload_end(&run);
}
