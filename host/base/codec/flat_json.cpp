#include "host/base/codec/flat_json.h"

#include <charconv>
#include <cmath>

namespace rtrain {
namespace {

size_t behind_spaces(std::string_view text, size_t place) {
  while (place < text.size() && (text[place] == ' ' || text[place] == '\n' || text[place] == '\t' ||
                                 text[place] == '\r')) {
    ++place;
  }
  return place;
}

char at(std::string_view text, size_t place) { return place < text.size() ? text[place] : '\0'; }

// Whether the double hides which integer was written (2^53 + 1), or that it was one (-0).
bool loses_integer(std::string_view digits, double number) {
  const bool may_lose = std::abs(number) >= 0x1p53 || (number == 0 && digits.front() == '-');
  return may_lose && digits.find_first_of(".eE") == std::string_view::npos;
}

}  // namespace

bool FlatJson::read(std::string_view json) {
  if (read_entries(json)) return true;
  keep_keys(0);
  return false;
}

bool FlatJson::read_entries(std::string_view json) {
  size_t place = behind_spaces(json, 0);
  if (at(json, place) != '{') return false;
  place = behind_spaces(json, place + 1);
  if (at(json, place) == '}') {
    keep_keys(0);
    return true;
  }
  for (size_t i = 0;; ++i) {
    if (i == keys_.size() || !json.substr(place).starts_with(keys_[i])) {
      keep_keys(i);
      if (!read_key(json, place)) return false;
    }
    place = behind_spaces(json, place + keys_[i].size());
    const char* begin = json.data() + place;
    const auto [end, status] = std::from_chars(begin, json.data() + json.size(), numbers_[i]);
    if (status != std::errc()) return false;
    const std::string_view digits(begin, static_cast<size_t>(end - begin));
    if (loses_integer(digits, numbers_[i])) return false;
    place = behind_spaces(json, place + digits.size());
    if (at(json, place) == '}') {
      keep_keys(i + 1);
      return true;
    }
    if (at(json, place) != ',') return false;
    place = behind_spaces(json, place + 1);
  }
}

// Reads the key at `place` and makes it the last one.
bool FlatJson::read_key(std::string_view json, size_t place) {
  if (at(json, place) != '"') return false;
  const size_t end = json.find_first_of("\"\\", place + 1);
  if (at(json, end) != '"' || at(json, end + 1) != ':') return false;
  keys_.emplace_back(json.substr(place, end + 2 - place));
  numbers_.push_back(0);
  ++names_version_;
  return true;
}

void FlatJson::keep_keys(size_t count) {
  if (count == keys_.size()) return;
  keys_.resize(count);
  numbers_.resize(count);
  ++names_version_;
}

}  // namespace rtrain
