#pragma omp begin declare target
int called_back(int value);
int native_part(int value) { return called_back(value) * 10; }
#pragma omp end declare target
