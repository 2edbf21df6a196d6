#include "host/base/codec/json_scan.h"

#include <array>
#include <cstdint>

#include "host/base/codec/json.h"
#include "host/base/error.h"

namespace rtrain {
namespace {

// A set of characters with a fast search.
class Characters {
 public:
  constexpr explicit Characters(std::string_view all) {
    for (const char c : all) is_one_[static_cast<uint8_t>(c)] = true;
  }
  // The first position from `place` on that has one of them; the text's size if there is none.
  size_t find(std::string_view text, size_t place) const {
    while (place < text.size() && !is_one_[static_cast<uint8_t>(text[place])]) ++place;
    return place < text.size() ? place : text.size();
  }

 private:
  std::array<bool, 256> is_one_{};
};

constexpr Characters kInString("\"\\");
constexpr Characters kBehindScalar(",]} \n\t\r");
constexpr Characters kInNested("\"{}[]");

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  bool at_end() const { return place_ >= text_.size(); }
  // Skips white space and returns the next character; 0 at the end.
  char next() {
    while (!at_end() && (text_[place_] == ' ' || text_[place_] == '\n' || text_[place_] == '\t' ||
                         text_[place_] == '\r')) {
      ++place_;
    }
    return at_end() ? '\0' : text_[place_];
  }
  bool take(char c) {
    if (next() != c) return false;
    ++place_;
    return true;
  }

  // Reads a string and returns it with its quotes.
  std::string_view string() {
    const size_t begin = place_++;
    for (;;) {
      place_ = kInString.find(text_, place_);
      if (at_end()) return text_.substr(begin);
      if (text_[place_] == '"') return text_.substr(begin, ++place_ - begin);
      place_ += 2;  // skips the escaped character
    }
  }

  std::string_view value() {
    const char first = next();
    if (first == '"') return string();
    const size_t begin = place_;
    if (first != '{' && first != '[') {
      place_ = kBehindScalar.find(text_, place_);
      return text_.substr(begin, place_ - begin);
    }
    int depth = 0;
    while (!at_end()) {
      place_ = kInNested.find(text_, place_);
      if (at_end()) break;
      const char c = text_[place_];
      if (c == '"') {
        string();
        continue;
      }
      ++place_;
      depth += c == '{' || c == '[' ? 1 : -1;
      if (depth == 0) return text_.substr(begin, place_ - begin);
    }
    return text_.substr(begin);
  }

 private:
  std::string_view text_;
  size_t place_ = 0;
};

bool is_key(std::string_view quoted, const std::string& key) {
  if (quoted.size() < 2) return false;
  if (quoted.find('\\') == std::string_view::npos) {
    return quoted.substr(1, quoted.size() - 2) == key;
  }
  try {
    return from_json(quoted) == Value(key);
  } catch (const Error&) {
    return false;
  }
}

// Calls `see` for each entry until it returns false.
template <class See>
void scan_entries(std::string_view map, const See& see) {
  Scan scan(map);
  if (!scan.take('{')) return;
  while (scan.next() == '"') {
    const std::string_view name = scan.string();
    if (!scan.take(':')) return;
    const std::string_view value = scan.value();
    if (!see(name, value) || !scan.take(',')) return;
  }
}

std::optional<std::string_view> entry_of(std::string_view map, const std::string& key) {
  std::optional<std::string_view> out;
  scan_entries(map, [&](std::string_view name, std::string_view value) {
    if (is_key(name, key)) out = value;
    return !out;
  });
  return out;
}

}  // namespace

std::optional<std::string_view> find_in_json(std::string_view json,
                                             std::span<const std::string> keys) {
  std::optional<std::string_view> out = json;
  for (const std::string& key : keys) {
    out = entry_of(*out, key);
    if (!out) return std::nullopt;
  }
  return out;
}

void each_json_entry(std::string_view json,
                     const std::function<void(std::string_view, std::string_view)>& see) {
  scan_entries(json, [&](std::string_view name, std::string_view value) {
    see(name, value);
    return true;
  });
}

}  // namespace rtrain
