// Exercises: bit-fields, bool, char, short, enum, union and 64 bit scalars in regions.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct flags {
  unsigned ready : 1;
  unsigned mode : 3;
  signed offset : 5;
  uint64_t wide : 40;
};

union word {
  uint32_t all;
  uint8_t bytes[4];
};

enum colour { RED = 3, GREEN = 250 };

int main(void) {
  struct flags flags = {0, 5, -7, 1};
  union word word = {.all = 0};
  bool yes = true, result = false;
  char letter = 'a';
  signed char negative = -100;
  short little = -32000;
  uint16_t wrap = 65535;
  int64_t big = INT64_C(1) << 40;
  enum colour colour = GREEN;

#pragma omp target map(tofrom : flags, word, result, letter, little, wrap, big)
  {
    flags.ready = yes;
    flags.mode += 2;
    flags.offset -= 4;
    flags.wide <<= 39;
    for (int i = 0; i < 4; ++i)
      word.bytes[i] = 0x11;
    result = yes && negative < 0;
    letter += 2;
    little -= 768;
    wrap += 1;
    big += colour + RED;
  }

  printf("flags %u %u %d %llu word %x result %d letter %c little %d wrap %u big %lld\n",
         flags.ready, flags.mode, flags.offset, (unsigned long long)flags.wide, word.all, result,
         letter, little, wrap, (long long)big);
  return flags.mode == 7 && flags.offset == -11 && word.all == 0x11111111u && result &&
                 letter == 'c' && little == -32768 && wrap == 0 && big == 1099511628029
             ? 0
             : 1;
}
