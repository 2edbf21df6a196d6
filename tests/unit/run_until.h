// tests/unit/run_until.h: runs a loop until something has happened.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "host/loop/timer.h"

namespace rtrain {

// Runs the loop until the condition holds, which is looked at every so often; fails when it does
// not within the time.
inline void run_until(Loop& loop, const std::function<bool()>& condition,
                      std::chrono::milliseconds between = std::chrono::milliseconds(1),
                      std::chrono::seconds within = std::chrono::seconds(30)) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  bool holds = false;
  Timer poll(loop, [&] {
    holds = condition();
    if (holds || std::chrono::steady_clock::now() > deadline) return loop.stop();
    poll.start(between);
  });
  poll.start(between);
  loop.run();
  EXPECT_TRUE(holds) << "not within " << within.count() << " s";
}

// Runs the loop for a while, in which nothing that is due stays undone.
inline void run_for(Loop& loop, std::chrono::milliseconds time) {
  Timer end(loop, [&] { loop.stop(); });
  end.start(time);
  loop.run();
}

}  // namespace rtrain
