#pragma omp begin declare target
int called_back(int value);
int archived(int value) { return called_back(value) + 100; }
#pragma omp end declare target
