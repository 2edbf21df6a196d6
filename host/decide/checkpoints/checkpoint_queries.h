// host/decide/checkpoints/checkpoint_queries.h: when ranks get an answer that call
// get_all_reported_checkpoints(). Pure; times come from the caller.
//
// A rank that has made n reports asks about the checkpoints of these reports. The answer is due
// when they are settled: every rank has made n reports or has returned, and their checkpoints are
// committed and, where requested, validated. Ranks that ask the same question get the same answer:
// all ranks that wait get it, and it is kept for ranks that ask later.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/base/value.h"

namespace rtrain::decide {

struct CheckpointQuestion {
  int64_t reports = 0;     // the question is about the reports below this number
  bool validated = false;  // CheckpointConsistencyMode.VALIDATED
  int64_t repeat = 0;      // how often the rank has asked this before
  auto operator<=>(const CheckpointQuestion&) const = default;
};

struct CheckpointQuery {
  int rank = 0;
  int64_t call = 0;  // the rank's number of this call
  CheckpointQuestion question;
  double asked_s = 0;
  double timeout_s = 0;
  // When timeout_s has passed, the call returns the checkpoints so far (the script has set the
  // time-out). Otherwise it raises an error.
  bool takes_partial = false;
};

// How far the run has come.
struct CheckpointProgress {
  int64_t complete = 0;  // reports below this number are complete and committed
  std::optional<int64_t> first_pending =
      {};                   // the lowest report whose checkpoint is being validated
  std::string behind = {};  // the ranks with the fewest reports, for messages
};

class CheckpointQueries {
 public:
  bool is_empty() const { return waiting_.empty(); }
  // Adds a call. Returns the answer where the question was answered before; else the rank waits.
  std::optional<List> add(const CheckpointQuery& query);
  // Returns the questions whose answer is due, each once. The caller looks up the answer and passes
  // it to answer().
  std::vector<CheckpointQuestion> take_due(const CheckpointProgress& progress, double now_s);
  // Returns the calls that get this answer, and removes them.
  std::vector<CheckpointQuery> answer(const CheckpointQuestion& question, const List& checkpoints);
  // Returns the calls that have waited too long, with the errors that they raise; removes them.
  std::vector<std::pair<CheckpointQuery, Error>> take_late(const CheckpointProgress& progress,
                                                           double now_s);
  // When to call take_due() and take_late() even if no event has come; nullopt: no call waits.
  std::optional<double> next_deadline() const;

 private:
  struct Waiting {
    CheckpointQuery query;
    bool due = false;
  };
  std::vector<Waiting> waiting_;
  std::deque<std::pair<CheckpointQuestion, List>> answered_;
};

}  // namespace rtrain::decide
