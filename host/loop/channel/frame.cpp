#include "host/loop/channel/frame.h"

#include <cstdint>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::loop {
namespace {

constexpr size_t kLengthBytes = 4;

size_t read_length(std::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length |= size_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return length;
}

void check_length(size_t length, size_t most) {
  if (length <= most) return;
  throw Error(Code::kArgument,
              cat("a message of ", length, " bytes is above the limit of ", most, " bytes"));
}

}  // namespace

std::string to_frame(std::string_view body) {
  check_length(body.size(), kMaxFrameBytes);
  std::string out;
  out.reserve(kLengthBytes + body.size());
  add_frame_length(out, body.size());
  out.append(body);
  return out;
}

void add_frame_length(std::string& out, size_t body_bytes) {
  for (size_t i = 0; i < kLengthBytes; ++i) out.push_back(static_cast<char>(body_bytes >> (8 * i)));
}

std::optional<std::string> FrameReader::next() {
  const std::string_view rest = bytes_.bytes();
  if (rest.size() < kLengthBytes) return std::nullopt;
  const size_t length = read_length(rest);
  check_length(length, max_bytes_);
  if (rest.size() < kLengthBytes + length) return std::nullopt;
  std::string body(rest.substr(kLengthBytes, length));
  bytes_.del(kLengthBytes + length);
  return body;
}

}  // namespace rtrain::loop
