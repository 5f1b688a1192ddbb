// Tiny kernels with one argument and with ten, for libraries that differ only in how they are linked (launch-pairs.c).
//
// The loop is never entered, so a variant's code has nothing to gain: what is left of a launch's time is what launching takes. All scalars
// are used in it, where constants would be of use, so all are in the key of a launch.
void launch_with_one(int *object) {
#pragma omp target map(tofrom : object[0 : 8])
  {
    ++object[1];
    for (int i = 0; i < object[0]; ++i)
      object[2] = (object[2] << 1) ^ i;
  }
}

// The implicit argument is the tenth.
void launch_with_ten(int *object, int a, int b, int c, int d, int e, int f, int g, int h) {
#pragma omp target map(tofrom : object[0 : 8])
  {
    ++object[1];
    for (int i = 0; i < object[0]; ++i)
      object[2] = ((((((((object[2] << a) ^ i) >> b) ^ i) << c ^ i) >> d ^ i) << e ^ i) >> f ^ i) << g ^ (i >> h);
  }
}
