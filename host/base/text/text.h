// host/base/text/text.h: small text helpers: concatenation, joining, splitting, and the nearest
// name for "did you mean".
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

namespace text_detail {
inline void append(std::string& out, std::string_view part) { out.append(part); }
inline void append(std::string& out, char part) { out.push_back(part); }
template <std::integral T>
requires(!std::same_as<T, char> && !std::same_as<T, bool>) void append(std::string& out, T part) {
  out.append(std::to_string(part));
}
void append(std::string& out, double part);
}  // namespace text_detail

// Concatenates the parts; numbers in decimal, doubles in the shortest form that reads back ("%.17g"
// trimmed).
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (text_detail::append(out, parts), ...);
  return out;
}

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
// Returns the text with line breaks and tabs as \n, \r and \t.
std::string one_line(std::string_view text);

// The shortest decimal text that reads back as exactly this double; "nan", "inf" or "-inf" if it is
// not finite.
std::string format_double(double number);

// Returns the nearest candidate within edit distance 2 of `name` and under half of its length (a
// transposition counts one; case is ignored); nullopt if there is none.
std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates);

// Returns a text to append to a message: ": did you mean 'x'?"; if no candidate is near and the
// list is short, ": valid names: a, b"; else "".
std::string suggestion(std::string_view name, std::span<const std::string> candidates);

}  // namespace rtrain
