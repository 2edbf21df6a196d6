#include "host/text/patterns/pattern.h"

#include <string>

#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

class LiteralPattern final : public Pattern {
 public:
  explicit LiteralPattern(std::string_view content) : content_(content) {}

  void find(std::string_view text, std::vector<Match>& out) const override {
    if (text.empty() || content_.empty()) return out.push_back({0, text.size(), false});
    size_t done = 0;
    for (size_t at = text.find(content_); at != text.npos; at = text.find(content_, done)) {
      if (at > done) out.push_back({done, at, false});
      done = at + content_.size();
      out.push_back({at, done, true});
    }
    if (done < text.size()) out.push_back({done, text.size(), false});
  }

 private:
  std::string content_;
};

class CharacterPattern final : public Pattern {
 public:
  explicit CharacterPattern(std::function<bool(char32_t)> is_match)
      : is_match_(std::move(is_match)) {}

  void find(std::string_view text, std::vector<Match>& out) const override {
    if (text.empty()) return out.push_back({0, 0, false});
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
      const Character c = character_at(text, at);
      if (is_match_(c.code)) {
        if (at > done) out.push_back({done, at, false});
        done = at + c.bytes;
        out.push_back({at, done, true});
      }
      at += c.bytes;
    }
    if (done < text.size()) out.push_back({done, text.size(), false});
  }

 private:
  std::function<bool(char32_t)> is_match_;
};

}  // namespace

PatternPointer literal_pattern(std::string_view content) {
  return std::make_shared<LiteralPattern>(content);
}

PatternPointer character_pattern(std::function<bool(char32_t)> is_match) {
  return std::make_shared<CharacterPattern>(std::move(is_match));
}

}  // namespace rtrain::text
