// Exercises: a unit in which OpenMP has nothing to do.
int plain_host(int x) { return x + x; }
