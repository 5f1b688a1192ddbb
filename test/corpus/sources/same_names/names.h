// What the units of this program tell each other.
#ifndef NAMES_H
#define NAMES_H
int run_first(int x);
int run_second(int x);
namespace nested::second {
int run(int x);
}
#endif
