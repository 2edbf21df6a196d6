#include "counted.h"

#include <valgrind/callgrind.h>

void count_begin(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

void count_end(const char* name) { CALLGRIND_DUMP_STATS_AT(name); }
