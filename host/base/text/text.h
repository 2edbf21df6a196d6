// host/base/text/text.h: small text helpers: concatenation, joining, splitting, and the nearest
// name for "did you mean".
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

namespace text_detail {

// A part of cat(), which outlives it. Not a template but for integers, so that a call of cat() is
// little code.
class Part {
 public:
  Part(std::string_view text) : text_(text) {}
  Part(const std::string& text) : text_(text) {}
  Part(const char* text) : text_(text) {}
  Part(char c) : text_(digits_, 1) { digits_[0] = c; }
  Part(double number);
  template <std::signed_integral T>
  requires(!std::same_as<T, char>) Part(T number) { set(static_cast<int64_t>(number)); }
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Part(T number) { set(static_cast<uint64_t>(number)); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  std::string_view text() const { return text_; }

 private:
  void set(int64_t number);
  void set(uint64_t number);

  char digits_[32];
  std::string_view text_;
};

std::string joined(std::initializer_list<Part> parts);

}  // namespace text_detail

// Concatenates the parts; numbers in decimal, doubles in the shortest form that reads back ("%.17g"
// trimmed).
template <class... Parts>
std::string cat(const Parts&... parts) {
  return text_detail::joined({text_detail::Part(parts)...});
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
