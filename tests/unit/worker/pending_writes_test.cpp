#include "host/worker/report/pending_writes.h"

#include <gtest/gtest.h>

#include <thread>

namespace rtrain::worker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNow{0}, kLong{30000};

Code code_of_wait(PendingWrites& writes, const std::string& folder) {
  try {
    writes.wait_for(folder, kNow);
  } catch (const Error& e) {
    return e.code();
  }
  return Code::kInternal;  // nothing was thrown
}

TEST(PendingWrites, FolderWithoutWritesIsReadyAtOnce) {
  PendingWrites writes;
  writes.begin("/run/tmp/b/state.pt");
  writes.begin("/run/tmp/ab/state.pt");
  EXPECT_NO_THROW(writes.wait_for("/run/tmp/a", kNow));
  EXPECT_EQ(code_of_wait(writes, "/run/tmp/b"), Code::kTimeout);
}

TEST(PendingWrites, WaitEndsWithTheLastFile) {
  PendingWrites writes;
  writes.begin("/t/a/1.pt");
  writes.begin("/t/a/sub/2.pt");
  std::thread writer([&] {
    writes.end("/t/a/1.pt", std::nullopt);
    writes.end("/t/a/sub/2.pt", std::nullopt);
  });
  EXPECT_NO_THROW(writes.wait_for("/t/a", kLong));
  writer.join();
  EXPECT_NO_THROW(writes.wait_for("/t/a", kNow));
}

TEST(PendingWrites, FailureIsToldOnceAndOnlyForItsFolder) {
  PendingWrites writes;
  writes.begin("/t/a/1.pt");
  writes.end("/t/a/1.pt", Error(Code::kEnvironment, "no space left"));
  EXPECT_NO_THROW(writes.wait_for("/t/b", kNow));
  EXPECT_EQ(code_of_wait(writes, "/t/a"), Code::kEnvironment);
  EXPECT_NO_THROW(writes.wait_for("/t/a", kNow));
}

TEST(PendingWrites, NewWriteForgetsAnOldFailure) {
  PendingWrites writes;
  writes.begin("/t/a/1.pt");
  writes.end("/t/a/1.pt", Error(Code::kEnvironment, "no space left"));
  writes.begin("/t/a/1.pt");
  writes.end("/t/a/1.pt", std::nullopt);
  EXPECT_NO_THROW(writes.wait_for("/t/a", kNow));
}

}  // namespace
}  // namespace rtrain::worker
