int call_back(int value);
int twice_and_one(int value) { return 2 * call_back(value) + 1; }
