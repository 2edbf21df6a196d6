// host/decide/checkpoints/checkpoint_queries.h: who asks for all reported checkpoints, and when
// there is an answer. Pure; times come from the caller.
//
// A rank that has made n reports asks about the checkpoints of those. The answer is due when no
// checkpoint of theirs can still be on its way: every rank has made n reports (or has returned),
// what they brought is committed and, if wanted, validated. Ranks that ask the same question get
// the same answer: it is given to all who wait, and remembered for whoever asks later.
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
  int64_t reports = 0;     // about the reports below this number
  bool validated = false;  // CheckpointConsistencyMode.VALIDATED
  int64_t repeat = 0;      // how often this rank has asked the same before
  auto operator<=>(const CheckpointQuestion&) const = default;
};

struct CheckpointQuery {
  int rank = 0;
  int64_t call = 0;  // the rank's number for its wait
  CheckpointQuestion question;
  double asked_s = 0;
  double timeout_s = 0;
  // When it has passed: an answer with the checkpoints that are there (the caller gave the time),
  // else an error.
  bool takes_partial = false;
};

// How far the run is.
struct CheckpointProgress {
  int64_t complete = 0;  // reports below this number are in and committed
  std::optional<int64_t> first_pending =
      {};                   // the lowest report whose checkpoint is being validated
  std::string behind = {};  // names the ranks with the fewest reports, for messages
};

class CheckpointQueries {
 public:
  bool is_empty() const { return waiting_.empty(); }
  // The answer, when the same question was answered before.
  std::optional<List> add(const CheckpointQuery& query);
  // Questions whose answer is due now: look it up and give it to answer(). Each once, whoever asks
  // until then.
  std::vector<CheckpointQuestion> take_due(const CheckpointProgress& progress, double now_s);
  // Who waits for that answer.
  std::vector<CheckpointQuery> answer(const CheckpointQuestion& question, const List& checkpoints);
  // Who has waited too long, and the error that the call raises.
  std::vector<std::pair<CheckpointQuery, Error>> take_late(const CheckpointProgress& progress,
                                                           double now_s);
  // When to look again although nothing has happened.
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
