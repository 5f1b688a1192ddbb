// Exercises: regions launched from host parallel, sections, tasks, taskloops and several threads at
// once, on several devices, and under try blocks.
#include <cstdio>
#include <stdexcept>

static int on_device(int x, int device) {
  int result = 0;
#pragma omp target device(device) map(from : result)
  result = x * x;
  return result;
}

int main() {
  int squares[16] = {0}, sections[2] = {0}, tasks[6] = {0};
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 16; ++i)
    squares[i] = on_device(i, i % 4);

#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    sections[0] = on_device(11, 0);
#pragma omp section
    {
#pragma omp target map(from : sections[1])
      sections[1] = 5;
    }
  }

#pragma omp parallel num_threads(2)
#pragma omp single
  {
    for (int i = 0; i < 6; ++i) {
#pragma omp task firstprivate(i)
      {
#pragma omp target map(tofrom : tasks[i])
        tasks[i] += 10 + i;
      }
    }
#pragma omp taskwait
#pragma omp taskloop
    for (int i = 0; i < 6; ++i)
      tasks[i] += on_device(1, 2);
  }

  int caught = 0;
  try {
#pragma omp target map(from : caught)
    caught = 3;
    if (caught == 3)
      throw std::runtime_error("after the region");
  } catch (const std::exception &) {
#pragma omp target map(tofrom : caught)
    caught *= 2;
  }

  int sum = 0, task_sum = 0;
  for (int s : squares)
    sum += s;
  for (int t : tasks)
    task_sum += t;
  std::printf("squares %d sections %d %d tasks %d caught %d\n", sum, sections[0], sections[1],
              task_sum, caught);
  return sum == 1240 && sections[0] == 121 && sections[1] == 5 && task_sum == 81 && caught == 6 ? 0
                                                                                               : 1;
}
