// Exercises: definitions of declare target globals and functions that another unit uses.
#include "globals.h"

#pragma omp begin declare target
int plain = 3;
extern const int fixed = 50;
int table[8] = {1, 2, 3};
stage::stage(int i) : id(i), visits(0) {}
stage::~stage() { id = -1; }
stage constructed(12);
namespace space {
double real = 0.75;
}
int holder::member = 8;
int shared_function(int x) { return x + plain; }
#pragma omp end declare target

int linked[4] = {1, 1, 2, 3};
