// host/train/watch/watchdog.h: looks after the workers of one attempt: who hangs, and what all of
// them do then.
//
// Belongs to the control thread. Every quarter of a second it puts what the ranks show before a
// HangVerdict; what that finds is named in one line, with every rank's stacks in a folder of the
// run, and where it is fatal the attempt is failed.
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
#include "host/decide/stragglers.h"
#include "host/loop/timer.h"
#include "host/train/watch/stack_request.h"

namespace rtrain {

class WatchdogDelegate {
 public:
  virtual ~WatchdogDelegate() = default;
  virtual void send(int rank, message::ToWorker message) = 0;
  // The facts of the rank now.
  virtual RankFacts facts(int rank) const = 0;
  virtual void warn(const std::string& text) = 0;
  // The others keep waiting for this rank.
  virtual void on_straggler(const Straggler& found) = 0;
  // A new folder of the run for what is seen now; it need not be there yet.
  virtual std::string diagnosis_folder() const = 0;
  // Saves the files, name and text each, in that folder.
  virtual void save_diagnosis(const std::string& folder,
                              std::vector<std::pair<std::string, std::string>> files) = 0;
  // The group hangs through this rank: it has failed.
  virtual void on_hang(int rank, const Error& error) = 0;
};

class Watchdog {
 public:
  struct Times {
    std::chrono::milliseconds look{250};     // between two looks at the ranks
    std::chrono::milliseconds stacks{2500};  // for the ranks' stacks
  };

  Watchdog(Loop& loop, int num_ranks, const HangLimits& limits, WatchdogDelegate& delegate,
           Times times);
  Watchdog(Loop& loop, int num_ranks, const HangLimits& limits, WatchdogDelegate& delegate)
      : Watchdog(loop, num_ranks, limits, delegate, Times()) {}

  void set_pid(int rank, int pid) { at(rank).pid = pid; }
  void set_started(int rank);
  void set_returned(int rank) { at(rank).has_returned = true; }
  // Its process is gone: no stack can be asked of it, and none is waited for.
  void set_gone(int rank);
  void on_stack(int rank, message::Stack stack) { stacks_.on_answer(rank, std::move(stack)); }
  // No verdict from here on, not even of stacks that were asked for before: the group is being
  // ended.
  void stop();

  // Every rank's stacks, of a stopped one its facts. With a folder the ranks also write
  // there what their devices were given.
  void ask_stacks(StackRequest::Done done, const std::string& folder = "");
  // Saves them with that text as the verdict, names the folder in a warning, and then calls `then`.
  void save_stacks(const std::string& text, std::function<void()> then);
  // What the rank shows, with what the controller knows of it.
  RankFacts facts(int rank) const;

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
  void tell(const HangFinding& finding, const std::vector<RankStack>& stacks,
            const std::string& folder);
  void save(const std::string& text, const std::vector<RankStack>& stacks,
            const std::string& folder);

  WatchdogDelegate& delegate_;
  Times times_;
  HangVerdict verdict_;
  Stragglers stragglers_;
  std::vector<Rank> ranks_;
  StackRequest stacks_;
  bool is_stopped_ = false;
  Timer timer_;
};

}  // namespace rtrain
