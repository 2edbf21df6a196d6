#include "host/store/runs/report_spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <tuple>

#include "host/base/codec/hash.h"
#include "host/base/text/text.h"
#include "host/machine/leases/runtime_folder.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

constexpr mode_t kUserAlone = 0600;

struct RecordHead {
  uint64_t hash = 0;  // of the report
  uint64_t size = 0;
};

void make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw file_error("make", path);
}

void write_at(int fd, const std::string& path, std::string_view bytes, uint64_t place) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw file_error("write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
    place += static_cast<uint64_t>(n);
  }
}

std::string file_name(int attempt, int rank, size_t number) {
  return cat(attempt, "-", rank, ".", number);
}

struct FileName {
  int attempt = 0;
  int rank = 0;
  int number = 0;

  bool operator<(const FileName& other) const {
    return std::tie(attempt, rank, number) < std::tie(other.attempt, other.rank, other.number);
  }
};

std::optional<FileName> parse_name(std::string_view name) {
  FileName out;
  const char* at = name.data();
  const char* const end = at + name.size();
  for (const auto& [number, separator] :
       {std::pair(&out.attempt, '-'), std::pair(&out.rank, '.')}) {
    const auto [stop, error] = std::from_chars(at, end, *number);
    if (error != std::errc() || stop == end || *stop != separator) return std::nullopt;
    at = stop + 1;
  }
  const auto [stop, error] = std::from_chars(at, end, out.number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return out;
}

std::vector<FileName> spools_in(const std::string& folder) {
  std::vector<FileName> out;
  for (const std::string& entry : folder_entries(folder)) {
    if (const auto name = parse_name(entry)) out.push_back(*name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string path_of(const std::string& folder, const FileName& name) {
  return cat(folder, "/", file_name(name.attempt, name.rank, static_cast<size_t>(name.number)));
}

// Syncs the file unless it was removed meanwhile: another thread may continue or end the run.
void sync_if_there(const std::string& path, int (*sync)(int)) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open() && errno == ENOENT) return;
  if (!file.is_open() || sync(file.get()) != 0) throw file_error("sync", path);
}

// The reports of one file, up to the first incomplete one.
std::vector<std::string> reports_in(std::string_view bytes) {
  std::vector<std::string> out;
  RecordHead head;
  while (bytes.size() >= sizeof(head)) {
    std::memcpy(&head, bytes.data(), sizeof(head));
    bytes.remove_prefix(sizeof(head));
    if (head.size == 0 || head.size > bytes.size()) break;
    const std::string_view report = bytes.substr(0, head.size);
    if (hash64(report) != head.hash) break;
    out.emplace_back(report);
    bytes.remove_prefix(head.size);
  }
  return out;
}

}  // namespace

ReportSpool::ReportSpool(const std::string& folder, int attempt, int rank) {
  make_private_folder(folder.substr(0, folder.rfind('/')));
  make_private_folder(folder);
  for (size_t i = 0; i < files_.size(); ++i) {
    File& file = files_[i];
    file.path = cat(folder, "/", file_name(attempt, rank, i));
    file.fd = Fd(::open(file.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                        kUserAlone));
    if (!file.fd.is_open()) throw file_error("make", file.path);
  }
}

void ReportSpool::add(int64_t index, std::string_view report) {
  const decide::SpoolTurns::Place place = turns_.next(acknowledged_);
  const File& file = files_.at(place.file);
  if (place.is_begun_again && ::ftruncate(file.fd.get(), 0) != 0) {
    throw file_error("cut", file.path);
  }
  const RecordHead head{.hash = hash64(report), .size = report.size()};
  std::string record(sizeof(head), '\0');
  std::memcpy(record.data(), &head, sizeof(head));
  record += report;
  write_at(file.fd.get(), file.path, record, place.at);
  turns_.add(place, index, record.size());
}

std::string spool_folder(const std::string& run_id) {
  return cat(machine::runtime_folder(), "/spool/", run_id);
}

std::vector<SpooledReport> read_spools(const std::string& folder) {
  std::vector<SpooledReport> out;
  for (const FileName& name : spools_in(folder)) {
    for (std::string& report : reports_in(read_text(path_of(folder, name)))) {
      out.push_back({.attempt = name.attempt, .rank = name.rank, .report = std::move(report)});
    }
  }
  return out;
}

std::string sync_spools(const std::string& folder) {
  try {
    const std::vector<FileName> names = spools_in(folder);
    for (const FileName& name : names) sync_if_there(path_of(folder, name), &::fdatasync);
    if (!names.empty()) sync_if_there(folder, &::fsync);
    return "";
  } catch (const Error& e) {
    return e.message();
  }
}

void remove_spools(const std::string& folder, int below_attempt) {
  for (const FileName& name : spools_in(folder)) {
    if (name.attempt < below_attempt) ::unlink(path_of(folder, name).c_str());
  }
  ::rmdir(folder.c_str());
}

}  // namespace rtrain::store
