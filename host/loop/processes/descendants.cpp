#include "host/loop/processes/descendants.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "host/base/codec/hash.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/machine/cgroup.h"

namespace rtrain::loop {
namespace {

constexpr const char* kVariable = "RTRAIN_WORKER_OF";
// A process that forks while it is being killed may leave a child, which a later round finds.
constexpr int kRounds = 10;
constexpr int kRemovalRounds = 250;
constexpr useconds_t kPauseUs = 2000;

std::string new_mark() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random))
    random = static_cast<uint64_t>(getpid());
  return hash_text(random);
}

// Makes a cgroup below this process's own. Returns "" if the process may not.
std::string make_cgroup(const std::string& mark) {
  const char* wanted = std::getenv("RTRAIN_CGROUP");
  if (wanted != nullptr && std::string_view(wanted) == "off") return "";
  const auto own = machine::cgroup_folder();
  if (!own) return "";
  std::string folder = cat(*own, "/rtrain-", mark);
  if (mkdir(folder.c_str(), 0755) != 0) return "";
  // Older kernels do not have this file.
  if (access(cat(folder, "/cgroup.kill").c_str(), W_OK) == 0) return folder;
  rmdir(folder.c_str());
  return "";
}

bool write_text(const std::string& path, std::string_view text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool has_mark(const std::filesystem::path& process, const std::string& mark) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  return environment.find(mark) != environment.npos;
}

// With a descriptor, another process cannot get the pid between the check and the signal.
bool kill_marked(const std::filesystem::path& process, const std::string& mark) {
  const std::string name = process.filename();
  if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }) ||
      !has_mark(process, mark)) {
    return false;
  }
  const Fd fd(static_cast<int>(syscall(SYS_pidfd_open, std::atoi(name.c_str()), 0)));
  return fd.is_open() && has_mark(process, mark) &&
         syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0) == 0;
}

bool kill_all_marked(const std::string& mark) {
  bool any = false;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    any = kill_marked(entry.path(), mark) || any;
  }
  return any;
}

// Killed processes leave the cgroup a moment later. Cgroups below it belong to runs that a worker
// has started.
void remove_cgroup(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.is_directory(ignored)) remove_cgroup(entry.path());
  }
  for (int round = 0; rmdir(folder.c_str()) != 0 && errno == EBUSY && round < kRemovalRounds;
       ++round) {
    usleep(kPauseUs);
  }
}

}  // namespace

Descendants::Descendants() : mark_(new_mark()), cgroup_(make_cgroup(mark_)) {}

Descendants::~Descendants() { end(mark_, cgroup_); }

void Descendants::end(const std::string& mark, const std::string& cgroup) {
  kill(mark, cgroup);
  if (!cgroup.empty()) remove_cgroup(cgroup);
}

// A worker may itself run rtrain: then its workers keep the outer run's mark too.
std::pair<std::string, std::string> Descendants::variable() const {
  const char* outer = std::getenv(kVariable);
  return {kVariable, outer == nullptr ? mark_ : cat(outer, " ", mark_)};
}

void Descendants::add(int pid) const {
  if (!cgroup_.empty()) write_text(cat(cgroup_, "/cgroup.procs"), std::to_string(pid));
}

void Descendants::kill(const std::string& mark, const std::string& cgroup) {
  if (!cgroup.empty()) write_text(cat(cgroup, "/cgroup.kill"), "1");
  for (int round = 0; round < kRounds && kill_all_marked(mark); ++round) usleep(kPauseUs);
}

}  // namespace rtrain::loop
