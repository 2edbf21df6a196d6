// tests/unit/run_until.h: runs a loop until a condition holds.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "host/loop/timer.h"

namespace rtrain {

// Runs the loop until the condition holds, which is checked every `between`. Fails if it does not
// hold within the time.
inline void run_until(loop::Loop& loop, const std::function<bool()>& condition,
                      std::chrono::milliseconds between = std::chrono::milliseconds(1),
                      std::chrono::seconds within = std::chrono::seconds(30)) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  bool holds = false;
  loop::Timer poll(loop, [&] {
    holds = condition();
    if (holds || std::chrono::steady_clock::now() > deadline) return loop.stop();
    poll.start(between);
  });
  poll.start(between);
  loop.run();
  EXPECT_TRUE(holds) << "not within " << within.count() << " s";
}

// Runs the loop for the given time, so that it does everything that is due.
inline void run_for(loop::Loop& loop, std::chrono::milliseconds time) {
  loop::Timer end(loop, [&] { loop.stop(); });
  end.start(time);
  loop.run();
}

}  // namespace rtrain
