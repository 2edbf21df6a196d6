#include "host/machine/processes/process_facts.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "host/base/text/text.h"

namespace rtrain::machine {

// In /proc/PID/stat the name in brackets may hold any text. Fields after it are counted from 3.
ProcessFacts process_facts(int pid) {
  constexpr int kFirstField = 3;
  constexpr int kParent = 4;
  constexpr int kMajorFaults = 12;
  constexpr int kUserTicks = 14;
  constexpr int kKernelTicks = 15;
  constexpr int kBegun = 22;
  constexpr int kResidentPages = 24;
  constexpr int kExitCode = 52;
  const auto ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessFacts out;
  std::ifstream file(cat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return out;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  double ticks = 0;
  for (int number = kFirstField; fields >> field; ++number) {
    if (number == kFirstField) out.state = field[0];
    if (number == kParent) out.parent = std::stoi(field);
    if (number == kMajorFaults) out.major_faults = std::stoull(field);
    if (number == kUserTicks || number == kKernelTicks) ticks += std::stod(field);
    if (number == kBegun) out.begun_s = std::stod(field) / ticks_a_second;
    if (number == kResidentPages) out.memory_bytes = std::stoll(field) * sysconf(_SC_PAGESIZE);
    if (number == kExitCode) out.exit_status = std::stoi(field);
  }
  out.cpu_s = ticks / ticks_a_second;
  return out;
}

}  // namespace rtrain::machine
