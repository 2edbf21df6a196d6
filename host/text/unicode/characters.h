// host/text/unicode/characters.h: reads and writes the characters of text that is known to be
// UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::text {

struct Character {
  char32_t code = 0;
  uint32_t bytes = 1;
};

// The number of bytes of the character that begins with this byte, for UTF-8 alone.
inline uint32_t bytes_of_first(unsigned char first) {
  if (first < 0x80) return 1;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// REQUIRES: at is the first byte of a whole character.
inline Character character_at(const char* at) {
  const auto* p = reinterpret_cast<const unsigned char*>(at);
  if (p[0] < 0x80) return {p[0], 1};
  if (p[0] < 0xe0) return {static_cast<char32_t>((p[0] & 0x1f) << 6 | (p[1] & 0x3f)), 2};
  if (p[0] < 0xf0) {
    return {static_cast<char32_t>((p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f)), 3};
  }
  return {static_cast<char32_t>((p[0] & 0x07) << 18 | (p[1] & 0x3f) << 12 | (p[2] & 0x3f) << 6 |
                                (p[3] & 0x3f)),
          4};
}

inline Character character_at(std::string_view text, size_t at) {
  return character_at(text.data() + at);
}

// The position of the first byte of the character that ends before `end`.
inline size_t start_of_last(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  return end;
}

uint32_t bytes_of(char32_t code);
void append_character(std::string& out, char32_t code);
std::string to_utf8(char32_t code);
std::vector<char32_t> characters_of(std::string_view text);
size_t count_characters(std::string_view text);

// Returns UTF-8: U+FFFD replaces each longest part of a character that is not whole, as Python's
// errors='replace' does.
std::string replace_invalid(std::string_view bytes);

}  // namespace rtrain::text
