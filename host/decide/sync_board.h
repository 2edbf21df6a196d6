// host/decide/sync_board.h: where the ranks of one attempt synchronize in train.collective:
// barriers and values from rank 0.
//
// Pure: times come from the caller. A meeting is a collective that some ranks have reached and some
// have not. Each rank numbers its collectives, so that ranks in different ones are kept
// apart and named, rather than waiting for each other.
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
  int64_t id = 0;          // of its request
  int64_t sequence = 0;    // how many collectives it has been through
  int world_size = 1;      // as it knows it
  std::string collective;  // "train.collective.barrier()"
  std::string caller;      // the user's line: "train.lua:12"
  std::string data;        // of rank 0
};

class SyncBoard {
 public:
  SyncBoard(int world_size, SyncSettings settings);

  // An end of a rank's wait: rank 0's data, or an error.
  struct Answer {
    int rank;
    int64_t id;
    std::string data;
    std::optional<Error> error;
  };
  // When the last rank has come all are answered. Collectives that do not fit are errors for all
  // who are there.
  std::vector<Answer> arrive(SyncArrival arrival, double now_s);
  // The rank's train function has returned: whoever waits for it waits in vain.
  std::vector<Answer> leave(int rank);
  // The ranks that are waited for have made progress: the deadline begins again.
  void postpone(double now_s) { moving_s_ = now_s; }
  // The waits whose deadline has passed.
  std::vector<Answer> expire(double now_s);
  // A line about who has waited for whom, when it is time for one.
  std::optional<std::string> warning(double now_s);
  // When expire or warning should be called next; nothing while no rank waits.
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
