// host/train/report_handler.h: collects report number i of all ranks of one attempt. Pure; times
// come from the caller.
//
// A rank that reports without a checkpoint never waits; one that attaches a checkpoint waits until
// all ranks have made that report. Such a wait ends in an error when it cannot come true: a rank
// has returned with fewer reports, or the deadline has passed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/base/value.h"

namespace rtrain {

// How many reports one rank may be ahead of the slowest.
inline constexpr int64_t kMaxReportsAhead = 1024;

struct Report {
  int rank = 0;
  int64_t index = 0;
  int64_t time_ms = 0;
  Value metrics;
  bool has_checkpoint = false;
  Value files;                 // the staged files, as host/store wrote them down
  std::string directory_name;  // the name wanted for the checkpoint, or empty
  Value validation;            // {fn_kwargs, timeout_s} of the validation that is asked for, or nil
  double deadline_s = 0;       // of the wait, on the caller's clock
};

class ReportHandler {
 public:
  ReportHandler(int world_size, int64_t first_index);

  // The reports of all ranks by rank, when this one was the last of its number. Throws
  // Error(kArgument) when it is not the rank's next number or the rank is too far ahead.
  std::optional<std::vector<Report>> add(Report report);
  void set_returned(int rank);

  // A rank's wait that has become hopeless, with the error its report() raises.
  struct Stuck {
    int rank;
    int64_t index;
    Error error;
  };
  // Each is given once.
  std::vector<Stuck> take_stuck(double now_s);
  // When take_stuck should be called next; nothing while no rank waits.
  std::optional<double> next_deadline() const;

  // Empty, or a warning that names the ranks when they made different numbers of reports.
  std::string uneven() const;

 private:
  struct Pending {
    std::vector<std::optional<Report>> reports;
  };
  std::optional<Error> hopeless(const Report& waiting, double now_s) const;

  int64_t first_index_;
  std::vector<int64_t> counts_;
  std::vector<bool> returned_;
  std::map<int64_t, Pending> pending_;
};

}  // namespace rtrain
