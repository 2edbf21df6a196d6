#include "host/text/pieces/byte_characters.h"

#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr char32_t kLast = 0x143;

struct Tables {
  Tables() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      characters[byte] = stands_for_itself(byte) ? byte : next++;
      bytes[characters[byte]] = static_cast<int16_t>(byte);
    }
  }
  std::array<char32_t, 256> characters;
  std::array<int16_t, kLast + 1> bytes;
};

const Tables& tables() {
  static const Tables tables;
  return tables;
}

// The byte of a character; nullopt for one that stands for none.
std::optional<unsigned char> byte_of_character(char32_t code) {
  if (code > kLast || tables().bytes[code] < 0) return {};
  return static_cast<unsigned char>(tables().bytes[code]);
}

}  // namespace

char32_t character_of_byte(unsigned char byte) { return tables().characters[byte]; }

std::optional<std::string> bytes_of_characters(std::string_view token) {
  std::string out;
  for (size_t at = 0; at < token.size();) {
    const Character c = character_at(token, at);
    const auto byte = byte_of_character(c.code);
    if (!byte) return {};
    out += static_cast<char>(*byte);
    at += c.bytes;
  }
  return out;
}

std::string characters_of_bytes(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    append_character(out, character_of_byte(static_cast<unsigned char>(byte)));
  }
  return out;
}

}  // namespace rtrain::text
