#include "host/node/health/node_checks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>

#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/machine/libraries/nvml.h"
#include "host/node/health/echo_client.h"

namespace rtrain::node {
namespace {

constexpr int kLacks[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS, EADDRNOTAVAIL};
constexpr int kRefusals[] = {ECONNREFUSED, ECONNRESET, EPIPE};

bool ends_with_any(const std::string& problem, std::span<const int> reasons) {
  return std::ranges::any_of(reasons,
                             [&](int reason) { return problem.ends_with(std::strerror(reason)); });
}

// Removes the file on every path.
struct Removed {
  std::string path;
  ~Removed() { ::unlink(path.c_str()); }
};

std::string failed(const char* what, const std::string& path) {
  return cat("cannot ", what, " ", path, ": ", std::strerror(errno));
}

}  // namespace

std::string storage_problem(const std::string& folder) {
  const std::string text = random_hex(32);
  const Removed file{cat(folder, "/.check-", random_hex(8))};
  const Fd written(::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!written.is_open()) return failed("create", file.path);
  if (::pwrite(written.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return failed("write", file.path);
  }
  if (::fsync(written.get()) != 0) return failed("fsync", file.path);
  std::string read(text.size(), '\0');
  if (::pread(written.get(), read.data(), read.size(), 0) != static_cast<ssize_t>(read.size())) {
    return failed("read", file.path);
  }
  return read == text ? "" : cat(file.path, " holds something else than was written to it");
}

bool is_disk_fault(const std::string& problem) {
  return !problem.ends_with(std::strerror(ENOSPC)) && !problem.ends_with(std::strerror(EDQUOT)) &&
         !is_lack(problem);
}

bool is_lack(const std::string& problem) { return ends_with_any(problem, kLacks); }

bool is_refusal(const std::string& problem) {
  return ends_with_any(problem, kRefusals) || problem.ends_with("the connection is closed");
}

bool is_lack_of(int reason) { return std::ranges::find(kLacks, reason) != std::end(kLacks); }

std::string device_problem(const std::vector<std::string>& uuids) {
  const machine::Nvml nvml;
  if (!nvml.refusal().empty()) return "";
  for (const std::string& uuid : uuids) {
    if (const std::string problem = nvml.problem(uuid); !problem.empty()) {
      return cat("device ", uuid, ": ", problem);
    }
  }
  return "";
}

std::string exchange_problem(const EchoAddress& peer, size_t bytes,
                             std::chrono::milliseconds timeout) {
  try {
    EchoClient client(peer, timeout);
    client.send(bytes, timeout);
    return client.receive(timeout) ? "" : cat(bytes, " bytes did not come back within their time");
  } catch (const Error& e) {
    return e.message();
  }
}

}  // namespace rtrain::node
