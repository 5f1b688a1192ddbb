// Exercises: the included region in another unit.
#define FACTOR 100
int in_other_unit(int value) {
#include "body.inc"
  return value;
}
