#if defined(__x86_64__)
#define RT_CHAIN_SET avx2
#include "host/compile/chain_links.h"

const rtrain::compile::ChainFunctions* rtrain::compile::avx2_chain_functions() {
  return avx2::functions();
}
#endif
