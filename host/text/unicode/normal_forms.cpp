#include "host/text/unicode/normal_forms.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>

#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr size_t kLongestDecomposition = 32;
using Decomposition = std::array<utf8proc_int32_t, kLongestDecomposition>;

size_t decompose(char32_t code, bool compatible, Decomposition& out) {
  const int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  int last_class = 0;
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), out.data(), out.size(),
                              static_cast<utf8proc_option_t>(options), &last_class);
  return count > 0 ? static_cast<size_t>(count) : 0;
}

int combining_class(char32_t code) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
}

std::optional<char32_t> compose(char32_t first, char32_t second) {
  std::array<utf8proc_int32_t, 2> pair = {static_cast<utf8proc_int32_t>(first),
                                          static_cast<utf8proc_int32_t>(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  if (utf8proc_normalize_utf32(pair.data(), 2, options) != 1) return {};
  return static_cast<char32_t>(pair[0]);
}

// Orders marks of one character by their classes.
void sort_marks(std::vector<ChangedCharacter>& characters) {
  const auto is_mark = [](const ChangedCharacter& c) { return combining_class(c.code) != 0; };
  for (auto at = characters.begin(); at != characters.end();) {
    at = std::find_if(at, characters.end(), is_mark);
    const auto end = std::find_if_not(at, characters.end(), is_mark);
    std::stable_sort(at, end, [](const ChangedCharacter& a, const ChangedCharacter& b) {
      return combining_class(a.code) < combining_class(b.code);
    });
    at = end;
  }
}

std::vector<ChangedCharacter> decomposed(std::string_view text, bool compatible) {
  std::vector<ChangedCharacter> out;
  Decomposition parts;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    at += c.bytes;
    const size_t count = c.code < 0x80 ? 0 : decompose(c.code, compatible, parts);
    if (count == 0) out.push_back({c.code, 0});
    for (size_t i = 0; i < count; ++i) {
      out.push_back({static_cast<char32_t>(parts[i]), i == 0 ? 0 : 1});
    }
  }
  sort_marks(out);
  return out;
}

// Composes in place: a mark joins the last starter unless one of its class or a higher one stands
// between them.
void compose_all(std::vector<ChangedCharacter>& characters) {
  size_t kept = 0, starter = 0;
  bool has_starter = false;
  int last_class = -1;
  for (const ChangedCharacter& c : characters) {
    const int its_class = combining_class(c.code);
    if (has_starter && last_class < its_class) {
      if (const auto composed = compose(characters[starter].code, c.code)) {
        characters[starter] = {*composed, characters[starter].change + c.change - 1};
        continue;
      }
    }
    if (its_class == 0) {
      starter = kept;
      has_starter = true;
      last_class = -1;
    } else {
      last_class = its_class;
    }
    characters[kept++] = c;
  }
  characters.resize(kept);
}

}  // namespace

std::vector<ChangedCharacter> normal_form(std::string_view text, NormalForm form) {
  auto out = decomposed(text, form == NormalForm::kNfkc || form == NormalForm::kNfkd);
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) compose_all(out);
  return out;
}

namespace {

// For each code: whether the character and its neighbours are never changed by NFC because of it.
std::vector<bool> stable_in_nfc() {
  std::vector<bool> stable(0x110000, true);
  Decomposition parts;
  for (char32_t code = 0; code < 0x30000; ++code) {
    if (combining_class(code) != 0) stable[code] = false;
    const bool is_hangul = code >= 0xac00 && code <= 0xd7a3;
    const size_t count = is_hangul ? 0 : decompose(code, false, parts);
    if (count == 0 || (count == 1 && static_cast<char32_t>(parts[0]) == code)) continue;
    const auto composed = normal_form(to_utf8(code), NormalForm::kNfc);
    if (composed.size() != 1 || composed[0].code != code) stable[code] = false;
    for (size_t i = 1; i < count; ++i) stable[static_cast<char32_t>(parts[i])] = false;
  }
  for (char32_t code = 0x1161; code <= 0x11c2; ++code) stable[code] = false;
  return stable;
}

}  // namespace

bool is_surely_nfc(std::string_view text) {
  static const auto* const stable = new std::vector<bool>(stable_in_nfc());
  for (size_t at = 0; at < text.size();) {
    if (static_cast<signed char>(text[at]) >= 0) {
      ++at;
      continue;
    }
    const Character c = character_at(text, at);
    if (!(*stable)[c.code]) return false;
    at += c.bytes;
  }
  return true;
}

std::vector<size_t> grapheme_ends(std::string_view text) {
  std::vector<size_t> out;
  utf8proc_int32_t state = 0, before = -1;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    const auto code = static_cast<utf8proc_int32_t>(c.code);
    if (before >= 0 && utf8proc_grapheme_break_stateful(before, code, &state)) out.push_back(at);
    before = code;
    at += c.bytes;
  }
  if (!text.empty()) out.push_back(text.size());
  return out;
}

}  // namespace rtrain::text
