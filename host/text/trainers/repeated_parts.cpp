#include "host/text/trainers/repeated_parts.h"

#include <algorithm>
#include <limits>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr char32_t kEnd = 0;

using Places = std::span<uint32_t>;

class PartFinder {
 public:
  PartFinder(std::span<const std::pair<std::string, uint64_t>> words, size_t longest)
      : longest_(longest) {
    for (const auto& [word, count] : words) {
      const std::vector<char32_t> characters = characters_of(word);
      text_.insert(text_.end(), characters.begin(), characters.end());
      text_.push_back(kEnd);
    }
    if (text_.size() > std::numeric_limits<uint32_t>::max()) {
      throw Error(Code::kArgument, cat("train_new_from_iterator: the words have ", text_.size(),
                                       " characters, more than a Unigram can learn from"));
    }
  }

  std::vector<std::pair<std::string, uint64_t>> run() {
    std::vector<uint32_t> places;
    for (uint32_t at = 0; at < text_.size(); ++at) {
      if (text_[at] != kEnd) places.push_back(at);
    }
    todo_.push_back({Places(places), 0});
    while (!todo_.empty()) {
      const Group group = todo_.back();
      todo_.pop_back();
      split(group);
    }
    std::sort(out_.begin(), out_.end());
    return std::move(out_);
  }

 private:
  // Places after which the same `depth` characters stand.
  struct Group {
    Places places;
    size_t depth = 0;
  };

  // Sorts the places by the next character and makes a group of those with the same one.
  void split(const Group& group) {
    const auto next = [&](uint32_t place) { return text_[place + group.depth]; };
    std::sort(group.places.begin(), group.places.end(),
              [&](uint32_t a, uint32_t b) { return next(a) < next(b); });
    if (group.depth >= 2 && next(group.places.front()) != next(group.places.back())) {
      out_.emplace_back(text_at(group.places.front(), group.depth), group.places.size());
    }
    if (group.depth == longest_) return;
    for (size_t begin = 0; begin < group.places.size();) {
      const char32_t character = next(group.places[begin]);
      size_t end = begin + 1;
      while (end < group.places.size() && next(group.places[end]) == character) ++end;
      if (character != kEnd && end - begin >= 2) {
        todo_.push_back({group.places.subspan(begin, end - begin), group.depth + 1});
      }
      begin = end;
    }
  }

  std::string text_at(uint32_t place, size_t count) const {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += to_utf8(text_[place + i]);
    return out;
  }

  size_t longest_;
  std::vector<char32_t> text_;  // the words, kEnd after each
  std::vector<Group> todo_;
  std::vector<std::pair<std::string, uint64_t>> out_;
};

}  // namespace

std::vector<std::pair<std::string, uint64_t>> repeated_parts(
    std::span<const std::pair<std::string, uint64_t>> words, size_t longest) {
  return PartFinder(words, longest).run();
}

}  // namespace rtrain::text
