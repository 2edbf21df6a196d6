#include "host/machine/leases/job_end.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/machine/leases/runtime_folder.h"
#include "host/machine/processes/process_facts.h"

namespace rtrain::machine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".ended";
constexpr std::chrono::hours kKept{1};

std::string path_of(const std::string& job) { return cat(runtime_folder(), "/", job, kEnding); }

void remove_old_ones() {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(runtime_folder(), error)) {
    if (entry.path().extension() != kEnding) continue;
    if (now - entry.last_write_time(error) > kKept) fs::remove(entry.path(), error);
  }
}

}  // namespace

void write_job_end(const std::string& job, int code) noexcept try {
  remove_old_ones();
  const std::string path = path_of(job);
  const std::string unfinished = cat(path, ".", getpid());
  std::ofstream(unfinished) << code << ' ' << std::fixed << boot_s() << '\n';
  fs::rename(unfinished, path);
} catch (const std::exception&) {
  // The header says what late processes do then.
}

std::optional<int> find_job_end(const std::string& job) {
  std::ifstream file(path_of(job));
  int code = 0;
  double ended_s = 0;
  if (!(file >> code >> ended_s) || ended_s < process_facts(getpid()).begun_s) return std::nullopt;
  return code;
}

}  // namespace rtrain::machine
