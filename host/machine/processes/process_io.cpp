#include "host/machine/processes/process_io.h"

#include <fstream>
#include <string>

#include "host/base/text/text.h"

namespace rtrain::machine {

std::optional<ProcessIo> process_io(int pid) {
  std::ifstream file(cat("/proc/", pid, "/io"));
  ProcessIo out;
  bool is_there = false;
  std::string name;
  int64_t count = 0;
  while (file >> name >> count) {
    if (name == "read_bytes:") out.read_bytes = count;
    if (name == "write_bytes:") out.written_bytes = count;
    is_there = true;
  }
  return is_there ? std::optional(out) : std::nullopt;
}

}  // namespace rtrain::machine
