// host/text/patterns/regex.h: a regular expression, run by PCRE2 with bounded time and memory.
#pragma once

#include <string>

#include "host/text/patterns/pattern.h"

namespace rtrain::text {

// A text on which the expression takes more than ten seconds, or memory without end, is an error.
class Regex final : public Pattern {
 public:
  // `shown` stands in messages. REQUIRES: pcre2 is in PCRE2's syntax.
  Regex(std::string_view pcre2, std::string_view shown);
  ~Regex() override;
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  void find(std::string_view text, std::vector<Match>& out) const override;

 private:
  struct Code;
  Code* code_;
  std::string shown_;
};

}  // namespace rtrain::text
