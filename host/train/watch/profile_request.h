// host/train/watch/profile_request.h: requests profiles from workers and waits for them, for
// `rtrain profile`.
//
// Belongs to the control thread. One request at a time. For a rank that ends, or does not answer by
// the deadline, the result has an error instead of a profile.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/loop/messages/commands.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/timer.h"

namespace rtrain::train {

struct ProfilePlan {
  std::vector<int> ranks;
  loop::ProfileSettings settings;
  // The files are "<stem>-rank0.json", of samples "<stem>-rank0.speedscope.json", of memory
  // "<stem>-rank0.memory.json".
  std::string stem;
};

class ProfileRequest {
 public:
  // The profiles by rank.
  using Done = std::function<void(std::vector<loop::RankProfile> profiles)>;

  ProfileRequest(loop::Loop& loop, std::function<void(int rank, message::ToWorker message)> send);

  // Throws kUsage while another request is in progress.
  void start(const ProfilePlan& plan, Done done);
  void on_answer(int rank, const message::Profile& profile);
  void on_gone(int rank);

 private:
  void set_answer(loop::RankProfile answer);
  void finish();

  std::function<void(int rank, message::ToWorker message)> send_;
  std::vector<int> ranks_;  // ranks that were asked; empty: no request in progress
  std::map<int, loop::RankProfile> answers_;
  Done done_;
  int64_t id_ = 0;
  bool is_sampled_ = false;
  double waits_s_ = 0;
  loop::Timer deadline_;
};

// Time limit for an answer: the recorded time, plus starting the device's tracing and writing the
// file.
double profile_deadline_s(double recorded_s);

}  // namespace rtrain::train
