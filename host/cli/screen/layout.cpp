#include "host/cli/screen/layout.h"

#include <algorithm>

#include "host/base/text/text.h"
#include "host/base/text/text_width.h"

namespace rtrain::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kMore = "…";
constexpr size_t kLongest = 80;  // the longest shown name or value

// Returns the length of the text's first line. Breaks between two parts if that leaves no short
// line, else at a space or after a comma.
size_t line_end(std::string_view text, size_t width) {
  if (text_width(text) <= width) return text.size();
  const auto is_break = [&](size_t at) {
    return at > 0 && at < text.size() && (text[at] == ' ' || text[at - 1] == ',');
  };
  const size_t most = bytes_that_fit(text, width);
  const size_t part = text.rfind(kGap, most);
  if (part != std::string_view::npos && part > most / 2) return part;
  for (size_t at = most; at > 0; --at) {
    if (is_break(at)) return at;
  }
  for (size_t at = most; at < text.size(); ++at) {
    if (is_break(at)) return at;
  }
  return text.size();
}

// Returns the last whole characters of the text that fit into the columns.
std::string_view end_that_fits(std::string_view text, size_t columns) {
  const size_t width = text_width(text);
  if (width <= columns) return text;
  const std::string_view end = text.substr(bytes_that_fit(text, width - columns));
  if (text_width(end) <= columns) return end;
  return text.substr(bytes_that_fit(text, width - columns + 1));  // without half of a character
}

}  // namespace

std::string shortened(std::string_view text, size_t width) {
  if (text_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  const size_t room = width - 1;
  if (room > kGap.size()) {
    const size_t part = text.rfind(kGap, bytes_that_fit(text, room - kGap.size()));
    if (part != std::string_view::npos && part > 0) return cat(text.substr(0, part), kGap, kMore);
  }
  return cat(text.substr(0, bytes_that_fit(text, room)), kMore);
}

std::string without_middle(std::string_view text, size_t width, size_t head) {
  if (text_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  const size_t begin = std::min(head, width - 1);
  return cat(text.substr(0, bytes_that_fit(text, begin)), kMore,
             end_that_fits(text, width - 1 - begin));
}

std::string brief_value(std::string_view text) {
  if (text_width(text) <= kLongest) return std::string(text);
  return cat(text.substr(0, bytes_that_fit(text, kLongest - 1)), kMore);
}

std::string brief_name(std::string_view text) {
  if (text_width(text) <= kLongest) return std::string(text);
  return without_middle(text, kLongest - 1, kLongest / 2 - 1);
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (;;) {
    const size_t end = line_end(text, width);
    const std::string_view line = text.substr(0, end);
    lines.emplace_back(line.substr(0, line.find_last_not_of(' ') + 1));
    const size_t next = text.find_first_not_of(' ', end);
    if (next == std::string_view::npos) return lines;
    text.remove_prefix(next);
  }
}

}  // namespace rtrain::cli
