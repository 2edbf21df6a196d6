// host/decide/sync_board.h: synchronizes the ranks of one attempt in train.collective: barriers,
// and broadcasts from rank 0.
//
// Pure: times come from the caller. The ranks are in one collective at a time: some have reached
// it, the others have not. Each rank numbers its collectives. So ranks in different collectives get
// an error that names them, and do not wait for each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/default_timeout.h"
#include "host/base/error.h"
#include "host/base/value.h"

namespace rtrain::decide {

struct SyncSettings {
  double timeout_s = kDefaultTimeoutS;
  double warn_interval_s = 60;
};

// A rank has reached a collective.
struct SyncArrival {
  int rank = 0;
  int64_t id = 0;          // of its request, for the answer
  int64_t sequence = 0;    // how many collectives it has called
  int world_size = 1;      // as the rank knows it
  std::string collective;  // "train.collective.barrier()"
  std::string caller;      // the user's line: "train.lua:12"
  std::string data;        // to broadcast, on rank 0
};

class SyncBoard {
 public:
  SyncBoard(int world_size, SyncSettings settings);

  // The end of a rank's wait: rank 0's data, or an error.
  struct Answer {
    int rank;
    int64_t id;
    std::string data;
    std::optional<Error> error;
  };
  // A rank has reached a collective. The last rank brings the answers for all. Where a rank is in
  // another collective than the others, all ranks that wait get an error.
  std::vector<Answer> arrive(SyncArrival arrival, double now_s);
  // The rank's train function has returned: the ranks that wait for it get an error.
  std::vector<Answer> leave(int rank);
  // The ranks that others wait for have made progress: the deadline counts from now.
  void postpone(double now_s) { moving_s_ = now_s; }
  // Ends the waits whose deadline has passed, with an error.
  std::vector<Answer> expire(double now_s);
  // A line about the ranks that wait and the ranks they wait for, when one is due; else nullopt.
  std::optional<std::string> warning(double now_s);
  // When to call expire() or warning() next; nullopt while no rank waits.
  std::optional<double> next_due() const;

 private:
  std::vector<Answer> fail_all(const Error& error);
  std::optional<std::string> mismatch() const;
  std::vector<Answer> check_left();
  std::string waiting_text() const;
  std::vector<int> missing() const;

  SyncSettings settings_;
  std::vector<std::optional<SyncArrival>> arrived_;  // by rank
  std::vector<bool> left_;
  size_t count_ = 0;
  double begun_s_ = 0;
  double moving_s_ = 0;  // the deadline counts from here
  double warned_s_ = 0;
};

}  // namespace rtrain::decide
