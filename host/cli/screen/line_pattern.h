// host/cli/screen/line_pattern.h: selects lines by an extended regular expression of POSIX, as grep
// -E does.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rtrain::cli {

class LinePattern {
 public:
  // An empty pattern matches every line. Throws Error(kUsage) for an invalid expression.
  explicit LinePattern(const std::string& pattern);
  ~LinePattern();

  bool matches(std::string_view line) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace rtrain::cli
