// Exercises: objects with constructors, destructors, moves and assignment living inside a region,
// their order of destruction, temporaries and early exits, without exceptions.
#include <cstdio>
#include <utility>

#pragma omp begin declare target
int alive = 0;

class trace {
  int *log, *used;
  int id;

public:
  trace(int *l, int *u, int i) : log(l), used(u), id(i) { ++alive; }
  trace(const trace &o) : trace(o.log, o.used, o.id + 1) {}
  trace(trace &&o) noexcept : trace(o.log, o.used, o.id) { o.id = 0; }
  trace &operator=(trace o) noexcept {
    std::swap(id, o.id);
    return *this;
  }
  ~trace() {
    --alive;
    if (id)
      log[(*used)++] = id;
  }
};

trace pass_through(trace t) { return t; }
void leave_early(int *log, int *used, bool early) {
  trace outer(log, used, 500);
  if (early)
    return;
  trace inner(log, used, 600);
}
#pragma omp end declare target

int main() {
  int log[16] = {0}, used = 0, left = -1;
#pragma omp target map(tofrom : log, used) map(from : left)
  {
    {
      trace a(log, &used, 10);
      trace b = pass_through(trace(log, &used, 20));
      trace c(a);
      c = std::move(b);
    }
    for (int i = 0; i < 2; ++i)
      leave_early(log, &used, i == 0);
    trace list[2] = {{log, &used, 900}, {log, &used, 901}};
    left = alive;
  }
  for (int i = 0; i < used; ++i)
    std::printf("%d ", log[i]);
  std::printf("used %d left %d\n", used, left);
  return left == 2 && log[used - 1] == 900 && log[used - 2] == 901 ? 0 : 1;
}
