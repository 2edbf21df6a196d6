#include "host/worker/profile/program_stack.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/loop/processes/program.h"

namespace rtrain::worker {
namespace {

constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kLook{20};
constexpr size_t kMaxProcesses = 64;

bool catches(int pid, int signal) {
  std::ifstream status(cat("/proc/", pid, "/status"));
  constexpr std::string_view kName = "SigCgt:\t";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kName)) continue;
    uint64_t mask = 0;
    std::from_chars(line.data() + kName.size(), line.data() + line.size(), mask, 16);
    return ((mask >> (signal - 1)) & 1) != 0;
  }
  return false;
}

// The process and its descendants, since it may be a shell. Parents come before children.
std::vector<int> family_of(int pid) {
  std::vector<int> out{pid};
  for (size_t i = 0; i < out.size() && i < kMaxProcesses; ++i) {
    std::ifstream children(cat("/proc/", out[i], "/task/", out[i], "/children"));
    for (int child = 0; children >> child;) out.push_back(child);
  }
  return out;
}

// The memory file that it got from Program; not open where the program has closed it.
Fd file_of(int pid) {
  const std::string path = cat("/proc/", pid, "/fd/", loop::Program::kStacksDescriptor);
  std::array<char, 64> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  const std::string_view name(target.data(), static_cast<size_t>(std::max<ssize_t>(length, 0)));
  if (!name.starts_with(cat("/memfd:", loop::Program::kStacksFile))) return Fd();
  return Fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
}

// The output has no end mark: it is complete when it does not grow any more.
std::string read_when_whole(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  off_t before = 0;
  while (std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kLook);
    const off_t size = lseek(fd, 0, SEEK_END);
    if (size > 0 && size == before) break;
    before = size;
  }
  std::string text(static_cast<size_t>(std::max<off_t>(before, 0)), '\0');
  const ssize_t count = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

// '  File "train.py", line 12 in step' → "train.py:12 in step"; others as they are.
std::string frame_of(std::string_view line) {
  constexpr std::string_view kFile = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  const size_t end = line.rfind(kLine);
  if (!line.starts_with(kFile) || end == std::string_view::npos) return std::string(trim(line));
  return cat(line.substr(kFile.size(), end - kFile.size()), ":", line.substr(end + kLine.size()));
}

}  // namespace

std::vector<loop::ThreadStack> parse_faulthandler(std::string_view text) {
  std::vector<loop::ThreadStack> out;
  size_t current = 0;
  for (const std::string& line : split(text, '\n')) {
    const size_t mark = line.find(" (most recent call first)");
    if (mark != std::string::npos) {
      constexpr std::string_view kCurrent = "Current thread ";
      if (line.starts_with(kCurrent)) current = out.size();
      out.push_back({line.starts_with(kCurrent) ? "main" : line.substr(0, mark), 0, {}});
    } else if (!out.empty() && !trim(line).empty()) {
      out.back().frames.push_back(frame_of(line));
    }
  }
  if (current > 0) {
    std::rotate(out.begin(), out.begin() + static_cast<ptrdiff_t>(current),
                out.begin() + static_cast<ptrdiff_t>(current) + 1);
  }
  return out;
}

std::vector<loop::ThreadStack> program_stack(int pid) {
  for (const int process : family_of(pid)) {
    if (!catches(process, loop::Program::stacks_signal())) continue;
    const Fd file = file_of(process);
    if (!file.is_open() || ftruncate(file.get(), 0) != 0) continue;
    if (kill(process, loop::Program::stacks_signal()) != 0) continue;
    return parse_faulthandler(read_when_whole(file.get()));
  }
  return {};
}

}  // namespace rtrain::worker
