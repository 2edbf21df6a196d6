#include "host/base/codec/png_header.h"

namespace rtrain {
namespace {

uint32_t big_endian(std::string_view bytes) {
  uint32_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

int channels_of(char colour_type) {
  switch (colour_type) {
    case 0:
      return 1;
    case 4:
      return 2;
    case 6:
      return 4;
    default:
      return 3;
  }
}

}  // namespace

std::optional<PngHeader> read_png_header(std::string_view png) {
  constexpr size_t kHeaderBytes = 26;
  if (png.size() < kHeaderBytes || !png.starts_with("\x89PNG")) return std::nullopt;
  return PngHeader{.width = big_endian(png.substr(16, 4)),
                   .height = big_endian(png.substr(20, 4)),
                   .channels = channels_of(png[25])};
}

}  // namespace rtrain
