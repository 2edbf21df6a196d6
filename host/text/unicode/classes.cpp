#include "host/text/unicode/classes.h"

#include <utf8proc.h>

#include <map>
#include <vector>

namespace rtrain::text {
namespace {

// Characters with the property Alphabetic that are neither letters, marks nor Nl.
bool is_other_alphabetic(char32_t c) {
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

bool is_white_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

uint16_t bits_of_category(int category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kLetter | kWord | kUpper;
    case UTF8PROC_CATEGORY_LL:
      return kLetter | kWord | kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter | kWord;
    case UTF8PROC_CATEGORY_MN:
      return kMark | kNonspacing | kWord;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark | kWord;
    case UTF8PROC_CATEGORY_ND:
      return kNumber | kWord | kDecimal;
    case UTF8PROC_CATEGORY_NL:
      return kNumber | kWord;
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
      return kPunctuation | kWord;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuation;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
      return kOther;
    default:
      return 0;
  }
}

bool has_no_characters(char32_t block) {
  const char32_t plane = block >> 8;
  return plane >= 4 && plane <= 13;
}

}  // namespace

const ClassTable& ClassTable::get() {
  static const ClassTable* const table = new ClassTable();
  return *table;
}

ClassTable::ClassTable() {
  std::map<Block, uint16_t> known;
  for (char32_t block = 0; block < 0x1100; ++block) {
    Block bits{};
    for (char32_t low = 0; low < 256 && !has_no_characters(block); ++low) {
      const char32_t code = block << 8 | low;
      bits[low] = bits_of_category(utf8proc_category(static_cast<utf8proc_int32_t>(code)));
      if (is_white_space(code)) bits[low] |= kSpace;
      if (is_other_alphabetic(code)) bits[low] |= kWord;
    }
    const auto [entry, is_new] = known.try_emplace(bits, static_cast<uint16_t>(blocks_.size()));
    if (is_new) blocks_.push_back(bits);
    first_[block] = entry->second;
  }
}

char32_t to_lower(char32_t code, char32_t& second) {
  second = 0;
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  if (code == 0x130) {
    second = 0x307;
    return 'i';
  }
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

char32_t to_upper(char32_t code) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}

}  // namespace rtrain::text
