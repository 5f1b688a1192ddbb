// Exercises: requires unified_shared_memory: its own entry on the host, host pointers in regions.
#include <stdio.h>
#include <stdlib.h>

#pragma omp requires unified_shared_memory

int global_counter = 3;
#pragma omp declare target to(global_counter)

struct node {
  int value;
  struct node *next;
};

int main(void) {
  struct node *head = NULL;
  for (int i = 1; i <= 10; ++i) {
    struct node *node = malloc(sizeof *node);
    node->value = i * i;
    node->next = head;
    head = node;
  }

  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (struct node *node = head; node; node = node->next) {
    node->value += 1;
    sum += node->value;
  }

#pragma omp target
  global_counter += 4;

  int again = 0;
  while (head) {
    struct node *next = head->next;
    again += head->value;
    free(head);
    head = next;
  }
  printf("sum %d again %d counter %d\n", sum, again, global_counter);
  return sum == 395 && again == 395 && global_counter == 7 ? 0 : 1;
}
