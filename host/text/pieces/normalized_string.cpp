#include "host/text/pieces/normalized_string.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/pieces/byte_characters.h"
#include "host/text/unicode/characters.h"
#include "host/text/unicode/classes.h"

namespace rtrain::text {

namespace {

std::vector<Match> merged_with_previous(const std::vector<Match>& matches) {
  std::vector<Match> out;
  bool before_was_match = false;
  for (const Match& match : matches) {
    if (match.is_match && !before_was_match && !out.empty()) {
      out.back().end = match.end;
    } else {
      out.push_back(match);
    }
    before_was_match = match.is_match;
  }
  return out;
}

std::vector<Match> merged_with_next(const std::vector<Match>& matches) {
  std::vector<Match> out;
  bool after_was_match = false;
  for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
    if (match->is_match && !after_was_match && !out.empty()) {
      out.back().begin = match->begin;
    } else {
      out.push_back(*match);
    }
    after_was_match = match->is_match;
  }
  return {out.rbegin(), out.rend()};
}

// Joins matches and what lies between them as the behavior says; what is removed is left out.
std::vector<Match> split_matches(const std::vector<Match>& matches, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
      return matches;
    case SplitBehavior::kMergedWithPrevious:
      return merged_with_previous(matches);
    case SplitBehavior::kMergedWithNext:
      return merged_with_next(matches);
    default:
      break;
  }
  std::vector<Match> out;
  for (const Match& match : matches) {
    if (behavior == SplitBehavior::kRemoved) {
      if (!match.is_match) out.push_back(match);
    } else if (!out.empty() && out.back().is_match == match.is_match) {
      out.back().end = match.end;
    } else {
      out.push_back(match);
    }
  }
  return out;
}

}  // namespace

NormalizedString::NormalizedString(std::string_view original)
    : text_(original), most_(std::max(size_t{64} << 20, 16 * original.size())) {
  origins_.reserve(text_.size());
  for (size_t at = 0; at < text_.size();) {
    const uint32_t bytes = bytes_of_first(static_cast<unsigned char>(text_[at]));
    const Range range{static_cast<uint32_t>(at), static_cast<uint32_t>(at + bytes)};
    origins_.insert(origins_.end(), bytes, range);
    at += bytes;
  }
}

void NormalizedString::check_size(size_t size) const {
  if (size <= most_) return;
  throw Error(Code::kArgument, cat("the normalizer makes the text longer than ", most_, " bytes"));
}

Range NormalizedString::original(size_t begin, size_t end) const {
  if (begin < end) return {origins_[begin].begin, origins_[end - 1].end};
  if (begin < origins_.size()) return {origins_[begin].begin, origins_[begin].begin};
  const uint32_t last = origins_.empty() ? begin_ : origins_.back().end;
  return {last, last};
}

NormalizedString NormalizedString::slice(size_t begin, size_t end) const {
  NormalizedString out;
  out.text_ = text_.substr(begin, end - begin);
  out.origins_.assign(origins_.begin() + static_cast<ptrdiff_t>(begin),
                      origins_.begin() + static_cast<ptrdiff_t>(end));
  out.begin_ = original(begin, end).begin;
  out.most_ = most_;
  return out;
}

void NormalizedString::transform(const std::vector<ChangedCharacter>& characters) {
  std::string text;
  std::vector<Range> origins;
  text.reserve(text_.size());
  origins.reserve(text_.size());
  size_t at = 0;
  const auto skip = [&] {
    if (at < text_.size()) at += bytes_of_first(static_cast<unsigned char>(text_[at]));
  };
  for (const ChangedCharacter& c : characters) {
    Range origin{begin_, begin_};
    if (c.change > 0) {
      if (at > 0) origin = origins_[at - 1];
    } else if (at < origins_.size()) {
      origin = origins_[at];
      skip();
      for (int i = 0; i < -c.change; ++i) skip();
    }
    append_character(text, c.code);
    origins.resize(text.size(), origin);
    check_size(text.size());
  }
  text_ = std::move(text);
  origins_ = std::move(origins);
}

void NormalizedString::filter(const std::function<bool(char32_t)>& keep) {
  size_t kept = 0;
  for (size_t at = 0; at < text_.size();) {
    const Character c = character_at(text_, at);
    if (keep(c.code)) {
      for (size_t i = at; i < at + c.bytes; ++i, ++kept) {
        text_[kept] = text_[i];
        origins_[kept] = origins_[i];
      }
    }
    at += c.bytes;
  }
  text_.resize(kept);
  origins_.resize(kept);
}

void NormalizedString::map(const std::function<char32_t(char32_t)>& change) {
  std::vector<ChangedCharacter> out;
  for (const char32_t code : characters_of(text_)) out.push_back({change(code), 0});
  transform(out);
}

void NormalizedString::lowercase() {
  std::vector<ChangedCharacter> out;
  for (const char32_t code : characters_of(text_)) {
    char32_t second = 0;
    out.push_back({to_lower(code, second), 0});
    if (second != 0) out.push_back({second, 1});
  }
  transform(out);
}

void NormalizedString::prepend(std::string_view text) {
  if (text_.empty()) return;
  check_size(text_.size() + text.size());
  text_.insert(0, text);
  origins_.insert(origins_.begin(), text.size(), Range(origins_.front()));
}

void NormalizedString::strip(bool left, bool right) {
  size_t begin = 0, end = text_.size();
  while (left && begin < end && is_space(character_at(text_, begin).code)) {
    begin += character_at(text_, begin).bytes;
  }
  while (right && end > begin) {
    const size_t last = start_of_last(text_, end);
    if (!is_space(character_at(text_, last).code)) break;
    end = last;
  }
  const uint32_t place = begin_;
  *this = slice(begin, end);
  begin_ = place;
}

void NormalizedString::replace(const Pattern& pattern, std::string_view content) {
  std::vector<Match> matches;
  pattern.find(text_, matches);
  std::string text;
  std::vector<Range> origins;
  for (const Match& match : matches) {
    if (match.is_match) {
      const Range origin = match.end > 0 ? origins_[match.end - 1] : Range{begin_, begin_};
      check_size(text.size() + content.size());
      text += content;
      origins.resize(text.size(), origin);
      continue;
    }
    text.append(text_, match.begin, match.end - match.begin);
    origins.insert(origins.end(), origins_.begin() + static_cast<ptrdiff_t>(match.begin),
                   origins_.begin() + static_cast<ptrdiff_t>(match.end));
  }
  text_ = std::move(text);
  origins_ = std::move(origins);
}

void NormalizedString::to_byte_characters() {
  std::string text;
  std::vector<Range> origins;
  for (size_t at = 0; at < text_.size(); ++at) {
    append_character(text, character_of_byte(static_cast<unsigned char>(text_[at])));
    origins.resize(text.size(), origins_[at]);
  }
  text_ = std::move(text);
  origins_ = std::move(origins);
}

std::vector<NormalizedString> NormalizedString::split(const Pattern& pattern,
                                                      SplitBehavior behavior, bool invert) const {
  std::vector<Match> matches;
  pattern.find(text_, matches);
  if (invert) {
    for (Match& match : matches) match.is_match = !match.is_match;
  }
  std::vector<NormalizedString> out;
  for (const Match& part : split_matches(matches, behavior)) {
    if (part.begin < part.end) out.push_back(slice(part.begin, part.end));
  }
  return out;
}

}  // namespace rtrain::text
