// host/cli/screen/layout.h: fits text into a number of columns, as counted by
// host/base/text/text_width.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::cli {

// For text of any width.
inline constexpr size_t kAnyWidth = static_cast<size_t>(-1);

// Shortens text that does not fit at its end, if possible between words: "a 1 …".
std::string shortened(std::string_view text, size_t width);

// Replaces the middle of text that does not fit by "…", after `head` columns of its beginning.
std::string without_middle(std::string_view text, size_t width, size_t head);

// Shortens for tables and pages (--json has the full text): a long value at its end, a long name in
// the middle.
std::string brief_value(std::string_view text);
std::string brief_name(std::string_view text);

// Lines of at most this width, broken at spaces and after commas. A longer word is not
// broken.
std::vector<std::string> wrapped(std::string_view text, size_t width);

}  // namespace rtrain::cli
