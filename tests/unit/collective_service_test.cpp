#include "host/train/group/collective_service.h"

#include <gtest/gtest.h>

#include <thread>

#include "host/loop/loop.h"
#include "host/loop/timer.h"

namespace rtrain {
namespace {

Value arrival(int rank) {
  return Map{{"id", rank + 1},  {"sequence", 1},
             {"world_size", 2}, {"collective", "train.collective.barrier()"},
             {"caller", "x:1"}, {"data", ""}};
}

class FakeDelegate : public CollectiveServiceDelegate {
 public:
  void send(int, const Value& message) override { sent.push_back(message); }
  void warn(const std::string&) override {}
  uint64_t copied_bytes() const override { return 0; }

  std::vector<Value> sent;
};

// The sleep stands for SIGSTOP: rank 1's message came in that time and lies in its socket.
// fault: SIGSTOP of the controller
TEST(CollectiveService, ADeadlineThatPassedWhileThisProcessStoodStillIsGivenAnew) {
  Loop loop;
  FakeDelegate delegate;
  CollectiveService service(loop, 2, {.timeout_s = 0.5, .warn_interval_s = 100}, delegate);
  service.on_message(0, arrival(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(2700));
  Timer end(loop, [&] { loop.stop(); });
  end.start(std::chrono::milliseconds(10));
  loop.run();
  EXPECT_TRUE(delegate.sent.empty());
  service.on_message(1, arrival(1));
  ASSERT_EQ(delegate.sent.size(), 2U);
  EXPECT_TRUE(delegate.sent[0]["value"]["error"].is_nil());
}

}  // namespace
}  // namespace rtrain
