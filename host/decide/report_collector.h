// host/decide/report_collector.h: collects report number i of all ranks of one attempt, and
// what they bring with it. Pure; times come from the caller.
//
// A rank that reports without a checkpoint never waits. A checkpoint is complete when every rank
// has made the report of its number and all that were brought are staged; numbers become complete
// in their order. A wait for one ends in an error when it cannot come true: a rank has returned
// with fewer reports, or the deadline has passed.
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
  // `timeout_s` of a wait, `notice_s` until the first notice about ranks that are behind.
  ReportCollector(int world_size, int64_t first_index, double notice_s = 60);

  struct Named {  // tell the rank which name was agreed
    int rank;
    int64_t index;
    std::string name;  // empty: the default one
  };
  struct Seal {  // the rank is to stage the files of that folder
    int rank;
    int64_t index;
    std::string folder;
  };
  // A rank's wait that has become hopeless, with the error its report() raises.
  struct Stuck {
    int rank;
    int64_t index;
    Error error;
  };
  // The effects of a call.
  struct Progress {
    std::vector<Named> named;
    std::vector<Seal> seals;
    std::vector<Stuck> stuck;
    // The reports of all ranks by rank, in order; of one for all only that.
    std::vector<std::vector<Report>> complete;
  };

  // Throws Error(kArgument) when it is not the rank's next number or the rank is too far ahead; and
  // where one for all has another number for another rank, or brings a checkpoint.
  Progress add(Report report);
  // How the upload of a report has ended: kStaged with files, kInFolder with a folder, kFailed with
  // an error. Of a wait that was given up it changes nothing. Throws kArgument when that upload is
  // not running.
  Progress add_upload(Report outcome, double deadline_s);
  void set_returned(int rank);

  // The ranks that are waited for have made progress: all deadlines become this one.
  void postpone(double deadline_s);

  // The waits that have become hopeless, each once, and the reports that are complete without what
  // was waited for.
  Progress take_stuck(double now_s);
  // One line about the ranks that a checkpoint waits for, once in each notice time.
  std::optional<std::string> take_notice(double now_s);
  // When the two calls above are due next; nothing while no rank waits. Call them after each change
  // too: the first one begins the notice time.
  std::optional<double> next_due() const;

  // The reports below that number that are not complete, of the ranks that have made them: no rank
  // will add to them (train.elastic). Their checkpoints are left out.
  std::vector<std::vector<Report>> take_below(int64_t index);

  // All ranks have made the reports below this number.
  int64_t least() const { return first_index_ + least_count_; }
  // Reports that some rank has made and that are not complete.
  size_t num_pending() const { return pending_.size(); }

  // To these no rank will add: the reports below this number have come from every rank that may
  // still make one, and what they brought was given away as complete.
  int64_t complete_below() const;
  // "rank 1 (3 reports)": the ranks that have made the fewest.
  std::string slowest() const;

  // Empty, or a warning that names the ranks when they made different numbers of reports.
  std::string uneven() const;

 private:
  struct Pending {
    std::vector<std::optional<Report>> reports;
    size_t num_missing = 0;  // of the ranks' reports
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
  int64_t least_count_ = 0;  // the lowest of them
  size_t num_least_;         // ranks that have it
  std::vector<bool> returned_;
  std::vector<std::string> sites_;  // of each rank's last report
  std::map<int64_t, Pending> pending_;
  std::set<int64_t> uploads_;                   // numbers of those that somebody brings files with
  std::set<std::pair<int, int64_t>> given_up_;  // uploads whose end has not come: rank, number
};

// The first failed upload among the ranks' reports.
const Report* failed_upload(const std::vector<Report>& reports);

}  // namespace rtrain::decide
