#include "host/wire/secret_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"

namespace rtrain::wire {
namespace {

constexpr const char* kSecret = "RTRAIN_SECRET";
constexpr const char* kSecretFile = "RTRAIN_SECRET_FILE";
constexpr size_t kMaxBytes = size_t{64} << 10;

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(Code::kEnvironment, cat("the secret's file ", path, " ", why));
}

[[noreturn]] void refuse_reason(const std::string& path) {
  refuse(path, cat("cannot be read: ", std::string_view(std::strerror(errno))));
}

// The owner must be the user, or root. A file of root may be readable by a group: Kubernetes mounts
// secrets in this way for the user of a pod.
void check_access(const std::string& path, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) refuse(path, "is not a file");
  if (info.st_uid != geteuid() && info.st_uid != 0) refuse(path, "belongs to another user");
  const mode_t others = info.st_uid == 0 && geteuid() != 0 ? S_IRWXO | S_IWGRP : S_IRWXO | S_IRWXG;
  if ((info.st_mode & others) == 0) return;
  refuse(path, cat("can be opened by other users: chmod 600 ", path,
                   ", and for a secret that Kubernetes mounts defaultMode: 0400"));
}

// Returns a variable's value and wipes its memory, which /proc/self/environ shows.
std::optional<std::string> take_variable(const char* name) {
  char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string out = value;
  std::memset(value, '*', out.size());
  unsetenv(name);
  if (out.empty()) return std::nullopt;
  return out;
}

}  // namespace

Secret read_secret(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) refuse_reason(path);
  check_access(path, info);
  std::string bytes(kMaxBytes, '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse_reason(path);
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  bytes.resize(size);
  while (bytes.ends_with('\n') || bytes.ends_with('\r')) bytes.pop_back();
  return {std::move(bytes), cat("the secret's file ", path)};
}

std::optional<Secret> take_secret_from_environment() {
  auto secret = take_variable(kSecret);
  const auto path = take_variable(kSecretFile);
  if (secret && path) {
    throw Error(Code::kConfig, cat(kSecret, " and ", kSecretFile, " are both set: unset one"));
  }
  if (path) return read_secret(*path);
  if (secret) return Secret(std::move(*secret), kSecret);
  return std::nullopt;
}

}  // namespace rtrain::wire
