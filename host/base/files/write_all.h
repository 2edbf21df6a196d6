// host/base/files/write_all.h: writes all bytes to a descriptor, despite interruptions.
#pragma once

#include <string_view>

namespace rtrain {

// Waits if the descriptor is non-blocking. Returns false and sets errno if writing is no longer
// possible.
bool write_all(int fd, std::string_view bytes);

}  // namespace rtrain
