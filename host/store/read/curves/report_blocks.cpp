#include "host/store/read/curves/report_blocks.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "host/base/codec/flat_json.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"
#include "host/store/claim/run_lock.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/read/report_rows.h"

namespace rtrain::store {
namespace {

constexpr uint64_t kPartReports = 16384;
constexpr uint64_t kMaxParts = 4096;
// Below this number, reading is faster than opening the store in another thread.
constexpr uint64_t kMinReports = 4 * kPartReports;
constexpr int kMaxThreads = 4;
// Limit of parts read ahead, so that a slow caller does not let them accumulate.
constexpr int64_t kMaxAhead = 16;
// Limits of names per report and of lists of names per part. Reports beyond are kept whole.
constexpr size_t kMaxNames = 200;
constexpr size_t kMaxListsOfNames = 64;

// Distance between two indices, the second not below the first. Cannot overflow.
uint64_t distance(int64_t first, int64_t last) {
  return static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
}

int64_t index_behind(int64_t first, uint64_t distance) {
  return static_cast<int64_t>(static_cast<uint64_t>(first) + distance);
}

}  // namespace

class ReportBlocks::PartMaker {
 public:
  void add(std::string_view json, std::string_view nonfinite) {
    if (!nonfinite.empty() || !flat_.read(json) || !find_names()) {
      count(ReportBlock::kOthers);
      part_.block.others.push_back(load_metrics(json, nonfinite));
      return;
    }
    count(*names_);
    for (size_t i = 0; i < flat_.size(); ++i) part_.block.numbers.push_back(flat_.number(i));
  }

  Part take() { return std::move(part_); }

 private:
  void count(int32_t names) {
    auto& runs = part_.block.runs;
    if (runs.empty() || runs.back().names != names) runs.push_back({.names = names});
    ++runs.back().num_reports;
  }

  // Finds the number for the last report's list of names. Returns false if it gets none.
  bool find_names() {
    if (flat_.names_version() == names_version_) return names_.has_value();
    names_version_ = flat_.names_version();
    names_.reset();
    if (flat_.size() == 0 || flat_.size() > kMaxNames) return false;
    MetricNames names;
    for (size_t i = 0; i < flat_.size(); ++i) names.emplace_back(flat_.name(i));
    const auto found = std::ranges::find(part_.names, names);
    const auto number = static_cast<int32_t>(found - part_.names.begin());
    if (found == part_.names.end()) {
      if (part_.names.size() == kMaxListsOfNames) return false;
      part_.names.push_back(std::move(names));
    }
    names_ = number;
    return true;
  }

  Part part_;
  FlatJson flat_;
  int64_t names_version_ = -1;
  std::optional<int32_t> names_;
};

int ReportBlocks::usual_threads() { return std::min(machine::available_cores(), kMaxThreads); }

ReportBlocks::ReportBlocks(const std::string& storage_path, const std::string& run, int max_threads)
    : run_(open_run(storage_path, run)), storage_path_(storage_path) {
  const bool goes_on = RunLock::is_held(run_.ref.path);
  if (goes_on) moment_.emplace(run_.store.hold());
  const ReportRange range = report_range(run_.store.database(), run_.ref.run_id);
  if (range.last < range.first) return;
  first_ = range.first;
  span_ = distance(range.first, range.last);
  num_parts_ = static_cast<int64_t>(std::min(span_ / kPartReports + 1, kMaxParts));
  part_size_ = span_ / static_cast<uint64_t>(num_parts_) + 1;
  if (goes_on || max_reports() < kMinReports) return;
  try {
    for (int i = 0; i < max_threads; ++i) threads_.emplace_back([this] { read_ahead(); });
  } catch (const std::system_error&) {  // continue with the threads that the system allows
  }
}

ReportBlocks::~ReportBlocks() {
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

const ReportBlock* ReportBlocks::next() {
  if (taken_ == num_parts_) return nullptr;
  Part part = take();
  if (part.error) std::rethrow_exception(part.error);
  give_common_numbers(part);
  block_ = std::move(part.block);
  return &block_;
}

uint64_t ReportBlocks::max_reports() const {
  return num_parts_ == 0 ? 0 : std::max(span_, span_ + 1);
}

const MetricNames& ReportBlocks::names(int32_t number) const {
  return names_.at(static_cast<size_t>(number));
}

ReportBlocks::Part ReportBlocks::read(Database& database, int64_t number) const {
  const uint64_t begin = static_cast<uint64_t>(number) * part_size_;
  PartMaker maker;
  if (begin > span_) return maker.take();
  const uint64_t last = begin + std::min(part_size_ - 1, span_ - begin);
  each_stored_metrics(
      database, run_.ref.run_id,
      {.first = index_behind(first_, begin), .last = index_behind(first_, last)},
      [&](std::string_view json, std::string_view nonfinite) { maker.add(json, nonfinite); });
  return maker.take();
}

// Reads parts that no other thread has begun.
void ReportBlocks::read_ahead() {
  std::optional<OpenStore> store;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_closed_ || begun_ < taken_ + kMaxAhead; });
    if (is_closed_ || begun_ == num_parts_) return;
    const int64_t number = begun_++;
    lock.unlock();
    Part part;
    try {
      if (!store) store = OpenStore::open(storage_path_);
      if (!store) throw Error(Code::kEnvironment, cat("the store in ", storage_path_, " is gone"));
      part = read(store->database(), number);
    } catch (...) {
      part.error = std::current_exception();
    }
    lock.lock();
    read_.emplace(number, std::move(part));
    changed_.notify_all();
  }
}

ReportBlocks::Part ReportBlocks::take() {
  if (threads_.empty()) return read(run_.store.database(), taken_++);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return read_.contains(taken_); });
  Part part = std::move(read_.extract(taken_++).mapped());
  lock.unlock();
  changed_.notify_all();
  return part;
}

void ReportBlocks::give_common_numbers(Part& part) {
  std::vector<int32_t> common;
  for (MetricNames& names : part.names) {
    const auto [place, is_new] =
        numbers_of_names_.try_emplace(names, static_cast<int32_t>(names_.size()));
    if (is_new) names_.push_back(std::move(names));
    common.push_back(place->second);
  }
  for (auto& run : part.block.runs) {
    if (run.names != ReportBlock::kOthers) run.names = common[static_cast<size_t>(run.names)];
  }
}

}  // namespace rtrain::store
