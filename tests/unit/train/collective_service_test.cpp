#include "host/train/group/collective_service.h"

#include <gtest/gtest.h>

#include <thread>

#include "host/loop/loop.h"
#include "host/loop/timer.h"

namespace rtrain::train {
namespace {

message::Sync arrival(int rank) {
  return {.id = rank + 1,
          .sequence = 1,
          .world_size = 2,
          .collective = "train.collective.barrier()",
          .caller = "x:1"};
}

class FakeDelegate : public CollectiveServiceDelegate {
 public:
  void send(int, message::ToWorker message) override {
    sent.push_back(std::get<message::Reply>(message));
  }
  void warn(const std::string&) override {}
  uint64_t copied_bytes() const override { return 0; }

  std::vector<message::Reply> sent;
};

// The sleep stands for SIGSTOP: rank 1's message arrived in that time and waits in its socket.
// fault: SIGSTOP of the controller
TEST(CollectiveService, ADeadlineThatPassedWhileThisProcessStoodStillIsGivenAnew) {
  loop::Loop loop;
  FakeDelegate delegate;
  CollectiveService service(loop, 2, {.timeout_s = 0.5, .warn_interval_s = 100}, delegate);
  service.on_sync(0, arrival(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(2700));
  loop::Timer end(loop, [&] { loop.stop(); });
  end.start(std::chrono::milliseconds(10));
  loop.run();
  EXPECT_TRUE(delegate.sent.empty());
  service.on_sync(1, arrival(1));
  ASSERT_EQ(delegate.sent.size(), 2U);
  EXPECT_FALSE(delegate.sent[0].error);
}

}  // namespace
}  // namespace rtrain::train
