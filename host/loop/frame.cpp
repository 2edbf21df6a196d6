#include "host/loop/frame.h"

#include <cstdint>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr size_t kLengthBytes = 4;

size_t read_length(std::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length |= size_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return length;
}

void check_length(size_t length) {
  if (length <= kMaxFrameBytes) return;
  throw Error(Code::kArgument, cat("a message of ", length, " bytes is above the limit of ",
                                   kMaxFrameBytes, " bytes"));
}

}  // namespace

std::string to_frame(std::string_view body) {
  check_length(body.size());
  std::string out;
  out.reserve(kLengthBytes + body.size());
  for (size_t i = 0; i < kLengthBytes; ++i)
    out.push_back(static_cast<char>(body.size() >> (8 * i)));
  out.append(body);
  return out;
}

std::optional<std::string> FrameReader::next() {
  const std::string_view rest = bytes_.bytes();
  if (rest.size() < kLengthBytes) return std::nullopt;
  const size_t length = read_length(rest);
  check_length(length);
  if (rest.size() < kLengthBytes + length) return std::nullopt;
  std::string body(rest.substr(kLengthBytes, length));
  bytes_.del(kLengthBytes + length);
  return body;
}

}  // namespace rtrain
