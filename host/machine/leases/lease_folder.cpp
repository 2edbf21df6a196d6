#include "host/machine/leases/lease_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/leases/runtime_folder.h"

namespace rtrain::machine {
namespace {

constexpr std::chrono::milliseconds kLockTimeout{1000};
constexpr std::chrono::milliseconds kLockPause{2};
constexpr const char* kCore = "core-";
constexpr const char* kGpu = "gpu-";
constexpr const char* kTicket = "ticket-";

[[noreturn]] void fail(std::string_view what, const std::string& path) {
  throw Error(Code::kEnvironment, cat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

// Returns whether this process holds the lock now; false when another one holds it.
bool try_flock(const Fd& file, const std::string& path) {
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  fail("lock", path);
}

std::string read_text(const Fd& file) {
  std::array<char, 4096> buffer{};
  const ssize_t size = pread(file.get(), buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

void write_text(const Fd& file, const std::string& text, const std::string& path) {
  if (ftruncate(file.get(), 0) != 0 ||
      pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    fail("write", path);
  }
}

// Returns nothing if the holder died between taking the lock and writing.
Value content_of(const Fd& file) {
  try {
    return from_json(read_text(file));
  } catch (const Error&) {
    return {};
  }
}

LeaseHolder holder_of(const Value& content) {
  return {content["run"].string_or("?"), static_cast<int>(content["pid"].int_or(0))};
}

Map content_for(const LeaseHolder& holder) { return {{"run", holder.run}, {"pid", holder.pid}}; }

}  // namespace

LeaseFolder::LeaseFolder() : path_(runtime_folder() + "/leases") {
  if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) fail("make", path_);
  lock_ = open("lock", O_CREAT);
  const auto deadline = std::chrono::steady_clock::now() + kLockTimeout;
  while (!try_flock(lock_, path_ + "/lock")) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error(Code::kTimeout, cat("another process has held ", path_, "/lock for ",
                                      kLockTimeout.count(), " ms: is one of your runs stopped?"));
    }
    std::this_thread::sleep_for(kLockPause);
  }
}

Fd LeaseFolder::open(const std::string& name, int flags) const {
  const std::string path = cat(path_, "/", name);
  Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600));
  if (!file.is_open() && errno != ENOENT) fail("open", path);
  return file;
}

std::vector<int64_t> LeaseFolder::numbers(const std::string& prefix) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path_.c_str()), closedir);
  if (!folder) fail("read", path_);
  std::vector<int64_t> out;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    int64_t number = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data() + prefix.size(), end, number).ptr == end) out.push_back(number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<LeaseFolder::Locked> LeaseFolder::locked(const std::string& prefix) const {
  std::vector<Locked> out;
  for (const int64_t number : numbers(prefix)) {
    const std::string name = cat(prefix, number);
    const Fd file = open(name, 0);
    if (file.is_open() && !try_flock(file, name)) out.push_back({number, content_of(file)});
  }
  return out;
}

std::vector<HeldCore> LeaseFolder::held() const {
  std::vector<HeldCore> out;
  for (const auto& [number, content] : locked(kCore)) {
    out.push_back({static_cast<int>(number), holder_of(content)});
  }
  return out;
}

std::vector<HeldGpu> LeaseFolder::held_gpus() const {
  std::vector<HeldGpu> out;
  for (const auto& [number, content] : locked(kGpu)) {
    out.push_back({content["gpu"].string_or(""), static_cast<int>(content["share"].int_or(0)),
                   holder_of(content)});
  }
  return out;
}

std::vector<LeaseFolder::Ticket> LeaseFolder::tickets() const {
  std::vector<Ticket> out;
  for (const int64_t number : numbers(kTicket)) {
    const std::string name = cat(kTicket, number);
    const Fd file = open(name, 0);
    if (!file.is_open()) continue;
    if (try_flock(file, name)) {
      drop_ticket(number);
    } else {
      const Value content = content_of(file);
      out.push_back({number,
                     holder_of(content),
                     {content["wants_gpus"].bool_or(false), content["lacks_gpus"].bool_or(false)}});
    }
  }
  return out;
}

Fd LeaseFolder::take(const std::string& name, const Value& text) const {
  Fd file = open(name, O_CREAT);
  if (!try_flock(file, name)) return {};
  write_text(file, to_json(text), name);
  return file;
}

Fd LeaseFolder::take_core(int core, const LeaseHolder& holder) const {
  return take(cat(kCore, core), content_for(holder));
}

// Takes any file that no run holds, and writes into it which part it is.
Fd LeaseFolder::take_gpu(const HeldGpu& gpu) const {
  Map content = content_for(gpu.holder);
  content.set("gpu", gpu.uuid);
  content.set("share", gpu.share);
  for (int number = 0;; ++number) {
    Fd file = take(cat(kGpu, number), content);
    if (file.is_open()) return file;
  }
}

LeaseFolder::NewTicket LeaseFolder::take_ticket(const LeaseHolder& holder) const {
  const std::string text = read_text(lock_);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  write_text(lock_, std::to_string(number + 1), path_ + "/lock");
  return {number, take(cat(kTicket, number), content_for(holder))};
}

void LeaseFolder::write_ticket(const Fd& ticket, const LeaseHolder& holder, Request request) const {
  Map content = content_for(holder);
  content.set("wants_gpus", request.wants_gpus);
  content.set("lacks_gpus", request.lacks_gpus);
  write_text(ticket, to_json(content), path_ + "/ticket");
}

void LeaseFolder::drop_ticket(int64_t number) const {
  unlink(cat(path_, "/", kTicket, number).c_str());
}

}  // namespace rtrain::machine
