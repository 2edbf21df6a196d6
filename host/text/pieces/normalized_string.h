// host/text/pieces/normalized_string.h: a text that changes step by step and knows for each byte
// where it comes from.
//
// Places in the original text are bytes of the whole input, also for a part that was cut out.
// The text is always UTF-8.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/text/patterns/pattern.h"
#include "host/text/unicode/normal_forms.h"

namespace rtrain::text {

// Bytes, or characters, [begin, end).
struct Range {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Range&) const = default;
};

// What becomes of a match.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

class NormalizedString {
 public:
  NormalizedString() = default;
  explicit NormalizedString(std::string_view original);

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  // Where these bytes of the text come from; the place of the neighbour for no bytes.
  Range original(size_t begin, size_t end) const;
  Range original() const { return original(0, text_.size()); }
  // The place in the original at which this part begins.
  uint32_t begin() const { return begin_; }

  NormalizedString slice(size_t begin, size_t end) const;

  // Replaces the text. Each character takes the place of the next one of the text (change 0), or is
  // inserted (1) and comes from where the one before it comes from, or takes the place of the next
  // one and -change are left out after it.
  void transform(const std::vector<ChangedCharacter>& characters);
  // Leaves out the characters for which the function is false.
  void filter(const std::function<bool(char32_t)>& keep);
  void map(const std::function<char32_t(char32_t)>& change);
  void lowercase();
  // Puts the text in front; an empty one stays empty.
  void prepend(std::string_view text);
  void strip(bool left, bool right);
  void replace(const Pattern& pattern, std::string_view content);
  // Each byte becomes the character that stands for it in byte-level vocabularies.
  void to_byte_characters();

  // The parts that are not empty.
  std::vector<NormalizedString> split(const Pattern& pattern, SplitBehavior behavior,
                                      bool invert = false) const;

 private:
  // Throws Error(kArgument) for a text that has become far longer than the original.
  void check_size(size_t size) const;

  std::string text_;
  std::vector<Range> origins_;  // one for each byte of text_
  uint32_t begin_ = 0;
  size_t most_ = 0;  // bytes that text_ may have
};

}  // namespace rtrain::text
