// LateReports with an agent in a thread of this process; the test acts as the store.
#include "host/train/resources/late_reports.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "host/base/codec/codec.h"
#include "host/loop/messages/to_controller.h"
#include "host/node/agent.h"
#include "tests/unit/test_run.h"

namespace rtrain::train {
namespace {

class LateReportsTest : public testing::Test,
                        public node::NodeServerDelegate,
                        public LateReportsDelegate {
 protected:
  LateReportsTest() {
    setenv("RTRAIN_RUNTIME_DIR", (run_.folder / "runtime").c_str(), 1);
    setenv("RTRAIN_RENDEZVOUS", (run_.folder / "rendezvous").c_str(), 1);
    run_.open();
    const Report report{.index = 0, .time_ms = 1, .metrics = Map{{"loss", 0.5}}};
    store::ReportSpool(spool(), 1, 3).add(0, encode(to_value(report)));
    node::JobSpec job;
    job.num_tasks = 2;
    job.id = "57.0";
    nodes_.emplace(job);
    nodes_->attach(run_.record->run_id(), run_.loop, *this);
    late_.emplace(*nodes_, *run_.context, *this);
    job.task = 1;
    agent_ = std::thread([job] { node::Agent(job, {}, -1).run(); });
    run_until(run_.loop, [this] { return is_here_; });
  }
  ~LateReportsTest() override {
    nodes_->leave(0);
    agent_.join();
    nodes_->detach();
    unsetenv("RTRAIN_RUNTIME_DIR");
    unsetenv("RTRAIN_RENDEZVOUS");
  }

  std::string spool() const { return store::spool_folder(run_.record->run_id()); }

  void on_node(const message::AgentInfo&) override { is_here_ = true; }
  void on_node_message(int node, Value message) override {
    const std::string type = message["type"].as_string();
    if (type == "spooled") late_->on_report(node, from_value<message::Spooled>(std::move(message)));
    if (type == "spool_end") late_->on_end(node, "");
    answers_ += type == "folder_seen" ? 1 : 0;
  }
  void on_node_lost(int, const std::string&) override {}
  void on_node_refused(const std::string&) override {}
  void on_command(Value, node::OperatorLinks::Reply) override {}
  void notice(const std::string&) override {}
  void warn(const std::string&) override {}
  void add_late_reports(std::vector<Report> rows, OnAdded done) override {
    num_rows_ = rows.size();
    stored_.push_back(std::move(done));
  }

  // Returns when the agent has processed all earlier messages.
  void wait_for_agent() {
    nodes_->send(1, to_value(message::CheckFolder{.path = "/nowhere", .text = ""}));
    run_until(run_.loop, [this, before = answers_] { return answers_ > before; });
  }

  TestRun run_;
  std::optional<node::NodeServer> nodes_;
  std::optional<LateReports> late_;
  std::thread agent_;
  bool is_here_ = false;
  int answers_ = 0;
  size_t num_rows_ = 0;
  std::vector<OnAdded> stored_;
};

TEST_F(LateReportsTest, ANodeForgetsWhatIsInTheStore) {
  late_->ask(1, "n1");
  run_until(run_.loop, [this] { return stored_.size() == 1; });
  EXPECT_EQ(num_rows_, 1U);
  late_->forget(2);
  wait_for_agent();
  EXPECT_EQ(store::read_spools(spool()).size(), 1U) << "it is not stored yet";
  stored_[0](1, std::nullopt);
  late_->forget(2);
  wait_for_agent();
  EXPECT_TRUE(store::read_spools(spool()).empty());
}

TEST_F(LateReportsTest, ANodeThatHasComeAgainKeepsWhatOnlyItsLastAnswerBrings) {
  late_->ask(1, "n1");
  run_until(run_.loop, [this] { return stored_.size() == 1; });
  late_->drop(1);
  late_->ask(1, "n1");
  stored_[0](1, std::nullopt);  // the store acknowledges the previous answer
  late_->forget(2);
  wait_for_agent();
  EXPECT_EQ(store::read_spools(spool()).size(), 1U);
}

}  // namespace
}  // namespace rtrain::train
