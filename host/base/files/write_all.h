// host/base/files/write_all.h: writes to a descriptor, whatever interrupts it.
#pragma once

#include <string_view>

namespace rtrain {

// Waits where the descriptor does not block. False, with errno, when nothing can be written there
// any more.
bool write_all(int fd, std::string_view bytes);

}  // namespace rtrain
