// host/loop/channel/frame.h: messages in a byte stream: a 4-byte little-endian length, then that
// many bytes.
//
// Pure: no descriptor, no thread. The bytes come from another process and are not trusted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "host/loop/channel/byte_queue.h"

namespace rtrain::loop {

inline constexpr size_t kMaxFrameBytes = size_t{1} << 20;

// Returns the frame that carries the body. Throws Error(kArgument) with both sizes when the body is
// above the cap.
std::string to_frame(std::string_view body);

// Adds what precedes a body of that length. REQUIRES: the reader's cap allows the length.
void add_frame_length(std::string& out, size_t body_bytes);

class FrameReader {
 public:
  FrameReader() = default;
  explicit FrameReader(size_t max_bytes) : max_bytes_(max_bytes) {}

  void add(std::string_view bytes) { bytes_.add(bytes); }
  // Returns the next whole body, or nothing until more bytes come. Throws Error(kArgument) for a
  // length above the cap.
  std::optional<std::string> next();
  // The number of bytes of an unfinished frame.
  size_t pending() const { return bytes_.bytes().size(); }

 private:
  size_t max_bytes_ = kMaxFrameBytes;
  ByteQueue bytes_;
};

}  // namespace rtrain::loop
