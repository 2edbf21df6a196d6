/* tests/bench/instructions/counted.h: which instructions callgrind counts, said by the program
   itself.

   What runs between the two calls, on the calling thread, goes into a dump of that name. A process
   is started with --instr-atstart=no: until the first call it is only a few times slower than
   without valgrind. Without valgrind both do nothing. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void count_begin(void);
void count_end(const char* name);

#ifdef __cplusplus
}
#endif
