// host/base/clock.h: times as the store and the messages carry them, and as timers take them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rtrain {

// Milliseconds since 1970 UTC, by the system's clock as it was at this process's first call: when
// somebody sets that clock later, what lies between two times of one process stays true.
int64_t now_ms();

// "2026-11-21T14:03:05.123Z", the form of every time in JSON and on screen.
std::string time_text(int64_t unix_ms);

// Seconds on the monotonic clock, the same clock in every process of this boot.
double monotonic_s();

// Seconds on the clock that also counts while the machine is suspended: for what another host
// measures meanwhile.
double boot_s();

// True when what was due at that time is looked at so much later that this process has stood still
// in between (SIGSTOP, Ctrl-Z): what was waited for may lie unread in a socket. Both on the
// monotonic clock.
bool stood_still(double due_s, double now_s);

// For timers and waits: rounded up, so that none ends early.
std::chrono::milliseconds to_ms(double seconds);

}  // namespace rtrain
