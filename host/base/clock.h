// host/base/clock.h: times as the store and the messages carry them, and as timers take them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rtrain {

// Milliseconds since 1970 UTC.
int64_t now_ms();

// "2026-11-21T14:03:05.123Z", the form of every time in JSON and on screen.
std::string time_text(int64_t unix_ms);

// Seconds on the monotonic clock, the same clock in every process of this boot.
double monotonic_s();

// For timers and waits: rounded up, so that none ends early.
std::chrono::milliseconds to_ms(double seconds);

}  // namespace rtrain
