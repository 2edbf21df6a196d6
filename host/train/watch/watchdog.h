// host/train/watch/watchdog.h: watches the workers of one attempt for hangs, and collects
// stacks.
//
// Belongs to the control thread. Every quarter of a second it passes the ranks' facts to a
// HangVerdict. A finding is reported in one line, with every rank's stacks in a folder of the
// run; a fatal finding fails the attempt.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/base/value.h"
#include "host/decide/hang_verdict.h"
#include "host/decide/slow/stragglers.h"
#include "host/loop/timer.h"
#include "host/train/watch/stack_request.h"

namespace rtrain::train {

class WatchdogDelegate {
 public:
  virtual ~WatchdogDelegate() = default;
  virtual void send(int rank, message::ToWorker message) = 0;
  // The rank's current facts.
  virtual decide::RankFacts facts(int rank) const = 0;
  virtual void warn(const std::string& text) = 0;
  // The other ranks keep waiting for this rank, or no longer do.
  virtual void on_straggler(const decide::Straggler& found) = 0;
  // What a step takes each rank without waits for the others (decide::Stragglers::work_s).
  virtual void on_work(const std::vector<double>& work_s) = 0;
  // The path of a new folder of the run for the diagnosis; it need not exist yet.
  virtual std::string diagnosis_folder() const = 0;
  // Saves the files, given as name and text, in that folder.
  virtual void save_diagnosis(const std::string& folder,
                              std::vector<std::pair<std::string, std::string>> files) = 0;
  // The group hangs because of this rank, which has failed.
  virtual void on_hang(int rank, const Error& error) = 0;
};

class Watchdog {
 public:
  struct Times {
    std::chrono::milliseconds look{250};     // between two checks of the ranks
    std::chrono::milliseconds stacks{2500};  // time limit for the ranks' stacks
  };

  Watchdog(loop::Loop& loop, int num_ranks, const decide::HangLimits& limits,
           WatchdogDelegate& delegate, Times times);
  Watchdog(loop::Loop& loop, int num_ranks, const decide::HangLimits& limits,
           WatchdogDelegate& delegate)
      : Watchdog(loop, num_ranks, limits, delegate, Times()) {}

  void set_pid(int rank, int pid) { at(rank).pid = pid; }
  void set_started(int rank);
  void set_returned(int rank) { at(rank).has_returned = true; }
  // Its process has ended: its stack is not requested or waited for.
  void set_gone(int rank);
  void on_stack(int rank, message::Stack stack) { stacks_.on_answer(rank, std::move(stack)); }
  // No verdicts from here on, not even from stacks requested before: the group is being
  // ended.
  void stop();

  // Requests every rank's stacks; for a stopped rank returns its facts. With a folder the ranks
  // also write the operations submitted to their devices there.
  void ask_stacks(StackRequest::Done done, const std::string& folder = "");
  // Saves the stacks with this text as the verdict, names the folder in a warning, then calls
  // `then`.
  void save_stacks(const std::string& text, std::function<void()> then);
  // The rank's facts, with what the controller knows about it.
  decide::RankFacts facts(int rank) const;

 private:
  struct Rank {
    int pid = 0;
    bool is_started = false;
    bool has_returned = false;
    bool is_gone = false;
  };

  int size() const { return static_cast<int>(ranks_.size()); }
  Rank& at(int rank) { return ranks_.at(static_cast<size_t>(rank)); }
  void look();
  void tell(const decide::HangFinding& finding, const std::vector<loop::RankStack>& stacks,
            const std::string& folder);
  void save(const std::string& text, const std::vector<loop::RankStack>& stacks,
            const std::string& folder);

  WatchdogDelegate& delegate_;
  Times times_;
  decide::HangVerdict verdict_;
  decide::Stragglers stragglers_;
  std::vector<Rank> ranks_;
  StackRequest stacks_;
  bool is_stopped_ = false;
  loop::Timer timer_;
};

}  // namespace rtrain::train
