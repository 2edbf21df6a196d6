/* tests/bench/instructions/counted.h: lets a program choose the instructions that are counted.

   The instructions of the calling thread between the two calls go into a dump with the given name.
   The process is started with --instr-atstart=no: until the first call it is only a few times
   slower than without valgrind. Without valgrind both functions do nothing. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void count_begin(void);
void count_end(const char* name);

#ifdef __cplusplus
}
#endif
