#pragma omp begin declare target
int helper(int value) { return value * 7; }
int unused(int value) { return value * 9; }
#pragma omp end declare target
