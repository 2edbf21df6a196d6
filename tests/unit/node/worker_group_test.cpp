#include "host/node/workers/worker_group.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"
#include "host/loop/channel/channel.h"
#include "host/loop/messages/to_worker.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/test_worker.h"

namespace rtrain::node {
namespace {

using Texts = std::vector<std::string>;

// Records what happens to each rank, in order.
class FakeDelegate : public WorkerGroupDelegate {
 public:
  void on_frame(int rank, std::string frame) override {
    Value message = decode(frame);
    const std::string& type = message["type"].as_string();
    if (type == refused) throw Error(Code::kArgument, cat("no '", type, "' here"));
    log[rank].push_back(type);
    messages.push_back(std::move(message));
  }
  void on_output(int rank, OutputStream stream, std::string_view bytes) override {
    num_bytes += bytes.size();
    for (const OutputLine& line : lines[rank].add(stream, bytes)) {
      log[rank].push_back(cat(stream_name(stream), ": ", line.text));
    }
  }
  void on_gone(int rank, const WorkerEnd& end) override {
    log[rank].emplace_back("gone");
    ends[rank] = end;
  }

  bool has(int rank, const std::string& what) {
    const Texts& all = log[rank];
    return std::find(all.begin(), all.end(), what) != all.end();
  }

  std::map<int, Texts> log;
  std::map<int, OutputLines> lines;
  std::map<int, WorkerEnd> ends;
  std::vector<Value> messages;
  size_t num_bytes = 0;
  std::string refused;
};

class WorkerGroupTest : public testing::Test {
 protected:
  void start(int num_workers, const char* what) {
    WorkerGroupOptions options;
    options.num_workers = num_workers;
    options.env = {{kTestWorker, what}};
    group_.emplace(loop_, options, delegate_);
    for (int rank = 0; rank < num_workers; ++rank) group_->spawn_next(place_);
  }
  void send(int rank, message::ToWorker message) {
    group_->send(rank, encode(to_value(std::move(message))));
  }
  void send_all(const message::ToWorker& message) {
    for (int rank = 0; rank < group_->size(); ++rank) send(rank, message);
  }
  void run_until_all(const std::string& what) {
    run_until(loop_, [&] {
      for (int rank = 0; rank < group_->size(); ++rank) {
        if (!delegate_.has(rank, what)) return false;
      }
      return true;
    });
  }
  void end_all() {
    send_all(message::Exit{});
    run_until_all("gone");
  }

  loop::Loop loop_;
  FakeDelegate delegate_;
  WorkerPlace place_;
  std::optional<WorkerGroup> group_;
};

TEST_F(WorkerGroupTest, MessagesGoBothWaysAndAnEndComesLast) {
  start(2, "echo");
  run_until_all("hello");
  send(1, message::Named{});
  send_all(message::Acknowledged{});
  end_all();
  EXPECT_EQ(delegate_.log[0], (Texts{"hello", "acknowledged", "gone"}));
  EXPECT_EQ(delegate_.log[1], (Texts{"hello", "named", "acknowledged", "gone"}));
  for (int rank = 0; rank < 2; ++rank) {
    const WorkerEnd& end = delegate_.ends[rank];
    EXPECT_EQ(end.pid, group_->pid(rank));
    EXPECT_EQ(end.status.exit_code, 3);
    EXPECT_EQ(end.broken, "");
  }
  send_all(message::Exit{});  // the workers are gone
}

TEST_F(WorkerGroupTest, EveryRankIsTheProcessItSaysItIs) {
  start(2, "echo");
  run_until_all("hello");
  for (const Value& hello : delegate_.messages) {
    EXPECT_EQ(hello["pid"].as_int(), group_->pid(static_cast<int>(hello["rank"].as_int())));
  }
}

TEST_F(WorkerGroupTest, WhatAWorkerHasPrintedComesBeforeItsEnd) {
  start(1, "print");
  run_until_all("hello");
  end_all();
  EXPECT_TRUE(delegate_.has(0, "stdout: one"));
  EXPECT_TRUE(delegate_.has(0, "stdout: two"));
  EXPECT_TRUE(delegate_.has(0, "stderr: three"));
  EXPECT_EQ(delegate_.log[0].back(), "gone");
  EXPECT_EQ(delegate_.num_bytes, std::string("one\ntwo\nthree\n").size());
}

TEST_F(WorkerGroupTest, OutputThatIsHeldStaysWithTheWorker) {
  start(1, "flood");
  group_->hold_output(true);
  run_until_all("hello");
  run_for(loop_, std::chrono::milliseconds(20));
  EXPECT_FALSE(delegate_.has(0, "printed")) << "the pipe is full, the worker waits";
  group_->hold_output(false);
  run_until_all("printed");
  end_all();
  EXPECT_EQ(delegate_.num_bytes, (size_t{1} << 20) + 1);
}

TEST_F(WorkerGroupTest, OutputThatIsHeldAtTheEndIsNotLost) {
  start(1, "print");
  group_->hold_output(true);
  run_until_all("hello");
  EXPECT_EQ(delegate_.log[0], Texts{"hello"});
  end_all();
  EXPECT_EQ(delegate_.log[0],
            (Texts{"hello", "stdout: one", "stdout: two", "stderr: three", "gone"}));
}

TEST_F(WorkerGroupTest, KillingEndsAllOfThem) {
  start(2, "hang");
  run_until_all("hello");
  group_->kill();
  run_until_all("gone");
  EXPECT_EQ(delegate_.ends[0].status.signal, SIGKILL);
  EXPECT_EQ(delegate_.ends[1].status.signal, SIGKILL);
}

TEST_F(WorkerGroupTest, ADeathIsToldOfTheRankThatDied) {
  start(2, "hang");
  run_until_all("hello");
  kill(group_->pid(1), SIGABRT);  // a signal that no sanitizer catches
  run_until(loop_, [&] { return delegate_.has(1, "gone"); });
  EXPECT_EQ(delegate_.ends[1].status.signal, SIGABRT);
  EXPECT_FALSE(delegate_.has(0, "gone"));
}

TEST_F(WorkerGroupTest, AWorkerThatTalksNonsenseIsKilled) {
  start(1, "nonsense");
  run_until_all("gone");
  EXPECT_EQ(delegate_.ends[0].status.signal, SIGKILL);
  EXPECT_NE(delegate_.ends[0].broken, "");
}

TEST_F(WorkerGroupTest, AWorkerWhoseMessageIsRefusedIsKilledAndTheOthersGoOn) {
  start(2, "echo");
  run_until_all("hello");
  delegate_.refused = "seal";
  send(0, message::Seal{});
  run_until(loop_, [&] { return delegate_.has(0, "gone"); });
  EXPECT_NE(delegate_.ends[0].broken.find("no 'seal' here"), std::string::npos);
  send(1, message::Named{});
  run_until(loop_, [&] { return delegate_.has(1, "named"); });
}

// The daemon holds the worker's lease, an flock that is free once all its holders are gone.
TEST_F(WorkerGroupTest, ADaemonEndsWithTheLastWorkerAndItsLeaseIsFree) {
  const TempFolder folder;
  const std::string path = folder.write("core", "");
  const Fd other(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  {
    const Fd lease(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(flock(lease.get(), LOCK_EX), 0);
    place_.lease_fds = {lease.get()};
    start(1, "daemon");
  }
  run_until_all("hello");
  EXPECT_NE(flock(other.get(), LOCK_EX | LOCK_NB), 0) << "the workers hold it";
  end_all();
  run_until(loop_, [&] { return flock(other.get(), LOCK_EX | LOCK_NB) == 0; });
}

TEST_F(WorkerGroupTest, TheEndOfTheGroupKillsWhatStillRuns) {
  start(1, "hang");
  run_until_all("hello");
  const int pid = group_->pid(0);
  group_.reset();
  EXPECT_EQ(kill(pid, 0), -1) << "it is reaped too";
  EXPECT_FALSE(delegate_.has(0, "gone")) << "nobody is called from the destructor";
}

TEST_F(WorkerGroupTest, ALocalWorkerIsAnEndOfAChannel) {
  WorkerGroupOptions options;
  options.local = true;
  group_.emplace(loop_, options, delegate_);
  group_->spawn_next();
  EXPECT_EQ(group_->pid(0), getpid());
  std::string told;
  loop::Channel worker(
      loop_, group_->take_endpoint(0),
      [&](const Value& message) { told = message["type"].as_string(); },
      [&](const std::string&) { told = "closed"; });
  worker.send(Map{{"type", "hello"}});
  run_until_all("hello");
  send(0, loop::WorkerContext{});
  run_until(loop_, [&] { return told == "start"; });
  group_->kill();
  run_until(loop_, [&] { return told == "closed"; });
  worker.close();
  run_until_all("gone");
  EXPECT_FALSE(delegate_.ends[0].is_child);
}

}  // namespace
}  // namespace rtrain::node
