// host/base/codec/png_header.h: what a PNG says at its beginning. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rtrain {

struct PngHeader {
  uint32_t width = 0;
  uint32_t height = 0;
  int channels = 3;  // colours of a palette count as three
};

// nullopt for bytes that are not of a PNG.
std::optional<PngHeader> read_png_header(std::string_view png);

}  // namespace rtrain
