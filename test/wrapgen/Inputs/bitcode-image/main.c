#pragma omp begin declare target
int total = 3;
int helper(int value);
#pragma omp end declare target

int main(void) {
  int value = 1;
#pragma omp target map(tofrom : value)
  value = helper(value) + total;
  return value;
}
