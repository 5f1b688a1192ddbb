/* A target region, a global that the device has a copy of, and one that it finds through a pointer. */

int counter = 3;
#pragma omp declare target to(counter)

int table[100];
#pragma omp declare target link(table)

int main(void)
{
  int sum = 1;

#pragma omp target map(tofrom : sum)
  sum += counter;

  return sum - 4;
}
