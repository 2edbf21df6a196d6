#include "host/text/normalizers/precompiled.h"

#include <algorithm>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/utf8.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

// A unit of the double array, as the library Darts-clone writes it.
bool has_leaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t value_of(uint32_t unit) { return unit & 0x7fffffff; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000ff; }
uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

[[noreturn]] void refuse() {
  throw Error(Code::kArgument, "normalizer: 'precompiled_charsmap' is damaged");
}

// The characters of `made` in the place of those of `source`.
void append(std::vector<ChangedCharacter>& out, std::string_view source, std::string_view made) {
  const size_t begin = out.size();
  for (const char32_t code : characters_of(made)) out.push_back({code, 0});
  const auto added = static_cast<int>(out.size() - begin);
  const int more = added - static_cast<int>(count_characters(source));
  if (more < 0 && !out.empty()) out.back().change += more;
  for (int i = 0; i < more; ++i) out[out.size() - 1 - static_cast<size_t>(i)].change = 1;
}

}  // namespace

Precompiled::Precompiled(std::string_view table) {
  uint32_t size = 0;
  if (table.size() < sizeof size) refuse();
  std::memcpy(&size, table.data(), sizeof size);
  if (size > table.size() - sizeof size || size % sizeof(uint32_t) != 0) refuse();
  units_.resize(size / sizeof(uint32_t));
  std::memcpy(units_.data(), table.data() + sizeof size, size);
  replacements_ = table.substr(sizeof size + size);
  if (!is_utf8(replacements_)) refuse();
}

std::optional<std::string_view> Precompiled::find(std::string_view text) const {
  if (units_.empty()) return {};
  size_t at = offset_of(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return {};
    at ^= byte;
    if (at >= units_.size()) return {};
    const uint32_t unit = units_[at];
    if (label_of(unit) != byte) return {};
    at ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    const size_t begin = at < units_.size() ? value_of(units_[at]) : replacements_.size();
    if (begin >= replacements_.size()) return {};
    const std::string_view rest = std::string_view(replacements_).substr(begin);
    if ((static_cast<unsigned char>(rest[0]) & 0xc0) == 0x80) return {};
    return rest.substr(0, rest.find('\0'));
  }
  return {};
}

void Precompiled::normalize(NormalizedString& text) const {
  std::vector<ChangedCharacter> out;
  const std::string& source = text.text();
  bool is_changed = false;
  size_t begin = 0;
  const auto keep = [&](std::string_view part) {
    for (const char32_t code : characters_of(part)) out.push_back({code, 0});
  };
  for (const size_t end : grapheme_ends(source)) {
    const std::string_view grapheme = std::string_view(source).substr(begin, end - begin);
    begin = end;
    if (grapheme.size() < 6) {
      if (const auto made = find(grapheme)) {
        is_changed = true;
        append(out, grapheme, *made);
        continue;
      }
    }
    for (size_t at = 0; at < grapheme.size();) {
      const uint32_t bytes = bytes_of_first(static_cast<unsigned char>(grapheme[at]));
      const std::string_view character = grapheme.substr(at, bytes);
      at += bytes;
      if (const auto made = find(character)) {
        is_changed = true;
        append(out, character, *made);
      } else {
        keep(character);
      }
    }
  }
  if (is_changed) text.transform(out);
}

}  // namespace rtrain::text
