// A library as a device runtime is one: helpers that call each other, data, weak and pinned symbols, and a part that nobody needs.
extern int other(int);
int counter = 3;
static int local_helper(int x) { return x * counter; }
int api(int x) { return local_helper(x) + other(x); }
int other(int x) { return x - 1; }
int unneeded(int x) { return x; }
float scale(float x) { return x * 2.0f; }
__attribute__((weak)) int weak_one(int x) { return x; }
__attribute__((used)) int pinned = 1;
