// The process of node 0 and an agent, both in this process, connected over loopback.
#include "host/node/node_server.h"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>

#include "host/base/text/text.h"
#include "host/loop/channel/descriptor_message.h"
#include "host/machine/leases/runtime_socket.h"
#include "host/machine/processes/build_id.h"
#include "host/node/agent_thread.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::node {
namespace {

using Texts = std::vector<std::string>;

// Records the notifications in order.
class FakeDelegate : public NodeServerDelegate {
 public:
  void on_node(const message::AgentInfo& info) override {
    log.push_back(cat("node ", info.node, " is here"));
    last = info;
  }
  void on_node_message(int node, Value message) override {
    log.push_back(cat("node ", node, ": ", message["type"].as_string()));
    messages.push_back(std::move(message));
  }
  void on_node_lost(int node, const std::string& reason) override {
    log.push_back(cat("node ", node, " is lost"));
    problem = reason;
  }
  void on_node_refused(const std::string& text) override { problem = text; }
  void on_command(Value request, OperatorLinks::Reply reply) override { reply(request); }

  bool has(const std::string& what) const {
    return std::find(log.begin(), log.end(), what) != log.end();
  }

  Texts log;
  message::AgentInfo last;
  std::vector<Value> messages;
  std::string problem;
};

class NodeServerTest : public testing::Test {
 protected:
  NodeServerTest() {
    setenv("RTRAIN_RENDEZVOUS", (folder_ / "rendezvous").c_str(), 1);
    job_.num_tasks = 2;
    job_.id = "57.0";
  }
  ~NodeServerTest() override {
    if (nodes_) nodes_->leave(0);
    if (thread_.joinable()) thread_.join();
    unsetenv("RTRAIN_RENDEZVOUS");
  }

  void begin() {
    nodes_.emplace(job_);
    nodes_->attach("run-1", loop_, delegate_);
  }
  // Runs an agent in its own thread; `code_` is its exit code.
  void start_agent(int node) {
    JobSpec spec = job_;
    spec.task = node;
    thread_ = std::thread([this, spec] {
      try {
        code_ = Agent(spec, {}, -1).run();
      } catch (const Error& e) {
        problem_ = e.message();
        code_ = 1000;
      }
    });
  }
  void wait_for(const std::string& what) {
    run_until(loop_, [&] { return delegate_.has(what); });
  }
  void end_agent(int code) {
    nodes_->leave(code);
    thread_.join();
  }

  TempFolder folder_;
  loop::Loop loop_;
  JobSpec job_;
  FakeDelegate delegate_;
  std::optional<NodeServer> nodes_;
  std::thread thread_;
  std::atomic<int> code_{-1};
  std::string problem_;
};

TEST_F(NodeServerTest, AnAgentComesAndLeavesWithTheJobsCode) {
  begin();
  start_agent(1);
  wait_for("node 1 is here");
  EXPECT_EQ(delegate_.last.pid, getpid());
  EXPECT_GE(delegate_.last.cores, 1);
  EXPECT_NE(delegate_.last.address, "");
  EXPECT_NE(nodes_->address(), "");
  end_agent(75);
  EXPECT_EQ(code_, 75);
}

TEST_F(NodeServerTest, WhoeverComesLaterHearsOfTheNodesThatAreThere) {
  begin();
  start_agent(1);
  wait_for("node 1 is here");
  nodes_->detach();
  FakeDelegate next;
  nodes_->attach("run-1", loop_, next);
  run_until(loop_, [&] { return next.has("node 1 is here"); });
  nodes_->detach();
  end_agent(0);
}

TEST_F(NodeServerTest, AnAgentThatComesAfterTheEndIsToldOfIt) {
  begin();
  std::thread leaving([this] { nodes_->leave(7); });
  start_agent(1);
  thread_.join();
  leaving.join();
  EXPECT_EQ(code_, 7);
}

TEST_F(NodeServerTest, AnAgentSaysWhatItSeesOfAFolder) {
  begin();
  start_agent(1);
  wait_for("node 1 is here");
  const std::string path = folder_.write("marker", "text");
  const auto check = [this](const std::string& name, const std::string& text) {
    delegate_.log.clear();
    delegate_.messages.clear();
    nodes_->send(1, to_value(message::CheckFolder{.path = name, .text = text}));
    wait_for("node 1: folder_seen");
    return from_value<message::FolderSeen>(delegate_.messages.at(0)).problem;
  };
  EXPECT_EQ(check(path, "text"), "");
  EXPECT_EQ(check(path, "other"), "it holds something else");
  EXPECT_EQ(check(folder_ / "nowhere", "text"), "No such file or directory");
}

TEST_F(NodeServerTest, AMessageThatIsTooLargeIsItsSendersError) {
  begin();
  start_agent(1);
  wait_for("node 1 is here");
  const message::CheckFolder large{.path = "/", .text = std::string(wire::kMaxPayloadBytes, 'x')};
  EXPECT_THROW(nodes_->send(1, to_value(large)), Error);
  nodes_->send(1, to_value(message::CheckFolder{.path = "/nowhere", .text = ""}));
  wait_for("node 1: folder_seen");
}

TEST_F(NodeServerTest, ANumberThatTheJobDoesNotHaveIsRefused) {
  begin();
  start_agent(2);
  thread_.join();
  EXPECT_EQ(code_, 1000);
  EXPECT_NE(problem_.find("the other nodes of this job are 1 to 1"), std::string::npos) << problem_;
}

TEST_F(NodeServerTest, AnAgentThatHearsNothingOfTheControllerEnds) {
  setenv("RTRAIN_JOIN_TIMEOUT_S", "0.5", 1);
  job_.node_timeout_s = 0.5;
  begin();
  start_agent(1);
  wait_for("node 1 is here");
  nodes_.reset();
  thread_.join();
  unsetenv("RTRAIN_JOIN_TIMEOUT_S");
  EXPECT_EQ(code_, 1000);
  EXPECT_NE(
      problem_.find("has not been heard of for 0.5 s (node_timeout_s), nor for another 0.5 s"),
      std::string::npos)
      << problem_;
}

TEST_F(NodeServerTest, WhatRanksThatAreGoneHaveReportedIsAskedFor) {
  setenv("RTRAIN_RUNTIME_DIR", (folder_ / "runtime").c_str(), 1);
  store::ReportSpool(store::spool_folder("run-1"), 1, 3).add(0, "a");
  begin();
  start_agent(1);
  wait_for("node 1 is here");
  nodes_->send(1, to_value(message::AskSpool{.run_id = "run-1"}));
  wait_for("node 1: spool_end");
  EXPECT_EQ(from_value<message::Spooled>(delegate_.messages.at(0)).rank, 3);
  EXPECT_EQ(from_value<message::Spooled>(delegate_.messages.at(0)).report, "a");
  nodes_->send(1, to_value(message::ForgetSpool{.below_attempt = 2}));
  run_until(loop_, [] { return store::read_spools(store::spool_folder("run-1")).empty(); });
  end_agent(0);
  unsetenv("RTRAIN_RUNTIME_DIR");
}

// A job of two processes, each a rank on its own node.
class JobOfRanksTest : public NodeServerTest {
 protected:
  JobOfRanksTest() {
    setenv("RTRAIN_RUNTIME_DIR", (folder_ / "runtime").c_str(), 1);
    job_.join = JoinSpec{.socket = "job-test.sock"};
    begin();
  }
  ~JobOfRanksTest() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  JobSpec task(int number) const {
    JobSpec spec = job_;
    spec.task = number;
    return spec;
  }
};

TEST_F(JobOfRanksTest, AnAgentEndsWithTheProcessThatItIsAThreadOf) {
  std::optional<AgentThread> agent(task(1));
  wait_for("node 1 is here");
  EXPECT_EQ(delegate_.last.tasks, 1);
  agent.reset();
  wait_for("node 1 is lost");
  EXPECT_NE(delegate_.problem.find("has ended"), std::string::npos) << delegate_.problem;
}

TEST_F(JobOfRanksTest, WhoeverJoinsAfterTheEndOfTheJobHearsItsCode) {
  const AgentThread agent(task(1));
  wait_for("node 1 is here");
  nodes_->leave(7);
  const int fd = machine::connect_runtime_socket(job_.join->socket, SOCK_SEQPACKET);
  ASSERT_GE(fd, 0);
  loop::send_descriptor_message(fd, to_value(message::Join{.build_id = machine::build_id()}));
  loop::DescriptorMessage answer;
  run_until(loop_, [&] {
    return loop::receive_descriptor_message(fd, answer) == loop::Received::kMessage;
  });
  EXPECT_EQ(answer.value["type"].as_string(), "job_over");
  EXPECT_EQ(answer.value["code"].as_int(), 7);
  close(fd);
}

TEST_F(JobOfRanksTest, MoreProcessesThanTheJobHasAreRefused) {
  JobSpec spec = task(1);
  spec.join->num_ranks = 2;
  const AgentThread agent(spec);
  run_until(loop_, [&] { return !delegate_.problem.empty(); });
  EXPECT_NE(delegate_.problem.find("has 2 of the 2 processes of this job: the other nodes leave 1"),
            std::string::npos)
      << delegate_.problem;
}

}  // namespace
}  // namespace rtrain::node
