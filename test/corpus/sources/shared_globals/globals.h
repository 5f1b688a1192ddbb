// Globals that one unit defines and several units' regions use, in every declare target form.
#ifndef GLOBALS_H
#define GLOBALS_H

struct stage {
  int id;
  int visits;
  stage(int i);
  ~stage();
};

#pragma omp begin declare target
extern int plain;
extern const int fixed;
extern int table[8];
extern stage constructed;
namespace space {
extern double real;
}
struct holder {
  static int member;
};
int shared_function(int x);
#pragma omp end declare target

extern int linked[4];
#pragma omp declare target link(linked)

int visit_from_user();
#endif
