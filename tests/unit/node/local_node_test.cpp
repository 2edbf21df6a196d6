#include "host/node/local_node.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "host/base/text/text.h"
#include "tests/unit/fake_node_delegate.h"
#include "tests/unit/run_until.h"
#include "tests/unit/test_worker.h"

namespace rtrain::node {
namespace {

using Texts = std::vector<std::string>;
using Env = std::vector<std::pair<std::string, std::string>>;

// Gives each worker one device, numbered by its local rank.
class FakePlaces : public WorkerPlaces {
 public:
  WorkerPlace place(int local_rank, int num_workers) const override {
    asked.push_back(cat(local_rank, " of ", num_workers));
    WorkerPlace out;
    if (has_gpus) {
      out.gpus = {{.number = local_rank, .uuid = cat("GPU-", local_rank), .name = "H100"}};
    }
    if (local_rank == broken) out.lease_fds = {1 << 20};
    return out;
  }
  std::optional<std::string> visible_devices() const override { return "GPU-0,GPU-1"; }

  mutable Texts asked;
  int broken = -1;
  bool has_gpus = true;
};

class LocalNodeTest : public testing::Test {
 protected:
  // Spawns ranks 4 and 5 of a group.
  void spawn(const char* what) {
    node_.emplace(loop_,
                  NodeOrder{.first_rank = 4,
                            .num_workers = 2,
                            .threads = 3,
                            .gpu_sample_s = 0,
                            .host_sample_s = 0,
                            .env = {{kTestWorker, what}}},
                  files_, places_, delegate_);
    node_->spawn();
  }
  void wait_for(const std::string& what) {
    run_until(loop_, [&] { return delegate_.has(what); });
  }

  loop::Loop loop_;
  NodeFiles files_;
  std::optional<Zygote> zygote_;
  FakePlaces places_;
  FakeNodeDelegate delegate_;
  std::optional<LocalNode> node_;
};

TEST_F(LocalNodeTest, ItsRanksBeginWhereItWasTold) {
  spawn("echo");
  EXPECT_EQ(delegate_.log, (Texts{"rank 4 is spawned", "rank 5 is spawned"}));
  EXPECT_EQ(places_.asked, (Texts{"0 of 2", "1 of 2"}));
  EXPECT_EQ(delegate_.workers[5].threads, 3);
  EXPECT_EQ(delegate_.workers[5].gpus.at(0).uuid, "GPU-1");
  wait_for("rank 4: hello");
  wait_for("rank 5: hello");
  node_->send(5, to_frame(message::Exit{}));
  wait_for("rank 5 is gone");
  EXPECT_EQ(delegate_.ends[5].status.exit_code, 3);
  EXPECT_EQ(delegate_.ends[5].pid, delegate_.workers[5].pid);
  EXPECT_FALSE(delegate_.has("rank 4 is gone"));
}

TEST_F(LocalNodeTest, FactsAreThoseOfTheRanksPageAndProcess) {
  spawn("hang");
  wait_for("rank 4: hello");
  wait_for("rank 5: hello");
  EXPECT_EQ(node_->facts(5).reports, 7U);
  kill(delegate_.workers[5].pid, SIGSTOP);
  run_until(loop_, [this] { return node_->facts(5).state == 'T'; });
  EXPECT_NE(node_->facts(4).state, 'T');
}

TEST_F(LocalNodeTest, ADeathIsToldWhenTheMainThreadHasEnded) {
  spawn("hang");
  wait_for("rank 5: hello");
  node_->set_attached(5, delegate_.workers[5].pid);
  node_->send(5, to_frame(message::Exit{}));
  wait_for("rank 5 is dying");
  EXPECT_FALSE(delegate_.has("rank 5 is gone"));
  node_->kill();
  wait_for("rank 5 is gone");
  EXPECT_EQ(delegate_.ends[5].status.signal, SIGKILL);
}

TEST_F(LocalNodeTest, ALostRankIsReplacedWhileTheOtherLives) {
  spawn("hang");
  wait_for("rank 4: hello");
  wait_for("rank 5: hello");
  node_->set_attached(5, delegate_.workers[5].pid);
  kill(delegate_.workers[5].pid, SIGKILL);
  wait_for("rank 5 is gone");
  FakeNodeDelegate next;
  node_->hand_over(next);
  ASSERT_TRUE(node_->replaces());
  node_->replace(5);
  EXPECT_EQ(next.log, Texts{"rank 5 is spawned"});
  EXPECT_NE(next.workers[5].pid, delegate_.workers[5].pid);
  run_until(loop_, [&] { return next.has("rank 5: hello"); });
  EXPECT_EQ(node_->facts(5).reports, 7U) << "its page is the new process's";
  node_->set_attached(5, next.workers[5].pid);
  node_->send(5, to_frame(message::Exit{}));
  run_until(loop_, [&] { return next.has("rank 5 is dying"); });
  kill(next.workers[5].pid, SIGKILL);
  run_until(loop_, [&] { return next.has("rank 5 is gone"); });
  EXPECT_FALSE(next.has("rank 4 is gone"));
  node_.reset();
}

TEST_F(LocalNodeTest, ASpareIsNotHeardBeforeItHasARank) {
  places_.has_gpus = false;
  spawn("hang");
  wait_for("rank 4: hello");
  wait_for("rank 5: hello");
  const Texts before = delegate_.log;
  node_->make_spare(to_frame(message::Acknowledged{}));
  EXPECT_TRUE(node_->has_spare());
  node_->drain();
  EXPECT_EQ(delegate_.log, before);
  node_->drop_spare();
  EXPECT_FALSE(node_->has_spare());
  node_->make_spare(to_frame(message::Acknowledged{}));
  node_->kill();
  EXPECT_FALSE(node_->has_spare());
  wait_for("rank 4 is gone");
  wait_for("rank 5 is gone");
}

TEST_F(LocalNodeTest, ThereIsNoSpareForRanksWithDevices) {
  spawn("echo");
  node_->make_spare(to_frame(message::Acknowledged{}));
  EXPECT_FALSE(node_->has_spare());
}

TEST_F(LocalNodeTest, WorkersAreForkedFromAZygote) {
  zygote_.emplace(loop_, Env{{kTestWorker, "echo"}}, -1);
  files_.zygote = &*zygote_;
  spawn("echo");
  EXPECT_EQ(delegate_.log, Texts{}) << "their pids are not known yet";
  wait_for("rank 4: hello");
  wait_for("rank 5: hello");
  EXPECT_EQ(delegate_.workers[5].threads, 3);
  EXPECT_EQ(delegate_.workers[5].gpus.at(0).uuid, "GPU-1");
  run_until(loop_, [this] { return node_->facts(5).state == 'S'; });
  node_->send(5, to_frame(message::Exit{}));
  wait_for("rank 5 is gone");
  EXPECT_EQ(delegate_.ends[5].status.exit_code, 3);
  EXPECT_EQ(delegate_.ends[5].pid, delegate_.workers[5].pid);
  node_->kill();
  wait_for("rank 4 is gone");
  EXPECT_EQ(delegate_.ends[4].status.signal, SIGKILL);
}

TEST_F(LocalNodeTest, AfterAWorkerThatCannotBeStartedNoneIs) {
  places_.broken = 0;
  spawn("echo");
  EXPECT_EQ(delegate_.log, Texts{"rank 4 is not spawned"});
  EXPECT_NE(delegate_.problem, "");
  node_->send(5, to_frame(message::Exit{}));  // the worker is gone
}

TEST_F(LocalNodeTest, KillingEndsAllOfThem) {
  spawn("hang");
  wait_for("rank 4: hello");
  wait_for("rank 5: hello");
  node_->kill();
  wait_for("rank 4 is gone");
  wait_for("rank 5 is gone");
  EXPECT_EQ(delegate_.ends[4].status.signal, SIGKILL);
}

}  // namespace
}  // namespace rtrain::node
