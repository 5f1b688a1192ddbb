// Exercises: a unit of declare target functions without regions and without globals.
#pragma omp begin declare target
int function_of_unit(int x) { return 2 * x; }
#pragma omp end declare target
