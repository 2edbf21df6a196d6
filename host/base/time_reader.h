// host/base/time_reader.h: times as other programs write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rtrain {

// Milliseconds since 1970 of "2026-11-21T14:03:05.123Z" (also with a space, an offset such as
// "+01:00", or without either: UTC) or of seconds since 1970. Nothing for another text.
std::optional<int64_t> read_time(const std::string& text);

}  // namespace rtrain
