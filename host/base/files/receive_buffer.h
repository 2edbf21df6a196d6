// host/base/files/receive_buffer.h: where bytes of a socket are put until they are taken on.
//
// One for each thread, and not on its stack, which is small where `ulimit -s` says so.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rtrain {

// Its content lasts until whatever this thread calls receives bytes too.
inline std::span<char> receive_buffer() {
  static thread_local std::vector<char> bytes(size_t{64} << 10);
  return bytes;
}

}  // namespace rtrain
