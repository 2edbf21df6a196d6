#include "host/cli/screen/line_pattern.h"

#include <regex.h>

#include <array>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::cli {

struct LinePattern::Compiled {
  explicit Compiled(const std::string& pattern) {
    const int result = ::regcomp(&regex, pattern.c_str(), REG_EXTENDED);
    if (result == 0) return;
    std::array<char, 256> reason{};
    ::regerror(result, &regex, reason.data(), reason.size());
    throw Error(Code::kUsage, cat("--grep ", pattern, ": ", std::string_view(reason.data())));
  }
  ~Compiled() { ::regfree(&regex); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  regex_t regex{};
};

LinePattern::LinePattern(const std::string& pattern)
    : compiled_(pattern.empty() ? nullptr : std::make_unique<Compiled>(pattern)) {}

LinePattern::~LinePattern() = default;

bool LinePattern::matches(std::string_view line) const {
  if (!compiled_) return true;
  regmatch_t range{};  // input: the range of the bytes that is the line
  range.rm_eo = static_cast<regoff_t>(line.size());
  return ::regexec(&compiled_->regex, line.data(), 1, &range, REG_STARTEND) == 0;
}

}  // namespace rtrain::cli
