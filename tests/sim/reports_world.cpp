#include "tests/sim/reports_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostRanks = 4;
constexpr int kMostReports = 8;
constexpr int kMostSteps = 2000;
constexpr double kTimeoutS = 100;

// What a report holds, so that it is known again.
Value mark_of(int rank, int64_t index) { return Map{{"rank", rank}, {"index", index}}; }

}  // namespace

ReportsWorld::ReportsWorld(Draws& draws)
    : draws_(draws),
      faults_{draws.chance(0.5), draws.chance(0.3), draws.chance(0.4)},
      ranks_(static_cast<size_t>(1 + draws.below(kMostRanks))),
      first_index_(draws.below(3)),
      collector_(static_cast<int>(ranks_.size()), first_index_),
      next_complete_(first_index_) {
  const int num_reports = 1 + draws.below(kMostReports);
  for (Rank& rank : ranks_) {
    rank.num_reports = faults_.is_uneven ? draws.below(num_reports + 1) : num_reports;
  }
}

void ReportsWorld::live() {
  const int num_wild = draws_.below(kMostSteps / 4);
  for (int i = 0; i < num_wild && !is_done(); ++i) step_on();
  is_calm_ = true;
  for (int i = 0; i < kMostSteps && !is_done(); ++i) step_on();
  check_end();
}

bool ReportsWorld::is_done() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) {
    return rank.has_returned && rank.uploading.empty() && rank.waiting.empty();
  });
}

void ReportsWorld::step_on() {
  const int num_actors = static_cast<int>(ranks_.size()) + 1;
  const int actor = is_calm_ ? turn_++ % num_actors : draws_.below(num_actors);
  if (actor == static_cast<int>(ranks_.size())) return pass_time();
  Rank& rank = ranks_[static_cast<size_t>(actor)];
  if (!rank.uploading.empty() && (is_calm_ || draws_.chance(0.5))) return finish_upload(actor);
  if (rank.has_returned) return;
  if (rank.made < rank.num_reports) return report(actor);
  if (!rank.uploading.empty() || !rank.waiting.empty())
    return;  // the end of a train function waits for them
  rank.has_returned = true;
  tell([&] { return cat("collector.set_returned(", actor, ");"); });
  collector_.set_returned(actor);
}

void ReportsWorld::report(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  const bool is_sync = draws_.chance(0.5);
  if (is_sync && !rank.waiting.empty()) return;
  Report report;
  report.rank = number;
  report.index = first_index_ + rank.made++;
  report.metrics = mark_of(number, report.index);
  report.deadline_s = now_s_ + kTimeoutS;
  constexpr std::array kKinds = {Upload::kNone, Upload::kRunning, Upload::kInFolder};
  report.upload = kKinds.at(static_cast<size_t>(draws_.below(kKinds.size())));
  if (report.upload == Upload::kInFolder) report.folder = cat("folder-", draws_.below(2));
  if (report.upload == Upload::kRunning) rank.uploading.insert(report.index);
  if (report.upload != Upload::kNone) rank.waiting.insert(report.index);
  tell([&] {
    return cat("collector.add(report(", number, ", ", report.index, ", Upload(",
               static_cast<int>(report.upload), ")));");
  });
  take(collector_.add(std::move(report)));
}

void ReportsWorld::finish_upload(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  Report outcome;
  outcome.rank = number;
  outcome.index = *rank.uploading.begin();
  rank.uploading.erase(rank.uploading.begin());
  const bool fails = !is_calm_ && faults_.fails_uploads && draws_.chance(0.3);
  outcome.upload = fails ? Upload::kFailed : Upload::kStaged;
  if (fails) {
    outcome.error = Error(Code::kEnvironment, "disk is full");
    rank.waiting.erase(outcome.index);  // the rank knows it first
  }
  tell([&] {
    return cat("collector.add_upload(report(", number, ", ", outcome.index, ", Upload(",
               static_cast<int>(outcome.upload), ")), 100);");
  });
  take(collector_.add_upload(std::move(outcome), now_s_ + kTimeoutS));
}

// As the owner's timer does; a deadline passes only where that may go wrong, or where nothing else
// will end a wait.
void ReportsWorld::pass_time() {
  const bool is_stalled = std::ranges::all_of(ranks_, [](const Rank& rank) {
    return rank.uploading.empty() && (rank.has_returned || rank.made == rank.num_reports);
  });
  const std::optional<double> due = collector_.next_due();
  if (due && (is_stalled || (faults_.passes_deadlines && !is_calm_ && draws_.chance(0.1)))) {
    now_s_ = std::max(now_s_, *due) + 1;
  }
  const ReportCollector::Progress progress = collector_.take_stuck(now_s_);
  if (!progress.stuck.empty()) tell([&] { return cat("collector.take_stuck(", now_s_, ");"); });
  for (const ReportCollector::Stuck& stuck : progress.stuck) {
    demand(ranks_.at(static_cast<size_t>(stuck.rank)).waiting.erase(stuck.index) == 1,
           "a wait ends twice, or there was none");
    mark("a wait ended in an error");
  }
  take(progress);
  collector_.take_notice(now_s_);
}

void ReportsWorld::take(const ReportCollector::Progress& progress) {
  for (const ReportCollector::Seal& seal : progress.seals) {
    ranks_.at(static_cast<size_t>(seal.rank)).uploading.insert(seal.index);
  }
  for (const std::vector<Report>& reports : progress.complete) take_complete(reports);
}

void ReportsWorld::take_complete(const std::vector<Report>& reports) {
  demand(reports.size() == ranks_.size(), "a report is complete without one of a rank");
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    const Report& report = reports[rank];
    demand(report.index == next_complete_, "reports are not complete in their order, once each");
    demand(report.metrics == mark_of(static_cast<int>(rank), next_complete_),
           "a rank's report has become another one");
    demand(report.upload != Upload::kRunning && report.upload != Upload::kInFolder,
           "a report is complete before its files are there");
    ranks_[rank].waiting.erase(report.index);
  }
  ++next_complete_;
  mark("complete");
}

void ReportsWorld::check_end() {
  demand(is_done(), "a rank waits for ever");
  int64_t least = kMostReports + 1;
  for (const Rank& rank : ranks_) least = std::min(least, rank.made);
  demand(next_complete_ == first_index_ + least, "a report that all ranks made is not complete");
  demand(collector_.least() == next_complete_, "the collector has counted other reports");
}

}  // namespace rtrain::sim
