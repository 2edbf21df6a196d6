#include "host/engine/data/images/apng.h"

#include <zlib.h>

#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "host/engine/data/images/png.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr size_t kLengthBytes = 4;
constexpr size_t kTypeBytes = 4;
constexpr size_t kCrcBytes = 4;

std::string big_endian(uint32_t number, size_t bytes = 4) {
  std::string out(bytes, '\0');
  for (size_t i = bytes; i-- > 0; number >>= 8) out[i] = static_cast<char>(number & 0xff);
  return out;
}

uint32_t number_at(std::string_view bytes) {
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

std::string chunk(std::string_view type, std::string_view data) {
  std::string body(type);
  body += data;
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(data.size())) + body +
         big_endian(static_cast<uint32_t>(crc));
}

// Calls use(type, data) for each chunk of a PNG file.
template <class Use>
void each_chunk(std::string_view png, const Use& use) {
  png.remove_prefix(kSignatureBytes);
  while (!png.empty()) {
    const size_t size = number_at(png);
    png.remove_prefix(kLengthBytes);
    use(png.substr(0, kTypeBytes), png.substr(kTypeBytes, size));
    png.remove_prefix(kTypeBytes + size + kCrcBytes);
  }
}

}  // namespace

at::Tensor encode_apng(const at::Tensor& frames, double frames_per_second, int compression_level) {
  constexpr uint32_t kDelayParts = 1000;
  const auto count = static_cast<uint32_t>(frames.size(0));
  const std::string size = big_endian(static_cast<uint32_t>(frames.size(2))) +
                           big_endian(static_cast<uint32_t>(frames.size(1)));
  const std::string delay =
      big_endian(kDelayParts, 2) +
      big_endian(static_cast<uint32_t>(std::lround(kDelayParts * frames_per_second)), 2);
  const std::string no_offset(8, '\0');
  const std::string replaces_all(2, '\0');
  std::string out;
  uint32_t sequence = 0;
  for (uint32_t at = 0; at < count; ++at) {
    const at::Tensor encoded = encode_png(frames[at], compression_level);
    const std::string_view png(static_cast<const char*>(encoded.const_data_ptr()), encoded.numel());
    const std::string control =
        chunk("fcTL", big_endian(sequence++) + size + no_offset + delay + replaces_all);
    if (at == 0) out += png.substr(0, kSignatureBytes);
    bool has_control = false;
    each_chunk(png, [&](std::string_view type, std::string_view data) {
      if (type == "IDAT") {
        if (!has_control) out += control;
        has_control = true;
        out +=
            at == 0 ? chunk(type, data) : chunk("fdAT", big_endian(sequence++) + std::string(data));
      } else if (type == "IHDR" && at == 0) {
        out += chunk(type, data) + chunk("acTL", big_endian(count) + big_endian(0));
      }
    });
  }
  out += chunk("IEND", {});
  at::Tensor result =
      empty_tensor({static_cast<int64_t>(out.size())}, at::TensorOptions().dtype(at::kByte));
  std::memcpy(result.mutable_data_ptr(), out.data(), out.size());
  return result;
}

}  // namespace rtrain::engine
