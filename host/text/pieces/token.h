// host/text/pieces/token.h: a token of a piece of text.
#pragma once

#include <cstdint>
#include <string>

#include "host/text/pieces/normalized_string.h"

namespace rtrain::text {

struct Token {
  uint32_t id = 0;
  std::string text;
  Range range;  // bytes of the piece
};

}  // namespace rtrain::text
