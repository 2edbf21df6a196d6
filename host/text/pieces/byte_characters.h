// host/text/pieces/byte_characters.h: the characters that stand for bytes in byte-level
// vocabularies, as GPT-2 has them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace rtrain::text {

// The character of a byte: printable ones of Latin-1 stand for themselves, the others for U+0100
// on.
char32_t character_of_byte(unsigned char byte);

// "Ġa" → " a"; nullopt if a character stands for no byte.
std::optional<std::string> bytes_of_characters(std::string_view token);

std::string characters_of_bytes(std::string_view bytes);

}  // namespace rtrain::text
