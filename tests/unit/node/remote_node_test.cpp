// A RemoteNode and a NodeAgent with real processes. Between them the test simulates a connection:
// every message is encoded, delivered later, and decoded.
#include "host/node/remote_node.h"

#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <optional>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/loop/messages/to_worker.h"
#include "host/node/node_agent.h"
#include "tests/unit/fake_node_delegate.h"
#include "tests/unit/run_until.h"
#include "tests/unit/test_worker.h"

namespace rtrain::node {
namespace {

using Texts = std::vector<std::string>;

class RemoteNodeTest : public testing::Test {
 protected:
  RemoteNode& node(int attempt, const char* what) {
    NodeOrder order{.attempt = attempt, .first_rank = 2, .num_workers = 2, .threads = 1};
    order.env = {{kTestWorker, what}};
    node_.emplace(
        order, [this](const auto& message) { to_host_.push_back(encode(to_value(message))); },
        delegate_);
    return *node_;
  }
  void carry() {
    while (!to_host_.empty()) {
      host_.receive(decode(to_host_.front()));
      to_host_.pop_front();
    }
    while (!to_controller_.empty()) {
      std::vector<RemoteNode*> nodes{&*node_};
      if (more_) nodes.push_back(&*more_);
      RemoteNode::receive(nodes, decode(to_controller_.front()));
      to_controller_.pop_front();
    }
  }
  void wait_for(const std::string& what, const FakeNodeDelegate& delegate) {
    run_until(loop_, [&] {
      carry();
      return delegate.has(what);
    });
  }
  void wait_for(const std::string& what) { wait_for(what, delegate_); }
  void spawn(const char* what) {
    node(1, what).spawn();
    wait_for("rank 2: hello");
    wait_for("rank 3: hello");
  }

  loop::Loop loop_;
  FakeNodeDelegate delegate_;
  std::deque<std::string> to_host_;
  std::deque<std::string> to_controller_;
  std::optional<RemoteNode> node_;
  std::optional<RemoteNode> more_;  // workers of a later attempt on the same node
  NodeAgent host_{
      loop_,
      NodeFiles{},
      {},
      [this](const auto& message) { to_controller_.push_back(encode(to_value(message))); },
      std::chrono::milliseconds(5)};
};

TEST_F(RemoteNodeTest, WorkersOfAnotherNodeAreAsThoseOfThisOne) {
  spawn("echo");
  EXPECT_TRUE(delegate_.has("rank 2 is spawned"));
  EXPECT_EQ(delegate_.workers[3].threads, 1);
  node_->send(3, to_frame(message::Exit{}));
  wait_for("rank 3 is gone");
  EXPECT_EQ(delegate_.ends[3].status.exit_code, 3);
  EXPECT_EQ(delegate_.ends[3].pid, delegate_.workers[3].pid);
  EXPECT_TRUE(delegate_.ends[3].is_child);
  EXPECT_FALSE(delegate_.has("rank 2 is gone"));
}

TEST_F(RemoteNodeTest, WorkersOfALostNodeComeToThoseThatAreThere) {
  spawn("echo");
  NodeOrder order{.attempt = 2, .first_rank = 4, .num_workers = 1, .first_local_rank = 2};
  order.env = {{kTestWorker, "echo"}};
  more_.emplace(
      order, [this](const auto& message) { to_host_.push_back(encode(to_value(message))); },
      delegate_);
  more_->spawn();
  wait_for("rank 4: hello");
  node_->send(3, to_frame(message::Exit{}));
  wait_for("rank 3 is gone");
  EXPECT_TRUE(node_->is_running());
  more_->send(4, to_frame(message::Exit{}));
  wait_for("rank 4 is gone");
  EXPECT_FALSE(more_->is_running());
  EXPECT_FALSE(delegate_.has("rank 2 is gone")) << "the others stay";
}

TEST_F(RemoteNodeTest, WorkersOfTwoLostNodesComeInTheSameAttempt) {
  spawn("echo");
  NodeOrder order{.attempt = 1, .first_rank = 6, .num_workers = 1, .first_local_rank = 2};
  order.env = {{kTestWorker, "hang"}};
  more_.emplace(
      order, [this](const auto& message) { to_host_.push_back(encode(to_value(message))); },
      delegate_);
  more_->spawn();
  wait_for("rank 6: hello");
  run_until(loop_, [this] {
    carry();
    return more_->facts(6).reports == 7;
  });
  more_->kill(6);
  wait_for("rank 6 is gone");
  EXPECT_FALSE(delegate_.has("rank 2 is gone")) << "the others stay";
  node_->send(3, to_frame(message::Exit{}));
  wait_for("rank 3 is gone");
}

TEST_F(RemoteNodeTest, WhatAWorkerPrintsComesBeforeItsEnd) {
  spawn("print");
  node_->send(2, to_frame(message::Exit{}));
  wait_for("rank 2 is gone");
  EXPECT_EQ(delegate_.printed[2], "one\ntwo\nthree\n");
}

TEST_F(RemoteNodeTest, FactsArriveOnThisNodesClock) {
  spawn("hang");
  run_until(loop_, [this] {
    carry();
    return node_->facts(3).reports == 7;
  });
  kill(delegate_.workers[3].pid, SIGSTOP);
  run_until(loop_, [this] {
    carry();
    return node_->facts(3).state == 'T';
  });
  EXPECT_LT(std::abs(node_->clock_offset_s()), 60) << "both are one node";
}

TEST_F(RemoteNodeTest, ADeathIsTold) {
  spawn("hang");
  node_->set_attached(3, delegate_.workers[3].pid);
  node_->send(3, to_frame(message::Exit{}));
  wait_for("rank 3 is dying");
  node_->kill();
  wait_for("rank 3 is gone");
  wait_for("rank 2 is gone");
  EXPECT_EQ(delegate_.ends[2].status.signal, SIGKILL);
  EXPECT_FALSE(host_.is_busy());
}

TEST_F(RemoteNodeTest, AWorkerThatTalksNonsenseIsKilledAndTheOthersGoOn) {
  spawn("echo");
  delegate_.refused = "seal";
  node_->send(2, to_frame(message::Seal{}));
  wait_for("rank 2 is gone");
  EXPECT_NE(delegate_.ends[2].broken.find("no 'seal' here"), std::string::npos);
  EXPECT_FALSE(delegate_.has("rank 3 is gone"));
}

TEST_F(RemoteNodeTest, TheNextAttemptEndsTheWorkersOfTheLast) {
  spawn("hang");
  const int before = delegate_.workers[2].pid;
  delegate_.log.clear();
  node(2, "hang").spawn();
  wait_for("rank 3: hello");
  EXPECT_EQ(kill(before, 0), -1) << "it is gone";
  EXPECT_FALSE(delegate_.has("rank 2 is gone")) << "the new worker is there";
}

TEST_F(RemoteNodeTest, ALostRankIsReplacedWhileTheOtherLives) {
  spawn("hang");
  node_->set_attached(3, delegate_.workers[3].pid);
  carry();
  kill(delegate_.workers[3].pid, SIGKILL);
  wait_for("rank 3 is gone");
  FakeNodeDelegate next;
  node_->hand_over(next);
  ASSERT_TRUE(node_->replaces());
  node_->replace(3);
  wait_for("rank 3: hello", next);
  EXPECT_NE(next.workers[3].pid, delegate_.workers[3].pid);
  node_->kill(3);
  wait_for("rank 3 is gone", next);
  EXPECT_FALSE(next.has("rank 2 is gone"));
  EXPECT_TRUE(host_.is_busy());
  node_->kill();
  wait_for("rank 2 is gone", next);
  EXPECT_FALSE(host_.is_busy());
}

TEST_F(RemoteNodeTest, ANodeWhoseRanksAreAllLostReplacesThem) {
  spawn("hang");
  for (const int rank : {2, 3}) kill(delegate_.workers[rank].pid, SIGKILL);
  wait_for("rank 2 is gone");
  wait_for("rank 3 is gone");
  EXPECT_FALSE(host_.is_busy());
  FakeNodeDelegate next;
  node_->hand_over(next);
  for (const int rank : {2, 3}) node_->replace(rank);
  wait_for("rank 2: hello", next);
  wait_for("rank 3: hello", next);
  EXPECT_TRUE(host_.is_busy());
  node_->kill();
  wait_for("rank 2 is gone", next);
  wait_for("rank 3 is gone", next);
}

TEST_F(RemoteNodeTest, TheOthersOfANodeGoOnWithoutALostRank) {
  spawn("hang");
  kill(delegate_.workers[3].pid, SIGKILL);
  wait_for("rank 3 is gone");
  FakeNodeDelegate next;
  node_->leave_out(3);
  node_->hand_over(next);
  carry();
  EXPECT_TRUE(host_.is_busy());
  node_->kill();
  wait_for("rank 2 is gone", next);
  EXPECT_FALSE(next.has("rank 3 is gone"));
}

TEST_F(RemoteNodeTest, WhatAnOlderAttemptSaysIsDropped) {
  node(2, "hang");
  node_->receive(to_value(message::Gone{.attempt = 1, .rank = 2, .end = WorkerEnd{.pid = 7}}));
  EXPECT_TRUE(delegate_.log.empty());
}

TEST_F(RemoteNodeTest, ANodeThatIsLostBeforeItHasStartedThem) {
  RemoteNode& lost = node(1, "wait");
  lost.spawn();
  lost.lose("node n1 has not been heard of for 30 s");
  EXPECT_TRUE(delegate_.has("rank 2 is gone"));
  EXPECT_TRUE(delegate_.has("rank 3 is gone"));
  EXPECT_FALSE(lost.is_running());
}

TEST_F(RemoteNodeTest, ANodeThatIsLostTakesItsWorkersWithIt) {
  spawn("hang");
  node_->lose("node n1 has not been heard of for 30 s");
  EXPECT_EQ(delegate_.ends[2].lost, "node n1 has not been heard of for 30 s");
  EXPECT_EQ(delegate_.ends[3].lost, "node n1 has not been heard of for 30 s");
  delegate_.log.clear();
  host_.kill("");
  run_until(loop_, [this] {
    carry();
    return !host_.is_busy();
  });
  EXPECT_FALSE(delegate_.has("rank 2 is gone")) << "that is known";
}

TEST_F(RemoteNodeTest, MessagesForARankOfAnotherNodeAreRefused) {
  node(1, "hang");
  EXPECT_THROW(
      node_->receive(to_value(message::Gone{.attempt = 1, .rank = 9, .end = WorkerEnd{.pid = 7}})),
      Error);
  EXPECT_THROW(node_->receive(to_value(message::Dying{.attempt = 1, .rank = 9})), Error);
  const message::Printed printed{.attempt = 1, .rank = 9, .bytes = "x"};
  EXPECT_THROW(node_->receive(to_value(printed)), Error);
  const message::SpawnFailed failed{.attempt = 1, .rank = 9, .error = Error(Code::kInternal, "")};
  EXPECT_THROW(node_->receive(to_value(failed)), Error);
  EXPECT_TRUE(delegate_.log.empty());
}

TEST_F(RemoteNodeTest, NothingIsHeardOfARankAfterItsEnd) {
  node(1, "hang");
  node_->lose("node n1 has not been heard of for 30 s");
  delegate_.log.clear();
  node_->receive(to_value(message::Dying{.attempt = 1, .rank = 2}));
  node_->receive(to_value(message::Printed{.attempt = 1, .rank = 2, .bytes = "late"}));
  EXPECT_TRUE(delegate_.log.empty());
  EXPECT_EQ(delegate_.printed[2], "");
}

}  // namespace
}  // namespace rtrain::node
