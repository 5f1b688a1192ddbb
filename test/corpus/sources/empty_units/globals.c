// Exercises: a unit that holds only a declare target global.
#pragma omp begin declare target
int global_of_unit = 17;
#pragma omp end declare target
