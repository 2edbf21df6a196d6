// host/base/clock.h: times for the store, for messages and for timers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rtrain {

// Milliseconds since 1970 UTC. Uses the offset of the system's clock at this process's first call,
// so differences between two times of one process stay correct when that clock is set later.
int64_t now_ms();

// "2026-11-21T14:03:05.123Z", the format of all times in JSON and on screen.
std::string time_text(int64_t unix_ms);

// Seconds on the monotonic clock, which all processes of this boot share.
double monotonic_s();

// Seconds on the clock that also counts time while the machine is suspended, for comparison with
// time measured on another node.
double boot_s();

// Whether this process was stopped meanwhile (SIGSTOP, Ctrl-Z): it checks an event that was due at
// `due_s` much later than that. The awaited message may then be unread in a socket. Both times are
// on the monotonic clock.
bool stood_still(double due_s, double now_s);

// Converts for timers and waits. Rounds up, so that no timer ends early.
std::chrono::milliseconds to_ms(double seconds);

}  // namespace rtrain
