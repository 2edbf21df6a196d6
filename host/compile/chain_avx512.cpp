#if defined(__x86_64__)
#define RT_CHAIN_SET avx512
#include "host/compile/chain_links.h"

const rtrain::compile::ChainFunctions* rtrain::compile::avx512_chain_functions() {
  return avx512::functions();
}
#endif
