// host/machine/processes/process_io.h: the bytes that a process of this user has read from and
// written to disks.
#pragma once

#include <cstdint>
#include <optional>

namespace rtrain::machine {

struct ProcessIo {
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
};

// Returns nothing if there is no such process, or the kernel does not count them.
std::optional<ProcessIo> process_io(int pid);

}  // namespace rtrain::machine
