#include "host/cli/pictures.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "host/plot/half_blocks.h"

namespace rtrain {
namespace {

TerminalColours colours_of_terminal() {
  const char* known = std::getenv("COLORTERM");
  const std::string_view name = known == nullptr ? "" : known;
  return name == "truecolor" || name == "24bit" ? TerminalColours::kAll : TerminalColours::kPalette;
}

}  // namespace

size_t picture_size(size_t columns) {
  constexpr size_t kLargest = 64;
  return std::min(kLargest, std::max<size_t>(columns, 2) - 1);
}

void print_pictures(const List& pictures) {
  for (const Value& picture : pictures) {
    std::cout << "\n" << picture["label"].as_string() << "\n";
    for (const std::string& line :
         half_blocks(picture["pixels"].as_string(), static_cast<size_t>(picture["width"].as_int()),
                     static_cast<size_t>(picture["height"].as_int()), colours_of_terminal())) {
      std::cout << line << "\n";
    }
  }
}

}  // namespace rtrain
