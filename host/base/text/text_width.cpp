#include "host/base/text/text_width.h"

#include <algorithm>
#include <array>

#include "host/base/text/utf8.h"

namespace rtrain {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Sorted ranges, each with the unassigned characters inside.
constexpr std::array<Range, 22> kMarks = {
    {{0x300, 0x36F},   {0x483, 0x489},    {0x591, 0x5BD},   {0x610, 0x61A},   {0x64B, 0x65F},
     {0x6D6, 0x6DC},   {0x900, 0x902},    {0x93C, 0x93C},   {0x941, 0x948},   {0xE31, 0xE31},
     {0xE34, 0xE3A},   {0xE47, 0xE4E},    {0x1160, 0x11FF}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
     {0x200B, 0x200F}, {0x202A, 0x202E},  {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
     {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}}};
constexpr std::array<Range, 63> kWide = {
    {{0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
     {0x23F0, 0x23F0},   {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
     {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
     {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
     {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
     {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
     {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},
     {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},
     {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
     {0x3041, 0x3247},   {0x3250, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},
     {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
     {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1B000, 0x1B2FF},
     {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A},
     {0x1F200, 0x1F320}, {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393},
     {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F8, 0x1F53D},
     {0x1F54B, 0x1F64F}, {0x1F680, 0x1F9FF}, {0x1FA70, 0x3FFFD}}};

template <size_t kCount>
bool has(const std::array<Range, kCount>& ranges, char32_t point) {
  const auto range = std::partition_point(ranges.begin(), ranges.end(),
                                          [point](const Range& each) { return each.last < point; });
  return range != ranges.end() && range->first <= point;
}

struct Character {
  size_t bytes = 1;
  size_t columns = 1;
};

// The first character of the text.
Character first_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t length = utf8_length(first);
  if (length < 2 || length > text.size() || !is_utf8(text.substr(0, length))) return {};
  constexpr int kBitsOfEach = 6;
  constexpr unsigned kRest = 0x3F;
  char32_t point = first & (0xFFU >> (length + 1));
  for (const char next : text.substr(1, length - 1)) {
    point = point << kBitsOfEach | (static_cast<unsigned char>(next) & kRest);
  }
  if (has(kMarks, point)) return {length, 0};
  return {length, has(kWide, point) ? size_t{2} : size_t{1}};
}

}  // namespace

size_t text_width(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

size_t bytes_that_fit(std::string_view text, size_t columns) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const Character next = first_of(text.substr(bytes));
    if (next.columns > columns) break;
    columns -= next.columns;
    bytes += next.bytes;
  }
  return bytes;
}

}  // namespace rtrain
