#include "host/machine/memory_pressure.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "host/machine/cgroup.h"

// A function of jemalloc, which builds with sanitizers do not have.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_size,
                                             void* value, size_t size);

namespace rtrain::machine {
namespace {

// Microseconds of waiting, and of the window. Unprivileged windows are multiples of two seconds.
constexpr std::string_view kTrigger = "some 200000 2000000";
constexpr std::chrono::seconds kPause{10};
// Of memory that is touched ahead: large enough that the allocator joins the parts.
constexpr int64_t kPart = int64_t{4} << 20;
constexpr int64_t kPage = 4096;
constexpr const char* kPurgeAllArenas = "arena.4096.purge";  // MALLCTL_ARENAS_ALL

Fd open_trigger(const std::string& path) {
  Fd out(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!out.is_open()) return out;
  // The kernel wants the terminating zero too.
  const ssize_t written = write(out.get(), kTrigger.data(), kTrigger.size() + 1);
  return written == static_cast<ssize_t>(kTrigger.size()) + 1 ? std::move(out) : Fd();
}

}  // namespace

std::vector<Fd> MemoryPressure::open_triggers() {
  std::vector<std::string> paths{"/proc/pressure/memory"};
  if (const auto folder = cgroup_folder()) paths.push_back(*folder + "/memory.pressure");
  std::vector<Fd> out;
  for (const std::string& path : paths) {
    if (Fd trigger = open_trigger(path); trigger.is_open()) out.push_back(std::move(trigger));
  }
  return out;
}

MemoryPressure::MemoryPressure(std::function<std::vector<Fd>()> open,
                               std::chrono::milliseconds delay, std::function<void()> on_pressure)
    : open_(std::move(open)),
      delay_(delay),
      on_pressure_(std::move(on_pressure)),
      ended_(eventfd(0, EFD_CLOEXEC)) {
  if (ended_.is_open()) thread_ = std::thread([this] { watch(); });
}

MemoryPressure::~MemoryPressure() {
  if (!thread_.joinable()) return;
  eventfd_write(ended_.get(), 1);
  thread_.join();
}

bool MemoryPressure::ends_within(std::chrono::milliseconds time) const {
  pollfd end{.fd = ended_.get(), .events = POLLIN, .revents = 0};
  return poll(&end, 1, static_cast<int>(time.count())) > 0;
}

void MemoryPressure::watch() {
  pthread_setname_np(pthread_self(), "rtrain-memory");
  if (ends_within(delay_)) return;
  const std::vector<Fd> triggers = open_();
  if (triggers.empty()) return;
  std::vector<pollfd> watched;
  for (const Fd& each : triggers) {
    watched.push_back({.fd = each.get(), .events = POLLPRI, .revents = 0});
  }
  watched.push_back({.fd = ended_.get(), .events = POLLIN, .revents = 0});
  while (true) {
    const int found = poll(watched.data(), watched.size(), -1);
    if (found < 0 && errno != EINTR) return;
    if (found <= 0) continue;
    if (watched.back().revents != 0) return;
    bool is_short = false;
    for (pollfd& each : watched) {
      is_short = is_short || (each.revents & POLLPRI) != 0;
      // The cgroup has been removed.
      if ((each.revents & (POLLERR | POLLNVAL)) != 0) each.fd = -1;
    }
    if (!is_short) continue;
    on_pressure_();
    if (ends_within(kPause)) return;
  }
}

bool give_back_cached_memory() {
  return mallctl != nullptr && mallctl(kPurgeAllArenas, nullptr, nullptr, nullptr, 0) == 0;
}

void cache_memory(int64_t bytes, const std::function<bool()>& is_over) {
  if (mallctl == nullptr) return;
  std::vector<std::unique_ptr<char[]>> parts;
  for (int64_t left = bytes; left >= kPart && !is_over(); left -= kPart) {
    parts.emplace_back(new (std::nothrow) char[kPart]);
    if (parts.back() == nullptr) return;
    for (int64_t at = 0; at < kPart; at += kPage) {
      static_cast<volatile char*>(parts.back().get())[at] = 0;
    }
  }
}

void release_thread_cache() {
  if (mallctl != nullptr) mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
}

}  // namespace rtrain::machine
