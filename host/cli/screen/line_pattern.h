// host/cli/screen/line_pattern.h: the lines that a user looks for: an extended regular expression
// of POSIX, as grep -E has them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rtrain {

class LinePattern {
 public:
  // An empty one matches every line. Throws Error(kUsage) for one that is not an expression.
  explicit LinePattern(const std::string& pattern);
  ~LinePattern();

  bool matches(std::string_view line) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace rtrain
