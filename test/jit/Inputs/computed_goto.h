// A function that no kernel with variants may use: it takes the addresses of its labels.
#pragma omp declare target
__attribute__((noinline)) int steps(int n) {
  static const void *const labels[] = {&&down, &&twice, &&done};
  int steps = 0;
  goto *labels[n % 2];
down:
  ++steps;
  --n;
  goto *labels[n <= 0 ? 2 : n % 2];
twice:
  ++steps;
  n /= 2;
  goto *labels[n <= 0 ? 2 : n % 2];
done:
  return steps;
}
#pragma omp end declare target
