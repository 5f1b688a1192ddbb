// TARGETS: x86_64 (host and GPU half precision differ)
// Exercises: 128 bit integers, vector extension types, half precision, over-aligned arrays and
// packed structs.
#include <stdio.h>

typedef int lanes __attribute__((vector_size(16)));

struct __attribute__((packed)) packed {
  char tag;
  long value;
  short tail;
};

int main(void) {
  __int128 huge = (__int128)1 << 100;
  unsigned __int128 wide = 7;
  lanes v = {1, 2, 3, 4}, w = {10, 20, 30, 40};
  _Alignas(64) int aligned[4] = {1, 2, 3, 4};
  struct packed p = {1, 1L << 50, -3};
  _Float16 half = 0.5f16;

#pragma omp target map(tofrom : huge, wide, v, aligned, p, half) map(to : w)
  {
    huge >>= 60;
    wide *= wide;
    v = v * w + 1;
    for (int i = 0; i < 4; ++i)
      aligned[i] *= 4;
    p.value >>= 48;
    p.tail *= 2;
    half *= 3;
  }
  printf("huge %lld wide %d v %d %d aligned %d packed %ld %d half %.1f\n",
         (long long)huge, (int)wide, v[0], v[3], aligned[3], p.value, p.tail, (double)half);
  int good = (long long)huge == 1LL << 40 && wide == 49 && v[3] == 161 && aligned[3] == 16 &&
             p.value == 4 && p.tail == -6 && half == 1.5f16;
  return good ? 0 : 1;
}
