// Captures of CUDA graphs and switches of device tracing never overlap.
#include "host/engine/torch_cuda/capture_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace rtrain::engine {
namespace {

constexpr std::chrono::milliseconds kAtOnce{0};
constexpr std::chrono::milliseconds kLong{30000};

TEST(CaptureGate, ASwitchOfTheCapturingThreadIsRefusedAtOnce) {
  CaptureGate gate;
  gate.begin_capture();
  EXPECT_FALSE(gate.try_begin_switch(kLong));
  gate.end_capture();
  EXPECT_TRUE(gate.try_begin_switch(kAtOnce));
  gate.end_switch();
}

TEST(CaptureGate, ASwitchWaitsForAnotherThreadsCapture) {
  CaptureGate gate;
  gate.begin_capture();
  EXPECT_FALSE(
      std::async(std::launch::async, [&] { return gate.try_begin_switch(kAtOnce); }).get());
  auto waiting = std::async(std::launch::async, [&] { return gate.try_begin_switch(kLong); });
  gate.end_capture();
  EXPECT_TRUE(waiting.get());
  EXPECT_FALSE(gate.try_begin_switch(kAtOnce)) << "one switch at a time";
  gate.end_switch();
}

TEST(CaptureGate, ACaptureWaitsForASwitch) {
  CaptureGate gate;
  ASSERT_TRUE(gate.try_begin_switch(kAtOnce));
  std::atomic<bool> is_over{false};
  auto capture = std::async(std::launch::async, [&] {
    gate.begin_capture();
    return is_over.load();
  });
  is_over = true;
  gate.end_switch();
  EXPECT_TRUE(capture.get());
  gate.end_capture();
}

}  // namespace
}  // namespace rtrain::engine
