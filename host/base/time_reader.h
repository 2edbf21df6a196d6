// host/base/time_reader.h: reads times in formats of other programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rtrain {

// Milliseconds since 1970 for "2026-11-21T14:03:05.123Z" (also with a space, with an offset such as
// "+01:00", or without one: UTC) or for seconds since 1970. nullopt for any other text.
std::optional<int64_t> read_time(const std::string& text);

}  // namespace rtrain
