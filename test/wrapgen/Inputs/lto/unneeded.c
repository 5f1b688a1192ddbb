#pragma omp begin declare target
int unneeded(int value) { return value - 1; }
#pragma omp end declare target
