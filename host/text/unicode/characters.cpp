#include "host/text/unicode/characters.h"

#include "host/base/text/utf8.h"

namespace rtrain::text {

uint32_t bytes_of(char32_t code) {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}

void append_character(std::string& out, char32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string to_utf8(char32_t code) {
  std::string out;
  append_character(out, code);
  return out;
}

std::vector<char32_t> characters_of(std::string_view text) {
  std::vector<char32_t> out;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    out.push_back(c.code);
    at += c.bytes;
  }
  return out;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

namespace {

// How many bytes from `at` on belong together: a whole character, or the longest part of one.
// `whole` says which.
size_t part_at(std::string_view bytes, size_t at, bool& whole) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
  const unsigned char first = byte(0);
  const size_t length = utf8_length(first);
  whole = length == 1;
  if (length <= 1) return 1;
  for (size_t i = 1; i < length; ++i) {
    if (at + i == bytes.size()) return i;
    unsigned low = 0x80, high = 0xbf;
    if (i == 1 && first == 0xe0) low = 0xa0;
    if (i == 1 && first == 0xed) high = 0x9f;
    if (i == 1 && first == 0xf0) low = 0x90;
    if (i == 1 && first == 0xf4) high = 0x8f;
    if (byte(i) < low || byte(i) > high) return i;
  }
  whole = true;
  return length;
}

}  // namespace

std::string replace_invalid(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    bool whole = false;
    const size_t part = part_at(bytes, at, whole);
    if (whole) {
      out += bytes.substr(at, part);
    } else {
      out += "\xef\xbf\xbd";
    }
    at += part;
  }
  return out;
}

}  // namespace rtrain::text
