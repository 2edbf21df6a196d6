// host/decide/report_collector.h: collects the reports of all ranks of one attempt, and the
// checkpoints of these reports, number by number. Pure; times come from the caller.
//
// A rank that reports without a checkpoint never waits. A checkpoint is complete when every rank
// has made the report of its number and the files of all of them are staged. Reports become
// complete in the order of their numbers. A rank's wait for a checkpoint ends with an error when
// a rank has returned with fewer reports, or when the deadline has passed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/base/codec/report.h"
#include "host/base/error.h"

namespace rtrain::decide {

class ReportCollector {
 public:
  // The first report has number `first_index`. `notice_s`: the time between notices of take_notice.
  ReportCollector(int world_size, int64_t first_index, double notice_s = 60);

  struct Named {  // the rank is to get the agreed name of its checkpoint
    int rank;
    int64_t index;
    std::string name;  // empty: the default name
  };
  struct Seal {  // the rank is to stage the files of this folder
    int rank;
    int64_t index;
    std::string folder;
  };
  // A rank's wait that cannot succeed any more, with the error that its report() raises.
  struct Stuck {
    int rank;
    int64_t index;
    Error error;
  };
  // The work that a call leaves to the caller.
  struct Progress {
    std::vector<Named> named;
    std::vector<Seal> seals;
    std::vector<Stuck> stuck;
    // In order of their numbers: the reports of all ranks, by rank, or the one for all ranks.
    std::vector<std::vector<Report>> complete;
  };

  // Adds a report. Throws Error(kArgument) when it is not the rank's next one, or too far ahead,
  // and when one for all ranks has a checkpoint or is not the next one of each rank.
  Progress add(Report report);
  // Adds the end of a report's upload: kStaged with files, kInFolder with a folder, kFailed with an
  // error. The other ranks' waits get the deadline. Changes nothing where the rank's wait was given
  // up. Throws kArgument when that upload is not running.
  Progress add_upload(Report outcome, double deadline_s);
  void set_returned(int rank);

  // The ranks that others wait for have made progress: all waits get this deadline.
  void postpone(double deadline_s);

  // Returns the waits that cannot succeed any more, each once, and the reports that are complete
  // without the checkpoints of these waits.
  Progress take_stuck(double now_s);
  // A line about the ranks that a checkpoint waits for, once in each notice time; else nullopt.
  std::optional<std::string> take_notice(double now_s);
  // When to call the two functions above next; nullopt while no rank waits. Call them after each
  // change too: the first call of take_notice begins the notice time.
  std::optional<double> next_due() const;

  // Removes and returns the incomplete reports below this number, without their checkpoints: the
  // other ranks will not make them any more (train.elastic).
  std::vector<std::vector<Report>> take_below(int64_t index);

  // The number below which all ranks have made their reports.
  int64_t least() const { return first_index_ + least_count_; }
  // The number of reports that some rank has made and that are not complete.
  size_t num_pending() const { return pending_.size(); }

  // The number below which nothing is awaited: each rank that has not returned has made these
  // reports, and their checkpoints were returned as complete.
  int64_t complete_below() const;
  // "rank 1 (3 reports)": the ranks that have made the fewest.
  std::string slowest() const;

  // A warning with the ranks, when they have made different numbers of reports; else empty.
  std::string uneven() const;

 private:
  struct Pending {
    std::vector<std::optional<Report>> reports;
    size_t num_missing = 0;  // ranks that have not made it
    std::optional<double> notice_due_s;
  };
  void check_index(const Report& report) const;
  Progress add_for_all(Report report);
  void count(size_t rank);
  void add_names(Pending& pending, Progress& progress) const;
  void add_seals(Pending& pending, Progress& progress) const;
  void take_complete(Progress& progress);
  std::optional<Error> hopeless(const Report& waiting, double now_s) const;
  std::string behind(int64_t index) const;
  std::string uploading(int64_t index) const;
  std::string site(int rank) const;

  int64_t first_index_;
  double notice_s_;
  std::vector<int64_t> counts_;
  int64_t least_count_ = 0;  // the lowest of these counts
  size_t num_least_;         // the number of ranks with this count
  std::vector<bool> returned_;
  std::vector<std::string> sites_;  // the line of each rank's last report
  std::map<int64_t, Pending> pending_;
  std::set<int64_t> uploads_;                   // numbers of the reports with a checkpoint
  std::set<std::pair<int, int64_t>> given_up_;  // rank and number of uploads that still run
};

// The first of the ranks' reports whose upload has failed; else null.
const Report* failed_upload(const std::vector<Report>& reports);

}  // namespace rtrain::decide
