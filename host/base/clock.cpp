#include "host/base/clock.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace rtrain {

namespace {

int64_t milliseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int64_t now_ms() {
  // CLOCK_BOOTTIME also advances while the machine sleeps.
  static const int64_t boot = milliseconds(CLOCK_REALTIME) - milliseconds(CLOCK_BOOTTIME);
  return boot + milliseconds(CLOCK_BOOTTIME);
}

std::string time_text(int64_t unix_ms) {
  const time_t seconds = unix_ms / 1000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> day;
  std::strftime(day.data(), day.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%s.%03dZ", day.data(), static_cast<int>(unix_ms % 1000));
  return text.data();
}

double monotonic_s() { return seconds(CLOCK_MONOTONIC); }
double boot_s() { return seconds(CLOCK_BOOTTIME); }

bool stood_still(double due_s, double now_s) {
  constexpr double kBusyS = 2;  // delay that a busy machine can cause
  return now_s > due_s + kBusyS;
}

std::chrono::milliseconds to_ms(double seconds) {
  constexpr double kMostS = 1e9;  // some 30 years
  return std::chrono::milliseconds(
      static_cast<int64_t>(std::ceil(std::min(seconds, kMostS) * 1000)));
}

}  // namespace rtrain
