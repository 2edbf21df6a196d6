// host/text/patterns/pattern.h: what a text is split at: a regular expression, a literal text, or a
// class of characters.
//
// A Pattern does not change after it was made: any thread may use it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace rtrain::text {

// Bytes [begin, end) of a text.
struct Match {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Appends matches and what lies between them, in order; together they cover the text, which must
  // be UTF-8. An empty text gives one empty part. Throws Error(kArgument) when a regular expression
  // takes too long on it.
  virtual void find(std::string_view text, std::vector<Match>& out) const = 0;
};

using PatternPointer = std::shared_ptr<const Pattern>;

// A regular expression in Oniguruma's Ruby syntax, as the format tokenizer.json has it. Those of
// well-known models have a scanner each. Throws Error(kArgument), which shows the expression and
// the place, for what is wrong and for what is not supported.
PatternPointer regex_pattern(std::string_view expression);

PatternPointer literal_pattern(std::string_view content);

// Each character for which the function is true is a match.
PatternPointer character_pattern(std::function<bool(char32_t)> is_match);

}  // namespace rtrain::text
