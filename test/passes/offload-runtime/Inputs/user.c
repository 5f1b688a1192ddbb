// What is linked against library.c. `unresolved` is in no library.
int api(int);
float scale(float);
int weak_one(int);
int unresolved(int);
extern int counter;
int f(int x) { return api(x) + counter + unresolved(x) + weak_one(x); }
float g(float x) { return scale(x); }
__attribute__((cold)) void h(void) {}
