#include "host/plot/sixel.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "host/base/text/text.h"
#include "host/plot/palette.h"

namespace rtrain::plot {
namespace {

constexpr size_t kBandRows = 6;

std::string in_percents(std::string_view pixels) {
  constexpr int kByte = 255;
  constexpr int kPercent = 100;
  std::string out;
  out.reserve(pixels.size());
  for (const char byte : pixels) {
    const int part = static_cast<uint8_t>(byte);
    out += static_cast<char>((part * kPercent + kByte / 2) / kByte);
  }
  return out;
}

// Writes twelve equal characters as "!12~"; repeats the character if that is not longer.
void add_repeated(std::string& out, char what, size_t count) {
  constexpr size_t kShort = 3;
  if (count > kShort) {
    out += cat("!", count, std::string_view(&what, 1));
  } else {
    out.append(count, what);
  }
}

// Writes the pixels of one colour in one band of rows.
void add_line(std::string& out, const std::vector<uint8_t>& masks) {
  constexpr char kNone = '?';  // the character for no pixel; the bits of pixels are added to it
  size_t end = masks.size();
  while (end > 0 && masks[end - 1] == 0) --end;
  for (size_t begin = 0; begin < end;) {
    size_t next = begin + 1;
    while (next < end && masks[next] == masks[begin]) ++next;
    add_repeated(out, static_cast<char>(kNone + masks[begin]), next - begin);
    begin = next;
  }
}

// Writes a band of up to six rows, one colour after the other.
void add_band(std::string& out, const IndexedPicture& picture, size_t first, size_t width,
              size_t rows) {
  std::vector<std::vector<uint8_t>> lines(picture.colours.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < width; ++column) {
      std::vector<uint8_t>& line = lines[picture.pixels[(first + row) * width + column]];
      line.resize(width);
      line[column] = static_cast<uint8_t>(line[column] | 1U << row);
    }
  }
  bool is_first = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    out += cat(is_first ? "#" : "$#", i);  // back to the beginning of the band
    add_line(out, lines[i]);
    is_first = false;
  }
}

}  // namespace

std::string sixel(std::string_view pixels, size_t width, size_t height) {
  const IndexedPicture picture = indexed(in_percents(pixels));
  std::string out = cat("\x1bP0;1q\"1;1;", width, ";", height);
  for (size_t i = 0; i < picture.colours.size(); ++i) {
    const auto& [red, green, blue] = picture.colours[i];
    out += cat("#", i, ";2;", int{red}, ";", int{green}, ";", int{blue});
  }
  for (size_t row = 0; row < height; row += kBandRows) {
    if (row > 0) out += '-';
    add_band(out, picture, row, width, std::min(kBandRows, height - row));
  }
  return out + "\x1b\\";
}

}  // namespace rtrain::plot
