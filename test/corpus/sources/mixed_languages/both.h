/* Functions and device globals shared by a C and a C++ unit. */
#ifndef BOTH_H
#define BOTH_H
#ifdef __cplusplus
extern "C" {
#endif

struct message {
  int number;
  char text[12];
};

#pragma omp declare target
extern int shared_counter;
extern struct message shared_message;
int in_c(int x);
int in_cplusplus(int x);
#pragma omp end declare target

int region_in_c(int x);

#ifdef __cplusplus
}
#endif
#endif
