#include "host/base/time_reader.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace rtrain {
namespace {

constexpr double kMsPerSecond = 1000;

std::optional<double> number_of(std::string_view text) {
  double out = 0;
  const auto [end, status] = std::from_chars(text.begin(), text.end(), out);
  if (status != std::errc() || end != text.end() || !std::isfinite(out)) return std::nullopt;
  return out;
}

// The offset in minutes for "Z", "+01:00" or "".
std::optional<int> offset_of(const std::string& text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  int hours = 0;
  int minutes = 0;
  char sign = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%c%2d:%2d%n", &sign, &hours, &minutes, &used) != 3) return {};
  if ((sign != '+' && sign != '-') || static_cast<size_t>(used) != text.size()) return {};
  constexpr int kMinutesPerHour = 60;
  return (sign == '-' ? -1 : 1) * (hours * kMinutesPerHour + minutes);
}

}  // namespace

std::optional<int64_t> read_time(const std::string& text) {
  constexpr double kLatestS = 1e11;
  if (const auto seconds = number_of(text)) {
    if (std::abs(*seconds) > kLatestS) return std::nullopt;
    return std::llround(*seconds * kMsPerSecond);
  }
  std::tm date{};
  int used = 0;
  const int read =
      std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &date.tm_year, &date.tm_mon,
                  &date.tm_mday, &date.tm_hour, &date.tm_min, &date.tm_sec, &used);
  if (read != 6 || used == 0) return std::nullopt;
  constexpr int kFirstYear = 1900;
  date.tm_year -= kFirstYear;
  date.tm_mon -= 1;
  size_t end = static_cast<size_t>(used);
  double fraction = 0;
  if (end < text.size() && text[end] == '.') {
    const size_t behind = text.find_first_not_of("0123456789", end + 1);
    fraction = number_of("0" + text.substr(end, behind - end)).value_or(0);
    end = std::min(behind, text.size());
  }
  const auto offset = offset_of(text.substr(end));
  if (!offset) return std::nullopt;
  constexpr int64_t kSecondsPerMinute = 60;
  const int64_t seconds = timegm(&date) - *offset * kSecondsPerMinute;
  return seconds * static_cast<int64_t>(kMsPerSecond) + std::llround(fraction * kMsPerSecond);
}

}  // namespace rtrain
