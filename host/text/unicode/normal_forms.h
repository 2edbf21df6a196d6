// host/text/unicode/normal_forms.h: NFC, NFD, NFKC and NFKD, and boundaries of graphemes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rtrain::text {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// A character of the result. change: 1 for one that was inserted, -n for one that stands for n more
// characters of the source, as NormalizedString::transform takes it.
struct ChangedCharacter {
  char32_t code = 0;
  int change = 0;
};

std::vector<ChangedCharacter> normal_form(std::string_view text, NormalForm form);

// Whether NFC leaves the text as it is. False when in doubt. The table for it is made at the first
// use, once per process.
bool is_surely_nfc(std::string_view text);

// The ends of the extended grapheme clusters of the text, in bytes.
std::vector<size_t> grapheme_ends(std::string_view text);

}  // namespace rtrain::text
