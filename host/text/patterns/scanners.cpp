#include "host/text/patterns/scanners.h"

#include <array>
#include <utility>

#include "host/text/unicode/characters.h"
#include "host/text/unicode/classes.h"

namespace rtrain::text {

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

// A cursor with the class of the character under it; 0 bytes at the end.
struct Cursor {
  Cursor(const char* at, const char* end) : table(&ClassTable::get()), at(at), end(end) { look(); }

  void look() {
    if (at == end) {
      bits = 0;
      bytes = 0;
      code = 0;
    } else if (static_cast<signed char>(*at) >= 0) {
      code = static_cast<unsigned char>(*at);
      bytes = 1;
      bits = table->ascii(static_cast<unsigned char>(code));
    } else {
      const Character c = character_at(at);
      code = c.code;
      bytes = c.bytes;
      bits = table->of(code);
    }
  }
  void next() {
    at += bytes;
    look();
  }
  bool at_end() const { return bytes == 0; }
  void skip(uint16_t wanted) {
    while (bits & wanted) next();
  }

  const ClassTable* table;
  const char* at;
  const char* end;
  char32_t code = 0;
  uint32_t bytes = 0;
  uint16_t bits = 0;
};

// "'s", "'re" and so on; the end, or `at`.
template <bool kAnyCase>
const char* contraction(const char* at, const char* end) {
  const auto letter = [&](size_t i) -> char {
    if (at + i >= end) return 0;
    const char c = at[i];
    return kAnyCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  switch (letter(1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return at + 2;
    case 'r':
    case 'v':
      return letter(2) == 'e' ? at + 3 : at;
    case 'l':
      return letter(2) == 'l' ? at + 3 : at;
    case '\xc5':  // U+017F, the long s, is an s in any case
      return kAnyCase && letter(2) == '\xbf' ? at + 3 : at;
    default:
      return at;
  }
}

// \s+(?!\S)|\s+ from a white space on: all of them at the end of the text, else all but the last
// one, unless that is the only one.
const char* scan_spaces(const char* at, const char* end) {
  Cursor c(at, end);
  const char* last = at;
  while (c.bits & kSpace) {
    last = c.at;
    c.next();
  }
  return c.at == end || last == at ? c.at : last;
}

// \s*[\r\n]+: the end of the last line break among the spaces from `at` on; `at` without one.
const char* scan_line_breaks(const char* at, const char* end) {
  const char* found = at;
  for (Cursor c(at, end); c.bits & kSpace; c.next()) {
    if (c.code == '\n' || c.code == '\r') found = c.at + 1;
  }
  return found;
}

bool is_line_break(char32_t code) { return code == '\n' || code == '\r'; }

// \p{N}{1,most}
template <int kMostDigits>
const char* scan_digits(Cursor c) {
  for (int i = 0; i < kMostDigits && (c.bits & kNumber); ++i) c.next();
  return c.at;
}

// [^\s\p{L}\p{N}]+ and then line breaks, with slashes among them for o200k.
const char* scan_symbols(Cursor c, bool with_slashes) {
  while (!c.at_end() && !(c.bits & (kSpace | kLetter | kNumber))) c.next();
  while (is_line_break(c.code) || (with_slashes && c.code == '/')) {
    if (c.at_end()) break;
    c.next();
  }
  return c.at;
}

bool is_symbol(const Cursor& c) { return !c.at_end() && !(c.bits & (kSpace | kLetter | kNumber)); }

template <int kMostDigits>
const char* scan_cl100k_like(const char* at, const char* end) {
  Cursor c(at, end);
  if (c.code == '\'') {
    const char* found = contraction<true>(at, end);
    if (found != at) return found;
  }
  if (c.bits & kLetter) {
    c.skip(kLetter);
    return c.at;
  }
  if (c.bits & kNumber) return scan_digits<kMostDigits>(c);
  Cursor second = c;
  second.next();
  if (!is_line_break(c.code) && (second.bits & kLetter)) {
    second.skip(kLetter);
    return second.at;
  }
  if (is_symbol(c)) return scan_symbols(c, false);
  if (c.code == ' ' && is_symbol(second)) return scan_symbols(second, false);
  const char* breaks = scan_line_breaks(at, end);
  return breaks != at ? breaks : scan_spaces(at, end);
}

constexpr uint16_t kAnyLetter = kLetter | kMark;

// The sets of o200k: [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and [\p{Ll}\p{Lm}\p{Lo}\p{M}].
bool is_upper_like(const Cursor& c) { return (c.bits & kAnyLetter) && !(c.bits & kLower); }
bool is_lower_like(const Cursor& c) { return (c.bits & kAnyLetter) && !(c.bits & kUpper); }

const char* with_contraction(const char* at, const char* end) {
  return at < end && *at == '\'' ? contraction<true>(at, end) : at;
}

// U*L+ or else U+L*, from a letter or mark on; null if neither is there.
const char* scan_cased(Cursor c) {
  const char* const begin = c.at;
  const char* last_both = nullptr;  // the last character of U* that is in L too
  const char* after_both = nullptr;
  while (is_upper_like(c)) {
    const bool both = is_lower_like(c);
    const char* const here = c.at;
    c.next();
    if (both) {
      last_both = here;
      after_both = c.at;
    }
  }
  if (is_lower_like(c)) {
    while (is_lower_like(c)) c.next();
    return c.at;
  }
  // U* gives back characters until L+ can begin with one of them, which is then the last.
  if (last_both != nullptr) return after_both;
  return c.at != begin ? c.at : nullptr;
}

}  // namespace

const char* scan_gpt2(const char* at, const char* end) {
  if (*at == '\'') {
    const char* found = contraction<false>(at, end);
    if (found != at) return found;
  }
  Cursor c(at, end);
  if (c.code == ' ') {
    Cursor second = c;
    second.next();
    if (!second.at_end() && !(second.bits & kSpace)) c = second;
  }
  if (c.bits & kSpace) return scan_spaces(at, end);
  if (c.bits & kLetter) {
    c.skip(kLetter);
  } else if (c.bits & kNumber) {
    c.skip(kNumber);
  } else {
    while (is_symbol(c)) c.next();
  }
  return c.at;
}

namespace {

// The pattern of cl100k and Llama 3 takes one to three digits, that of Qwen 2 one.
const char* scan_cl100k(const char* at, const char* end) { return scan_cl100k_like<3>(at, end); }
const char* scan_qwen2(const char* at, const char* end) { return scan_cl100k_like<1>(at, end); }

const char* scan_o200k(const char* at, const char* end) {
  Cursor c(at, end);
  const bool may_lead = !is_line_break(c.code) && !(c.bits & (kLetter | kNumber));
  Cursor second = c;
  second.next();
  // The first character is optional and taken where the rest still fits; a mark is both.
  for (const bool needs_lower : {true, false}) {
    for (const bool leads : {true, false}) {
      if (leads && !may_lead) continue;
      const Cursor& from = leads ? second : c;
      const char* found = scan_cased(from);
      if (found == nullptr) continue;
      // U*L+ fits only if there is one of L before the end.
      bool has_lower = false;
      for (Cursor each = from; each.at < found && !has_lower; each.next()) {
        has_lower = is_lower_like(each);
      }
      if (needs_lower != has_lower) continue;
      return with_contraction(found, end);
    }
  }
  if (c.bits & kNumber) return scan_digits<3>(c);
  if (is_symbol(c)) return scan_symbols(c, true);
  if (c.code == ' ' && is_symbol(second)) return scan_symbols(second, true);
  const char* breaks = scan_line_breaks(at, end);
  return breaks != at ? breaks : scan_spaces(at, end);
}

}  // namespace

std::optional<WordScanner> known_scanner(std::string_view expression) {
  static constexpr std::string_view kCl100kHead =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  static constexpr std::string_view kCl100kTail =
      R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view kO200k =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
      R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  if (expression == kGpt2Pattern) return &scan_gpt2;
  if (expression == kO200k) return &scan_o200k;
  if (!expression.starts_with(kCl100kHead) || !expression.ends_with(kCl100kTail)) return {};
  const std::string_view digits = expression.substr(
      kCl100kHead.size(), expression.size() - kCl100kHead.size() - kCl100kTail.size());
  if (digits == R"(\p{N}{1,3})") return &scan_cl100k;
  if (digits == R"(\p{N})") return &scan_qwen2;
  return {};
}

namespace {

class ScannerPattern final : public Pattern {
 public:
  explicit ScannerPattern(WordScanner scanner) : scanner_(scanner) {}

  void find(std::string_view text, std::vector<Match>& out) const override {
    if (text.empty()) return out.push_back({0, 0, false});
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    for (const char* at = begin; at < end;) {
      const char* const next = scanner_(at, end);
      out.push_back({static_cast<size_t>(at - begin), static_cast<size_t>(next - begin), true});
      at = next;
    }
  }

 private:
  WordScanner scanner_;
};

}  // namespace

PatternPointer scanner_pattern(WordScanner scanner) {
  return std::make_shared<ScannerPattern>(scanner);
}

}  // namespace rtrain::text
