#include "host/wire/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".frames";

// Names in the order of numbers.
std::string segment_path(const std::string& folder, uint64_t first) {
  std::array<char, 32> number;
  std::snprintf(number.data(), number.size(), "%020llu", static_cast<unsigned long long>(first));
  return cat(folder, "/", number.data(), kSuffix);
}

[[noreturn]] void fail(const std::string& folder, std::string_view why) {
  throw Error(Code::kEnvironment, cat("the spool ", folder, " ", why));
}

Fd lock_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    fail(folder, cat("cannot be made: ", std::string_view(std::strerror(errno))));
  }
  Fd out(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.is_open())
    fail(folder, cat("cannot be opened: ", std::string_view(std::strerror(errno))));
  if (::flock(out.get(), LOCK_EX | LOCK_NB) != 0) fail(folder, "belongs to another process");
  return out;
}

std::vector<std::string> segment_paths(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == kSuffix) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Spool::Spool(std::string folder, std::string stream, uint64_t segment_bytes)
    : folder_(std::move(folder)),
      stream_(std::move(stream)),
      segment_bytes_(segment_bytes),
      lock_(lock_folder(folder_)) {
  try {
    recover();
  } catch (const fs::filesystem_error& e) {
    fail(folder_, cat("cannot be read: ", e.code().message()));
  }
}

// A gap between two files comes only from a host that went down: what lies behind it is of no use.
void Spool::recover() {
  uint64_t acked = 0;
  bool has_gap = false;
  for (const std::string& path : segment_paths(folder_)) {
    auto segment = SpoolSegment::open(path);
    has_gap |= segment && !segments_.empty() && segment->first() != segments_.back().last() + 1;
    if (!segment || has_gap) {
      ::unlink(path.c_str());
      continue;
    }
    acked = std::max(acked, segment->acked());
    segments_.push_back(std::move(*segment));
  }
  if (segments_.empty()) return;
  first_ = segments_.front().first();
  last_ = segments_.back().last();
  if (acked >= last_) {
    clear();
    first_ = 1;
    last_ = 0;
    return;
  }
  acknowledge(std::max(acked, first_ - 1));
  for (const SpoolSegment& segment : segments_) {
    if (former_.empty() || former_.back().stream != segment.stream()) {
      former_.push_back({.stream = segment.stream(), .last = 0});
    }
    former_.back().last = static_cast<int64_t>(segment.last());
  }
}

uint64_t Spool::size_bytes() const {
  uint64_t out = 0;
  for (const SpoolSegment& segment : segments_) out += segment.size_bytes();
  return out;
}

size_t Spool::append(std::span<const std::string> frames) {
  error_.clear();
  const uint64_t before = last_;
  std::string records;
  try {
    for (size_t i = 0; i < frames.size(); ++i) {
      SpoolSegment::add_record(records, frames[i]);
      if (records.size() < segment_bytes_ && i + 1 < frames.size()) continue;
      write(records, before + i + 1);
      records.clear();
    }
  } catch (const Error& e) {
    error_ = e.message();
  }
  return static_cast<size_t>(last_ - before);
}

void Spool::write(const std::string& records, uint64_t last) {
  // What a former process has written is not added to: its numbers are of another stream.
  const bool is_new = segments_.empty() || segments_.back().stream() != stream_ ||
                      segments_.back().size_bytes() >= segment_bytes_;
  if (is_new) {
    segments_.push_back(SpoolSegment::create(segment_path(folder_, last_ + 1), stream_, last_ + 1));
  }
  is_dirty_ = true;
  segments_.back().append(records, last);
  last_ = last;
}

void Spool::acknowledge(uint64_t sequence) {
  RT_CHECK(sequence + 1 >= first_);
  first_ = sequence + 1;
  if (sequence > last_) {
    clear();
    last_ = sequence;
  }
  while (segments_.size() > 1 && segments_[1].first() <= first_) {
    segments_.front().remove();
    segments_.pop_front();
  }
}

std::deque<std::string> Spool::read(uint64_t from, size_t max_bytes) {
  RT_CHECK(from >= first_ && from >= read_next_ && from <= last_);
  std::deque<std::string> out;
  const auto segment =
      std::find_if(segments_.begin(), segments_.end(),
                   [from](const SpoolSegment& each) { return each.last() >= from; });
  if (read_segment_ != segment->first()) {
    read_segment_ = segment->first();
    read_place_ = SpoolSegment::begin();
    read_next_ = segment->first();
  }
  while (out.empty()) {
    RT_CHECK(read_place_ < segment->size_bytes());
    segment->read(read_place_, max_bytes, out);
    const uint64_t behind = read_next_ + out.size();
    for (; read_next_ < from && !out.empty(); ++read_next_) out.pop_front();
    read_next_ = behind;
  }
  return out;
}

void Spool::note_acked() {
  if (segments_.empty() || first_ - 1 <= noted_) return;
  std::string frame;
  WireFrame{.type = WireType::kAck, .number = first_ - 1}.add_to(frame);
  std::string record;
  SpoolSegment::add_record(record, frame);
  segments_.back().append(record, last_);
  noted_ = first_ - 1;
  is_dirty_ = true;
}

std::function<std::string()> Spool::begin_sync() {
  if (first_ > last_) clear();
  try {
    note_acked();
  } catch (const Error&) {
    // A full disk: what is acknowledged would come again after a crash, and is known there.
  }
  if (!is_dirty_) return nullptr;
  is_dirty_ = false;
  auto files = std::make_shared<std::vector<Fd>>();
  for (const SpoolSegment& segment : segments_) {
    const bool is_written = segment.last() > synced_ || &segment == &segments_.back();
    if (is_written) files->emplace_back(::dup(segment.fd()));
  }
  files->emplace_back(::dup(lock_.get()));
  synced_ = last_;
  return [files, folder = folder_]() -> std::string {
    for (const Fd& file : *files) {
      if (::fsync(file.get()) != 0)
        return cat("cannot sync ", folder, ": ", std::string_view(std::strerror(errno)));
    }
    return "";
  };
}

void Spool::clear() {
  for (const SpoolSegment& segment : segments_) segment.remove();
  segments_.clear();
  former_.clear();
}

}  // namespace rtrain
