// host/base/files/receive_buffer.h: a buffer of each thread for the bytes that it receives from
// sockets. The stack has no room for it where `ulimit -s` is small.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rtrain {

// The content is valid until the thread receives other bytes.
inline std::span<char> receive_buffer() {
  static thread_local std::vector<char> bytes(size_t{64} << 10);
  return bytes;
}

}  // namespace rtrain
