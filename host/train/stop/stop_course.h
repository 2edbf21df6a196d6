// host/train/stop/stop_course.h: how the stop of a group that trains goes: the ranks agree where to
// stop, save and return; at the latest after the grace period it is over.
//
// Belongs to the control thread. It is complete when a checkpoint was committed, and
// * the train function never calls stop_requested(), or
// * that was reported after a rank had been told, and there was time to return in order.
// That all ranks have returned is for the state machine to see.
#pragma once

#include <functional>

#include "host/base/value.h"
#include "host/loop/timer.h"
#include "host/train/stop/stop_agreement.h"

namespace rtrain {

// Outlives the course.
struct StopCourseSeams {
  std::function<void(const Value& message)> send_all;
  std::function<void()> on_complete;
  std::function<void()> on_grace_passed;
  std::function<void(const std::string& text)> on_notice;
};

class StopCourse {
 public:
  StopCourse(Loop& loop, int num_workers, StopCourseSeams seams);

  // Again for another reason: the grace period begins anew, the agreement stays.
  void start(double grace_s);

  // The messages stop_calls and stop_seen.
  void on_calls(int rank, const Value& message);
  void on_seen(const Value& message);
  // The rank has returned, raised or gone.
  void on_left(int rank);
  void on_committed(int64_t index);

  bool is_started() const { return started_; }
  // Nothing comes after this.
  void close();

 private:
  void send(const std::optional<StopOrder>& order);
  void on_no_answer();

  StopCourseSeams seams_;
  StopAgreement agreement_;
  bool started_ = false;
  std::optional<int64_t> first_seen_;  // the number of the next report of the rank told first
  Timer answers_;
  Timer grace_;
  Timer return_;
};

}  // namespace rtrain
