// Products of 3x3 complex matrices on a four-dimensional lattice: at each site the four link matrices are
// each multiplied by one of four fixed matrices, as in lattice quantum chromodynamics. The extents of the
// matrices are part of the type, so only the number of sites is there to be known.
// --size: sites along each axis. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

struct complex_number {
  double real, imaginary;
};

struct su3_matrix {
  complex_number e[3][3];
};

struct site {
  su3_matrix link[4];
  int x, y, z, t;
  int parity;
  int padding[3];
};

static void multiply(const site *a, const su3_matrix *b, site *c, long sites) {
#pragma omp target teams distribute parallel for
  for (long i = 0; i < sites; ++i)
    for (int direction = 0; direction < 4; ++direction)
      for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column) {
          complex_number sum = {0, 0};
          for (int k = 0; k < 3; ++k) {
            complex_number left = a[i].link[direction].e[row][k], right = b[direction].e[k][column];
            sum.real += left.real * right.real - left.imaginary * right.imaginary;
            sum.imaginary += left.real * right.imaginary + left.imaginary * right.real;
          }
          c[i].link[direction].e[row][column] = sum;
        }
}

// A random matrix of determinant 1 whose rows are orthonormal.
static su3_matrix random_su3(uint64_t seed) {
  su3_matrix m;
  workload_fill(&m.e[0][0].real, 18, seed, -1, 1);
  auto &e = m.e;
  auto scale_row = [&](int row) {
    double square = 0;
    for (auto &value : e[row])
      square += value.real * value.real + value.imaginary * value.imaginary;
    for (auto &value : e[row])
      value = {value.real / sqrt(square), value.imaginary / sqrt(square)};
  };
  scale_row(0);
  complex_number overlap = {0, 0}; // of row 1 with row 0
  for (int k = 0; k < 3; ++k) {
    overlap.real += e[0][k].real * e[1][k].real + e[0][k].imaginary * e[1][k].imaginary;
    overlap.imaginary += e[0][k].real * e[1][k].imaginary - e[0][k].imaginary * e[1][k].real;
  }
  for (int k = 0; k < 3; ++k) {
    complex_number base = e[0][k];
    e[1][k].real -= overlap.real * base.real - overlap.imaginary * base.imaginary;
    e[1][k].imaginary -= overlap.real * base.imaginary + overlap.imaginary * base.real;
  }
  scale_row(1);
  for (int k = 0; k < 3; ++k) { // row 2 is the conjugate of the cross product of the others
    complex_number a = e[0][(k + 1) % 3], b = e[1][(k + 2) % 3], c = e[0][(k + 2) % 3], d = e[1][(k + 1) % 3];
    e[2][k].real = a.real * b.real - a.imaginary * b.imaginary - (c.real * d.real - c.imaginary * d.imaginary);
    e[2][k].imaginary = -(a.real * b.imaginary + a.imaginary * b.real - (c.real * d.imaginary + c.imaginary * d.real));
  }
  return m;
}

// How far the rows of a matrix are from orthonormal.
static double distance_from_unitary(const su3_matrix &m) {
  double worst = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double real = i == j ? -1 : 0, imaginary = 0;
      for (int k = 0; k < 3; ++k) {
        complex_number p = m.e[i][k], q = m.e[j][k];
        real += p.real * q.real + p.imaginary * q.imaginary;
        imaginary += p.imaginary * q.real - p.real * q.imaginary;
      }
      worst = fmax(worst, fmax(fabs(real), fabs(imaginary)));
    }
  return worst;
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "su3", 6, 20);
  long launches = workload_setting(&run, "launches", 1, 10, 200);
  workload_settings_end(&run);

  long extent = run.size, sites = extent * extent * extent * extent;
  std::vector<site> inputs(sites), outputs(sites);
  std::vector<su3_matrix> factors(4);
  for (int direction = 0; direction < 4; ++direction)
    factors[direction] = random_su3(1 + direction);
  for (long i = 0; i < sites; ++i) {
    site &s = inputs[i];
    s.x = (int)(i % extent), s.y = (int)(i / extent % extent), s.z = (int)(i / extent / extent % extent);
    s.t = (int)(i / extent / extent / extent), s.parity = (s.x + s.y + s.z + s.t) & 1;
    for (int direction = 0; direction < 4; ++direction)
      s.link[direction] = random_su3(5 + 4 * i + direction);
  }
  site *a = inputs.data(), *c = outputs.data();
  su3_matrix *b = factors.data();

  workload_timer timer = workload_timer_new("multiply");
#pragma omp target data map(to : a[0 : sites], b[0 : 4]) map(from : c[0 : sites])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    multiply(a, b, c, sites);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "matrices");
  workload_check unitary = workload_check_begin(&run, "matrices-are-unitary");
  size_t step = workload_check_stride(&run, sites * 4);
  std::vector<complex_number> links;
  for (size_t at = 0; at < (size_t)sites * 4; ++at) {
    const su3_matrix &got = outputs[at / 4].link[at % 4];
    links.insert(links.end(), &got.e[0][0], &got.e[0][0] + 9);
    if (at % step)
      continue;
    workload_check_value(&unitary, at, distance_from_unitary(got), 0, 0, 1e-13);
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 3; ++column) {
        long double real = 0, imaginary = 0;
        for (int k = 0; k < 3; ++k) {
          complex_number p = inputs[at / 4].link[at % 4].e[row][k], q = factors[at % 4].e[k][column];
          real += (long double)p.real * q.real - (long double)p.imaginary * q.imaginary;
          imaginary += (long double)p.real * q.imaginary + (long double)p.imaginary * q.real;
        }
        workload_check_value(&check, at, got.e[row][column].real, (double)real, 0, 1e-14);
        workload_check_value(&check, at, got.e[row][column].imaginary, (double)imaginary, 0, 1e-14);
      }
  }
  workload_check_end(&check);
  workload_check_end(&unitary);
  workload_checksum("matrices", links.data(), links.size() * sizeof(complex_number));
  workload_timer_end(&timer);
  return workload_end(&run);
}
