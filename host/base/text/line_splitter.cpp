#include "host/base/text/line_splitter.h"

#include <utility>

namespace rtrain {

std::vector<std::string> LineSplitter::add(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    const bool whole = end != std::string_view::npos;
    if (whole || line_.size() >= kMaxLineBytes) lines.push_back(finish());
    bytes.remove_prefix(whole ? end + 1 : bytes.size());
  }
  return lines;
}

// Returns the text after the last carriage return, or before it if nothing follows.
std::string_view LineSplitter::progress() const {
  const size_t last = line_.find_last_not_of('\r');
  if (last == std::string::npos || line_.find('\r') == std::string::npos) return {};
  const size_t before = line_.find_last_of('\r', last);
  const size_t first = before == std::string::npos ? 0 : before + 1;
  return std::string_view(line_).substr(first, last - first + 1);
}

std::string LineSplitter::finish() { return std::exchange(line_, {}); }

}  // namespace rtrain
