// The device's part: expansions in solid harmonics and the kernels over cells.
//
// With R_n^m = r^n P_n^m(cos t) e^(imp) / (n+m)! and S_n^m = (n-m)! P_n^m(cos t) e^(imp) / r^(n+1) (sign
// (-1)^m in both) 1/|x-y| is the sum of conj(R(y)) S(x); these numbers translate without further factors:
//   R_n^m(x+y) = sum R_k^l(x) R_(n-k)^(m-l)(y),  S_n^m(x+y) = sum (-1)^k conj(R_k^l(y)) S_(n+k)^(m+l)(x).
// Both obey X_n^(-m) = (-1)^m conj(X_n^m). Element (n, m) of an expansion is at n*n + n + m.
#include "fmm.h"

#include <cmath>

#pragma omp declare target
static inline complex_number operator+(complex_number a, complex_number b) {
  return {a.real + b.real, a.imaginary + b.imaginary};
}
static inline complex_number operator*(complex_number a, complex_number b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}
static inline complex_number operator*(double a, complex_number b) { return {a * b.real, a * b.imaginary}; }
static inline complex_number conjugate(complex_number a) { return {a.real, -a.imaginary}; }
static inline int place(int n, int m) { return n * n + n + m; }

// Fills the elements of negative m from those of positive m.
static inline void mirror(complex_number *values, int terms) {
  for (int n = 1; n <= terms; ++n)
    for (int m = 1; m <= n; ++m)
      values[place(n, -m)] = (m & 1 ? -1.0 : 1.0) * conjugate(values[place(n, m)]);
}

static void regular_harmonics(double x, double y, double z, int terms, complex_number *r) {
  double square = x * x + y * y + z * z;
  r[0] = {1, 0};
  for (int n = 1; n <= terms; ++n) {
    r[place(n, n)] = (-0.5 / n) * (complex_number{x, y} * r[place(n - 1, n - 1)]);
    r[place(n, n - 1)] = z * r[place(n - 1, n - 1)];
    for (int m = 0; m < n - 1; ++m)
      r[place(n, m)] = (1.0 / ((n + m) * (n - m))) *
                       ((2 * n - 1) * z * r[place(n - 1, m)] + -square * r[place(n - 2, m)]);
  }
  mirror(r, terms);
}

static void irregular_harmonics(double x, double y, double z, int terms, complex_number *s) {
  double inverse_square = 1 / (x * x + y * y + z * z);
  s[0] = {std::sqrt(inverse_square), 0};
  for (int n = 1; n <= terms; ++n) {
    s[place(n, n)] = (-(2 * n - 1) * inverse_square) * (complex_number{x, y} * s[place(n - 1, n - 1)]);
    s[place(n, n - 1)] = ((2 * n - 1) * z * inverse_square) * s[place(n - 1, n - 1)];
    for (int m = 0; m < n - 1; ++m)
      s[place(n, m)] = inverse_square * ((2 * n - 1) * z * s[place(n - 1, m)] +
                                         -(double)((n - 1) * (n - 1) - m * m) * s[place(n - 2, m)]);
  }
  mirror(s, terms);
}
#pragma omp end declare target

void multipoles_of_leaves(const cell *cells, const int *leaves, int leaf_count, const double *x, const double *y,
                          const double *z, const double *charge, complex_number *multipoles, int terms) {
#pragma omp target teams distribute parallel for
  for (int leaf = 0; leaf < leaf_count; ++leaf) {
    const cell &c = cells[leaves[leaf]];
    int length = (terms + 1) * (terms + 1);
    complex_number *sum = multipoles + (long)leaves[leaf] * length;
    complex_number r[(MOST_TERMS + 1) * (MOST_TERMS + 1)];
    for (int k = 0; k < length; ++k)
      sum[k] = {0, 0};
    for (int i = c.first; i < c.first + c.count; ++i) {
      regular_harmonics(x[i] - c.centre[0], y[i] - c.centre[1], z[i] - c.centre[2], terms, r);
      for (int k = 0; k < length; ++k)
        sum[k] = sum[k] + charge[i] * r[k];
    }
  }
}

void multipoles_of_level(const cell *cells, int begin, int end, complex_number *multipoles, int terms) {
#pragma omp target teams distribute parallel for
  for (int i = begin; i < end; ++i) {
    const cell &c = cells[i];
    int length = (terms + 1) * (terms + 1);
    complex_number *sum = multipoles + (long)i * length;
    complex_number r[(MOST_TERMS + 1) * (MOST_TERMS + 1)];
    for (int k = 0; k < length && c.children; ++k)
      sum[k] = {0, 0};
    for (int child = c.first_child; child < c.first_child + c.children; ++child) {
      const double *from = cells[child].centre;
      const complex_number *part = multipoles + (long)child * length;
      regular_harmonics(from[0] - c.centre[0], from[1] - c.centre[1], from[2] - c.centre[2], terms, r);
      for (int n = 0; n <= terms; ++n)
        for (int m = -n; m <= n; ++m)
          for (int k = 0; k <= n; ++k)
            for (int l = -k; l <= k; ++l)
              if (m - l >= -(n - k) && m - l <= n - k)
                sum[place(n, m)] = sum[place(n, m)] + r[place(k, l)] * part[place(n - k, m - l)];
    }
  }
}

void far_fields(const cell *cells, int cell_count, const int *far_begin, const int *far_cells,
                const complex_number *multipoles, complex_number *locals, int terms) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < cell_count; ++i) {
    const double *here = cells[i].centre;
    int length = (terms + 1) * (terms + 1);
    complex_number *sum = locals + (long)i * length;
    complex_number s[(2 * MOST_TERMS + 1) * (2 * MOST_TERMS + 1)];
    for (int k = 0; k < length; ++k)
      sum[k] = {0, 0};
    for (int entry = far_begin[i]; entry < far_begin[i + 1]; ++entry) {
      const double *there = cells[far_cells[entry]].centre;
      const complex_number *source = multipoles + (long)far_cells[entry] * length;
      irregular_harmonics(here[0] - there[0], here[1] - there[1], here[2] - there[2], 2 * terms, s);
      for (int n = 0; n <= terms; ++n)
        for (int m = 0; m <= n; ++m) {
          complex_number value = {0, 0};
          for (int k = 0; k <= terms; ++k)
            for (int l = -k; l <= k; ++l)
              value = value + conjugate(source[place(k, l)]) * s[place(n + k, m + l)];
          sum[place(n, m)] = sum[place(n, m)] + (n & 1 ? -1.0 : 1.0) * value;
        }
    }
    mirror(sum, terms);
  }
}

void locals_of_level(const cell *cells, int begin, int end, complex_number *locals, int terms) {
#pragma omp target teams distribute parallel for
  for (int i = begin; i < end; ++i) {
    int parent = cells[i].parent, length = (terms + 1) * (terms + 1);
    const double *here = cells[i].centre, *above = cells[parent].centre;
    complex_number *sum = locals + (long)i * length;
    const complex_number *from = locals + (long)parent * length;
    complex_number r[(MOST_TERMS + 1) * (MOST_TERMS + 1)];
    regular_harmonics(here[0] - above[0], here[1] - above[1], here[2] - above[2], terms, r);
    for (int k = 0; k <= terms; ++k)
      for (int l = -k; l <= k; ++l)
        for (int n = k; n <= terms; ++n)
          for (int m = -n; m <= n; ++m)
            if (m - l >= -(n - k) && m - l <= n - k)
              sum[place(k, l)] = sum[place(k, l)] + conjugate(r[place(n - k, m - l)]) * from[place(n, m)];
  }
}

void potentials(const cell *cells, const int *leaves, int leaf_count, const int *near_begin, const int *near_cells,
                const double *x, const double *y, const double *z, const double *charge,
                const complex_number *locals, double *potential, int terms, double softening) {
#pragma omp target teams distribute parallel for
  for (int leaf = 0; leaf < leaf_count; ++leaf) {
    const cell &c = cells[leaves[leaf]];
    int length = (terms + 1) * (terms + 1);
    const complex_number *local = locals + (long)leaves[leaf] * length;
    complex_number r[(MOST_TERMS + 1) * (MOST_TERMS + 1)];
    for (int i = c.first; i < c.first + c.count; ++i) {
      regular_harmonics(x[i] - c.centre[0], y[i] - c.centre[1], z[i] - c.centre[2], terms, r);
      double sum = 0;
      for (int k = 0; k < length; ++k)
        sum += r[k].real * local[k].real + r[k].imaginary * local[k].imaginary;
      for (int entry = near_begin[leaves[leaf]]; entry < near_begin[leaves[leaf] + 1]; ++entry) {
        const cell &other = cells[near_cells[entry]];
        for (int j = other.first; j < other.first + other.count; ++j) {
          double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
          double square = dx * dx + dy * dy + dz * dz + softening * softening;
          sum += i == j ? 0.0 : charge[j] / std::sqrt(square);
        }
      }
      potential[i] = sum;
    }
  }
}
