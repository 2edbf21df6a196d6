// host/engine/memory/size_text.h: formats an amount of memory.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::engine {

// "512 B", "1.50 MiB".
std::string size_text(int64_t bytes);

}  // namespace rtrain::engine
