// tests/fuzz/run_reader.h: what a fuzz target does with a reader: every refusal is an Error that
// says so, everything else ends the process.
#pragma once

#include <cstdlib>

#include "host/base/error.h"

namespace rtrain {

template <class Reader>
int run_reader(const Reader& reader) {
  try {
    reader();
  } catch (const Error& error) {
    if (error.code() == Code::kInternal) std::abort();
  }
  return 0;
}

}  // namespace rtrain
