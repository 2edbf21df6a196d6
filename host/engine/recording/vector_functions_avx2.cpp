#if defined(__x86_64__)
#include "host/engine/recording/vector_functions.h"

const rtrain::engine::VectorTable* rtrain::engine::avx2_functions() {
  return CPU_CAPABILITY::has_sleef() ? &CPU_CAPABILITY::kTable : nullptr;
}
#endif
