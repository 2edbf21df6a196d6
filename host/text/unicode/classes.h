// host/text/unicode/classes.h: the class of a character, as a table look-up.
//
// The tables are made of libutf8proc's at the first use, once per process, and never freed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rtrain::text {

// Bits of a character's class.
enum ClassBit : uint16_t {
  kLetter = 1,        // \p{L}
  kNumber = 2,        // \p{N}
  kSpace = 4,         // White_Space
  kMark = 8,          // \p{M}
  kNonspacing = 16,   // \p{Mn}
  kPunctuation = 32,  // \p{P}
  kOther = 64,        // Cc, Cf, Co
  kUpper = 128,       // Lu, Lt
  kLower = 256,       // Ll
  kWord = 512,      // letters, marks, decimal digits, connecting punctuation, other alphabetic ones
  kDecimal = 2048,  // Nd
};

class ClassTable {
 public:
  static const ClassTable& get();

  // REQUIRES: code <= 0x10ffff.
  uint16_t of(char32_t code) const { return blocks_[first_[code >> 8]][code & 0xff]; }
  uint16_t ascii(unsigned char code) const { return blocks_[0][code]; }

 private:
  ClassTable();
  using Block = std::array<uint16_t, 256>;
  std::array<uint16_t, 0x1100> first_;
  std::vector<Block> blocks_;
};

inline uint16_t class_of(char32_t code) { return ClassTable::get().of(code); }
inline bool is_space(char32_t code) { return class_of(code) & kSpace; }
// As Rust's \w has it: with the joiners of zero width.
inline bool is_word(char32_t code) {
  return (class_of(code) & kWord) || code == 0x200c || code == 0x200d;
}

// Lower case without context; U+0130 alone becomes two characters, the second is `second`, 0 for
// none.
char32_t to_lower(char32_t code, char32_t& second);
char32_t to_upper(char32_t code);

}  // namespace rtrain::text
