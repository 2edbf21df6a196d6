#include "host/base/text/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "host/base/text/terminal_text.h"

namespace rtrain {
namespace {

constexpr std::string_view kBreaks = "\n\r\t";
constexpr std::string_view kBreakNames = "nrt";

// Writes the number without its rounding; returns what was written.
template <class Number>
std::string_view written(char (&digits)[32], Number number) {
  const auto [end, status] = std::to_chars(digits, digits + sizeof digits, number);
  return {digits, end};
}

// The same of any double.
std::string_view double_text(char (&digits)[32], double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return written(digits, number);
}

}  // namespace

namespace text_detail {

Part::Part(double number) {
  const bool is_integer = std::abs(number) < 1e15 && number == std::trunc(number);
  if (is_integer) {
    set(static_cast<int64_t>(number));
  } else {
    text_ = double_text(digits_, number);
  }
}

void Part::set(int64_t number) { text_ = written(digits_, number); }

void Part::set(uint64_t number) { text_ = written(digits_, number); }

std::string joined(std::initializer_list<Part> parts) {
  size_t size = 0;
  for (const Part& part : parts) size += part.text().size();
  std::string out;
  out.reserve(size);
  for (const Part& part : parts) out.append(part.text());
  return out;
}

}  // namespace text_detail

std::string format_double(double number) {
  char digits[32];
  return std::string(double_text(digits, number));
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  size_t start = 0;
  while (true) {
    const size_t end = text.find(separator, start);
    out.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return out;
    start = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (const size_t at = kBreaks.find(c); at != std::string_view::npos) {
      out += '\\';
      out += kBreakNames[at];
    } else {
      out += c;
    }
  }
  return out;
}

namespace {

// Optimal string alignment distance (Damerau-Levenshtein without repeated edits of a substring).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates) {
  const std::string folded = to_lower(name);
  std::optional<std::string> best;
  size_t best_distance = 3;
  for (const std::string& candidate : candidates) {
    const size_t shorter = std::min(name.size(), candidate.size());
    if (std::max(name.size(), candidate.size()) - shorter > 2) continue;
    const size_t distance = edit_distance(folded, to_lower(candidate));
    if (distance < best_distance && distance * 2 <= name.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string> candidates) {
  if (auto near = nearest_name(name, candidates)) {
    return cat(": did you mean '", terminal_line(*near), "'?");
  }
  constexpr size_t kShortList = 32;
  if (candidates.empty() || candidates.size() > kShortList) return {};
  return cat(": valid names: ", terminal_line(join(candidates, ", ")));
}

}  // namespace rtrain
