#include "tests/sim/worlds/reports_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostRanks = 4;
constexpr int kMostReports = 8;
constexpr int kMostSteps = 2000;
constexpr double kTimeoutS = 100;

// Returns metrics that identify the report.
Value mark_of(int rank, int64_t index) { return Map{{"rank", rank}, {"index", index}}; }

}  // namespace

ReportsWorld::ReportsWorld(Draws& draws)
    : draws_(draws),
      faults_{draws.chance(0.5), draws.chance(0.3), draws.chance(0.4), draws.chance(0.2)},
      ranks_(static_cast<size_t>(1 + draws.below(kMostRanks))),
      first_index_(draws.below(3)),
      collector_(static_cast<int>(ranks_.size()), first_index_),
      next_complete_(first_index_),
      flow_(first_index_),
      wanted_(first_index_),
      acknowledged_(first_index_) {
  const int num_reports = 1 + draws.below(kMostReports);
  for (Rank& rank : ranks_) {
    rank.num_reports = faults_.is_uneven ? draws.below(num_reports + 1) : num_reports;
  }
}

void ReportsWorld::live() {
  const int num_wild = draws_.below(kMostSteps / 4);
  for (int i = 0; i < num_wild && !is_done(); ++i) step_on();
  if (faults_.ends_early) return end_early();
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
  check_complete_below();
  if (!is_calm_ && draws_.chance(0.1)) return ask_to_acknowledge();
  if (!is_calm_ && draws_.chance(0.05)) return report_for_all();
  const int num_actors = static_cast<int>(ranks_.size()) + 1;
  const int actor = is_calm_ ? turn_++ % num_actors : draws_.below(num_actors);
  if (actor == static_cast<int>(ranks_.size())) return pass_time();
  Rank& rank = ranks_[static_cast<size_t>(actor)];
  if (!rank.uploading.empty() && (is_calm_ || draws_.chance(0.5))) return finish_upload(actor);
  if (rank.has_returned) return;
  if (rank.made < rank.num_reports) return report(actor);
  if (!rank.uploading.empty() || !rank.waiting.empty())
    return;  // a train function returns only after they are done
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
  if (report.upload == Upload::kInFolder) {
    report.folder = cat("folder-", draws_.below(2));
    rank.folders[report.index] = report.folder;
  }
  if (report.upload != Upload::kNone) uploads_.insert(report.index);
  if (draws_.chance(0.3)) report.directory_name = cat("name-", draws_.below(2));
  report.asks_name = draws_.chance(0.3);
  if (report.asks_name) rank.asking[report.index] = report.directory_name;
  if (number == 0) names_[report.index] = report.directory_name;
  if (report.upload == Upload::kRunning) rank.uploading.insert(report.index);
  if (report.upload != Upload::kNone) rank.waiting.insert(report.index);
  tell([&] {
    return cat("collector.add(report(", number, ", ", report.index, ", Upload(",
               static_cast<int>(report.upload), "), \"", report.directory_name, "\", ",
               int{report.asks_name}, "));");
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
    rank.waiting.erase(outcome.index);  // the rank learns of the failure first
  }
  tell([&] {
    return cat("collector.add_upload(report(", number, ", ", outcome.index, ", Upload(",
               static_cast<int>(outcome.upload), ")), 100);");
  });
  take(collector_.add_upload(std::move(outcome), now_s_ + kTimeoutS));
}

// Stands for the owner's timer. A deadline passes only if this life allows it, or if nothing else
// would end a wait.
void ReportsWorld::pass_time() {
  const bool is_stalled = std::ranges::all_of(ranks_, [](const Rank& rank) {
    return rank.uploading.empty() && (rank.has_returned || rank.made == rank.num_reports);
  });
  const std::optional<double> due = collector_.next_due();
  if (due && (is_stalled || (faults_.passes_deadlines && !is_calm_ && draws_.chance(0.1)))) {
    now_s_ = std::max(now_s_, *due) + 1;
  }
  const decide::ReportCollector::Progress progress = collector_.take_stuck(now_s_);
  if (!progress.stuck.empty()) tell([&] { return cat("collector.take_stuck(", now_s_, ");"); });
  for (const decide::ReportCollector::Stuck& stuck : progress.stuck) {
    demand(ranks_.at(static_cast<size_t>(stuck.rank)).waiting.erase(stuck.index) == 1,
           "a wait ends twice, or there was none");
    demand(faults_.fails_uploads || faults_.is_uneven || faults_.passes_deadlines,
           "a wait ends in an error though nothing went wrong");
    mark("a wait ended in an error");
  }
  take(progress);
  collector_.take_notice(now_s_);
}

void ReportsWorld::take(const decide::ReportCollector::Progress& progress) {
  take_names(progress.named);
  take_seals(progress.seals);
  for (const std::vector<Report>& reports : progress.complete) take_complete(reports);
}

void ReportsWorld::take_names(const std::vector<decide::ReportCollector::Named>& named) {
  for (const decide::ReportCollector::Named& each : named) {
    auto& asking = ranks_.at(static_cast<size_t>(each.rank)).asking;
    const auto own = asking.find(each.index);
    demand(own != asking.end(), "a rank hears of a name twice, or did not ask");
    demand(names_.contains(each.index), "a name is agreed on before rank 0 has said its own");
    const std::string& first = names_.at(each.index);
    demand(each.name == (first.empty() ? own->second : first), "ranks hear of different names");
    asking.erase(own);
  }
  for (const Rank& rank : ranks_) {
    for (const auto& [index, name] : rank.asking)
      demand(!names_.contains(index), "a rank waits for a name that is known");
  }
}

// One rank stages a folder for all ranks that have written there.
void ReportsWorld::take_seals(const std::vector<decide::ReportCollector::Seal>& seals) {
  for (const decide::ReportCollector::Seal& seal : seals) {
    Rank& rank = ranks_.at(static_cast<size_t>(seal.rank));
    demand(rank.folders[seal.index] == seal.folder, "a rank stages a folder that it has not named");
    demand(sealed_.insert({seal.index, seal.folder}).second, "two ranks stage the same folder");
    for (const Rank& each : ranks_) {
      demand(first_index_ + each.made > seal.index,
             "a folder is staged while a rank may write there");
      const bool is_coming =  // and was not given up
          each.uploading.contains(seal.index) && each.waiting.contains(seal.index);
      demand(!is_coming || sealed_.contains({seal.index, folder_of(each, seal.index)}),
             "a folder is staged while a rank still says what it brings");
    }
    rank.uploading.insert(seal.index);
  }
}

std::string ReportsWorld::folder_of(const Rank& rank, int64_t index) {
  const auto folder = rank.folders.find(index);
  return folder == rank.folders.end() ? "" : folder->second;
}

// One report stands for all ranks, which must have made equally many reports.
void ReportsWorld::report_for_all() {
  const auto number = draws_.below(static_cast<int>(ranks_.size()));
  Report report;
  report.rank = number;
  report.index = first_index_ + ranks_[static_cast<size_t>(number)].made;
  report.metrics = mark_of(number, report.index);
  report.is_for_all = true;
  const bool is_even = std::ranges::all_of(
      ranks_, [&](const Rank& rank) { return rank.made == ranks_.front().made; });
  if (std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.made == rank.num_reports; }))
    return;
  tell([&] { return cat("collector.add(for_all(", number, ", ", report.index, "));"); });
  try {
    const decide::ReportCollector::Progress progress = collector_.add(report);
    demand(is_even, "a report is for all ranks, and some have made it themselves");
    for (Rank& rank : ranks_) ++rank.made;
    names_[report.index];
    take(progress);
  } catch (const Error&) {
    demand(!is_even, "a report for all ranks is refused");
  }
}

// A rank that is far ahead asks for an acknowledgement; many reports may still be unwritten.
void ReportsWorld::ask_to_acknowledge() {
  const auto rank = static_cast<size_t>(draws_.below(static_cast<int>(ranks_.size())));
  const bool asks = draws_.chance(0.5);
  if (asks) flow_.want(first_index_ + ranks_[rank].made);
  if (asks) wanted_ = std::max(wanted_, first_index_ + ranks_[rank].made);
  const bool is_unwritten = draws_.chance(0.3);
  const bool is_pending = draws_.chance(0.3);
  const size_t bytes = decide::ReportFlow::kMaxUnwrittenBytes + (is_unwritten ? 1 : 0);
  const size_t pending = decide::ReportFlow::kMaxPending + (is_pending ? 1 : 0);
  const int64_t least = collector_.least();
  tell([&] {
    return cat("flow.want(", wanted_, "), flow.take(", least, ", ", bytes, ", ", pending, ");");
  });
  const auto acknowledged = flow_.take(least, bytes, pending);
  const bool is_due = acknowledged_ < wanted_ && least > acknowledged_;
  demand(acknowledged.has_value() == (is_due && !is_unwritten && !is_pending),
         "reports are acknowledged while much waits, or a rank asks in vain");
  if (!acknowledged) return;
  demand(*acknowledged == least, "reports are acknowledged that a rank has not made");
  acknowledged_ = *acknowledged;
  mark("acknowledged");
}

void ReportsWorld::check_complete_below() const {
  const int64_t below = collector_.complete_below();
  int64_t fewest = -1;
  for (const Rank& rank : ranks_) {
    if (!rank.has_returned && (fewest < 0 || rank.made < fewest)) fewest = rank.made;
  }
  demand(fewest < 0 || below <= first_index_ + fewest,
         "reports are complete that a rank has not made");
  demand(below <= next_complete_ ||
             std::ranges::none_of(
                 uploads_, [&](int64_t index) { return index >= next_complete_ && index < below; }),
         "a checkpoint is complete that was not given away");
}

// The group is healed at a commit: the incomplete reports before it are taken as they are.
void ReportsWorld::end_early() {
  const int64_t below = first_index_ + draws_.below(kMostReports);
  tell([&] { return cat("collector.take_below(", below, ");"); });
  int64_t index = next_complete_;
  for (const std::vector<Report>& reports : collector_.take_below(below)) {
    size_t made = 0;
    for (const Rank& rank : ranks_) made += first_index_ + rank.made > index ? 1 : 0;
    const bool is_for_all = reports.size() == 1 && reports[0].is_for_all;
    demand(is_for_all || reports.size() == made, "a report that a rank has made is not taken");
    for (const Report& report : reports) {
      demand(report.index == index && index < below, "reports become complete out of their order");
      demand(report.upload == Upload::kNone, "half a checkpoint is taken");
    }
    ++index;
  }
  demand(collector_.num_pending() == 0 || index == below || index == next_complete_,
         "a report below the commit stays");
  mark("ended at a commit");
}

void ReportsWorld::take_complete(const std::vector<Report>& reports) {
  if (reports.size() == 1 && reports[0].is_for_all) {
    demand(reports[0].index == next_complete_,
           "reports are not complete in their order, once each");
    ++next_complete_;
    return mark("complete, one for all");
  }
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
