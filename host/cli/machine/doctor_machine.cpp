#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/cli/machine/doctor_check.h"
#include "host/cli/screen/listing.h"
#include "host/machine/leases/lease.h"
#include "host/machine/leases/runtime_folder.h"
#include "host/machine/libraries/cuda_driver.h"
#include "host/machine/machine.h"

namespace rtrain::cli {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

Check check_processor() {
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool has_avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  const int cores = machine::available_cores();
  const std::string counted = cat(cores, cores == 1 ? " core" : " cores");
  if (has_avx2) {
    return {"processor", CheckStatus::kOk, cat(counted, has_avx512 ? ", AVX-512" : ", AVX2")};
  }
  return {"processor", CheckStatus::kWarning, cat(counted, ", without AVX2"),
          "LibTorch computes several times slower without: use another machine, or let the "
          "virtual one pass its processor's features on"};
}

Check check_memory() {
  constexpr int64_t kFew = 1024 * kMiB;
  constexpr int64_t kTooFew = 256 * kMiB;
  const int64_t left = machine::available_memory_bytes();
  const std::string finding =
      cat(human_size(left), " of ", human_size(machine::memory_bytes()), " available");
  if (left >= kFew) return {"memory", CheckStatus::kOk, finding};
  return {"memory", left < kTooFew ? CheckStatus::kFailure : CheckStatus::kWarning, finding,
          "a process with LibTorch takes 150 MB before its first tensor: end other programs, or "
          "raise the limit of the container"};
}

// Collectives of ranks, and the engine itself, use memory files; NCCL uses /dev/shm.
Check check_shared_memory() {
  constexpr int64_t kForNccl = 512 * kMiB;
  Check check{"shared memory", CheckStatus::kOk, "memory files"};
  const Fd file(::memfd_create("rtrain-doctor", MFD_CLOEXEC));
  if (!file.is_open() || ::ftruncate(file.get(), kMiB) != 0) {
    return {check.name, CheckStatus::kFailure,
            cat("memory files cannot be made: ", std::strerror(errno)),
            "the kernel or a sandbox forbids memfd_create: allow it"};
  }
  struct statvfs shm = {};
  const bool has_shm = ::statvfs("/dev/shm", &shm) == 0;
  const auto free_bytes = static_cast<int64_t>(shm.f_bavail * shm.f_frsize);
  check.finding += has_shm ? cat(", /dev/shm has ", human_size(free_bytes)) : ", no /dev/shm";
  if (machine::cuda_driver().devices.size() > 1 && free_bytes < kForNccl) {
    check.status = CheckStatus::kWarning;
    check.mend = "NCCL between GPUs of a node takes /dev/shm: docker run --shm-size=1g";
  }
  return check;
}

std::string limit_text(rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : cat(limit); }

std::string size_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : human_size(static_cast<int64_t>(limit));
}

rlimit limit_of(int resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  return limit;
}

// rtrain raises the soft limit to the hard one if necessary.
Check check_open_files() {
  constexpr rlim_t kFew = 1024;
  constexpr rlim_t kTooFew = 128;
  const rlim_t most = limit_of(RLIMIT_NOFILE).rlim_max;
  const std::string finding = cat(limit_text(most), " at most");
  if (most >= kFew) return {"open files", CheckStatus::kOk, finding};
  return {"open files", most < kTooFew ? CheckStatus::kFailure : CheckStatus::kWarning, finding,
          "a worker takes some 20: ulimit -n 4096, or LimitNOFILE, or nofile in "
          "/etc/security/limits.conf"};
}

Check check_processes() {
  constexpr rlim_t kFew = 512;
  const rlim_t most = limit_of(RLIMIT_NPROC).rlim_cur;
  const std::string finding = cat(limit_text(most), " of this user, threads included");
  if (most >= kFew) return {"processes", CheckStatus::kOk, finding};
  return {"processes", CheckStatus::kWarning, finding,
          "a worker has a dozen threads, and one more for each core: ulimit -u unlimited"};
}

Check check_limits() {
  constexpr rlim_t kAddresses = rlim_t{8} << 30;
  const rlim_t addresses = limit_of(RLIMIT_AS).rlim_cur;
  const rlim_t file_size = limit_of(RLIMIT_FSIZE).rlim_cur;
  const rlim_t locked = limit_of(RLIMIT_MEMLOCK).rlim_cur;
  Check check{"limits", CheckStatus::kOk,
              cat("addresses ", size_text(addresses), ", size of a file ", size_text(file_size),
                  ", locked memory ", size_text(locked))};
  if (addresses < kAddresses || file_size != RLIM_INFINITY) {
    check.status = CheckStatus::kWarning;
    check.mend = addresses < kAddresses
                     ? "LibTorch's libraries alone take 500 MB of addresses: ulimit -v unlimited"
                     : "a checkpoint that is larger cannot be written: ulimit -f unlimited";
  }
  return check;
}

Check check_clock() {
  constexpr int64_t kBuiltMs = 1'767'225'600'000;  // 2026-01-01
  timex state = {};
  const bool is_synchronized = ::adjtimex(&state) != TIME_ERROR;
  const std::string finding = cat(
      time_text(now_ms()), is_synchronized ? ", synchronised" : ", not known to be synchronised");
  if (now_ms() >= kBuiltMs) return {"clock", CheckStatus::kOk, finding};
  return {"clock", CheckStatus::kWarning, finding,
          "it is years slow, so runs are listed in a wrong order: set it, or start NTP"};
}

Check check_leases() {
  try {
    const machine::LeaseTable table = machine::read_lease_table();
    return {"cores on lease", CheckStatus::kOk,
            cat(table.free(), " of ", table.offered, " free, ", table.waiting.size(),
                " runs wait; ", machine::runtime_folder())};
  } catch (const Error& e) {
    return {"cores on lease", CheckStatus::kFailure, e.message(),
            "set RTRAIN_RUNTIME_DIR to a folder of your own on a local disk"};
  }
}

}  // namespace

std::vector<Check> check_machine() {
  return {check_processor(), check_memory(), check_shared_memory(), check_open_files(),
          check_processes(), check_limits(), check_clock(),         check_leases()};
}

}  // namespace rtrain::cli
