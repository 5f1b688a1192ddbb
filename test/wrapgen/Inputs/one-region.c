int total = 1;
#pragma omp declare target(total)

int main(void) {
#pragma omp target
  total += 41;
#pragma omp target update from(total)
  return total != 42;
}
