#include "host/node/join_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "host/base/text/text.h"
#include "host/loop/channel/descriptor_message.h"
#include "host/machine/processes/build_id.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::node {
namespace {

constexpr const char* kSocket = "job-test.sock";

// A process that joins and records the messages it receives.
class Joiner {
 public:
  explicit Joiner(const message::Join& join)
      : fd_(machine::connect_runtime_socket(kSocket, SOCK_SEQPACKET)) {
    EXPECT_TRUE(loop::send_descriptor_message(fd_, to_value(join)));
  }
  ~Joiner() { leave(); }
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;

  // Returns the next message, such as "endpoint" or "ended: …"; "closed" at the end of the
  // connection; "" if nothing has arrived.
  std::string hear() {
    loop::DescriptorMessage message;
    const loop::Received received = loop::receive_descriptor_message(fd_, message);
    if (received == loop::Received::kEnd) return "closed";
    if (received == loop::Received::kNothing) return "";
    const std::string type = message.value["type"].as_string();
    if (type == "refused") return cat("refused: ", message.value["error"]["message"].as_string());
    if (type == "job_over") return cat("job_over: ", message.value["code"].as_int());
    if (type == "ended") return cat("ended: ", message.value["path"].as_string());
    return type == "endpoint" && message.fds.empty() ? "endpoint without a descriptor" : type;
  }
  void leave() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

class JoinServerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
    setenv("RTRAIN_RUNTIME_DIR", folder_.path().c_str(), 1);
    server_.emplace(loop_, JoinSpec{.socket = kSocket, .num_ranks = 2});
  }
  void TearDown() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  std::unique_ptr<Joiner> join(int local_rank, int64_t fit = 1) {
    return std::make_unique<Joiner>(message::Join{.rank = 4 + local_rank,
                                                  .local_rank = local_rank,
                                                  .fit = fit,
                                                  .build_id = machine::build_id()});
  }
  std::string next_of(Joiner& joiner) {
    std::string heard;
    run_until(loop_, [&] { return !(heard = joiner.hear()).empty(); });
    return heard;
  }
  // Returns one end of a channel; is_closed() checks through the other end.
  int channel() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    other_end_ = ends[0];
    return ends[1];
  }
  bool is_closed() const {
    char byte = 0;
    return recv(other_end_, &byte, 1, 0) == 0;
  }

  TempFolder folder_;
  loop::Loop loop_;
  std::optional<JoinServer> server_;
  int other_end_ = -1;
};

TEST_F(JoinServerTest, AnEndpointGoesToTheProcessOfItsRank) {
  server_->begin(1);
  server_->offer(1, channel());
  const auto second = join(1);
  EXPECT_EQ(next_of(*second), "endpoint");
  const auto first = join(0);
  run_until(loop_, [&] { return first->hear().empty(); });
  server_->offer(0, channel());
  EXPECT_EQ(next_of(*first), "endpoint");
}

TEST_F(JoinServerTest, EachAttemptHasAnEndpoint) {
  server_->begin(1);
  const auto joiner = join(0);
  for (int attempt = 0; attempt < 2; ++attempt) {
    server_->offer(0, channel());
    EXPECT_EQ(next_of(*joiner), "endpoint");
  }
}

TEST_F(JoinServerTest, AProcessAtAnotherFitComesAgain) {
  EXPECT_EQ(next_of(*join(0, 1)), "closed") << "no fit() has begun";
  server_->begin(2);
  EXPECT_EQ(next_of(*join(0, 1)), "closed");
  server_->offer(0, channel());
  EXPECT_EQ(next_of(*join(0, 2)), "endpoint");
}

TEST_F(JoinServerTest, TheChannelOfAProcessThatHasLeftCloses) {
  server_->begin(1);
  const auto joiner = join(0);
  server_->offer(0, channel());
  EXPECT_EQ(next_of(*joiner), "endpoint");
  joiner->leave();
  run_until(loop_, [&] {
    server_->offer(0, channel());
    return is_closed();
  });
}

TEST_F(JoinServerTest, WhatNobodyHasTakenIsWithdrawn) {
  server_->begin(1);
  server_->offer(0, channel());
  EXPECT_FALSE(is_closed());
  server_->withdraw();
  EXPECT_TRUE(is_closed());
}

TEST_F(JoinServerTest, TheEndOfAFitIsToldAndTheNextOneBegins) {
  server_->begin(1);
  server_->offer(0, channel());
  const auto joiner = join(0);
  EXPECT_EQ(next_of(*joiner), "endpoint");
  server_->end({.path = "/runs/one"});
  EXPECT_EQ(next_of(*joiner), "ended: /runs/one");
  EXPECT_EQ(next_of(*joiner), "closed");
  server_->begin(2);
  server_->offer(0, channel());
  EXPECT_EQ(next_of(*join(0, 2)), "endpoint");
}

TEST_F(JoinServerTest, WhoeverComesAfterTheEndOfTheJobHearsOfItToo) {
  server_->begin(1);
  server_->offer(0, channel());
  const auto joiner = join(0);
  EXPECT_EQ(next_of(*joiner), "endpoint");
  server_->close(message::JobOver{.code = 7});
  EXPECT_EQ(next_of(*joiner), "job_over: 7");
  EXPECT_EQ(next_of(*join(1, 9)), "job_over: 7");
  server_->close(message::Refused{.error = Error(Code::kWorkerLost, "later")});
  EXPECT_EQ(next_of(*join(1, 9)), "job_over: 7") << "the first answer stays";
}

TEST_F(JoinServerTest, ALocalRankThatThereIsNotIsRefused) {
  server_->begin(1);
  EXPECT_EQ(next_of(*join(2)),
            "refused: rank 6 says that its local rank is 2: this node has 2 processes of the job, "
            "and those that join are 0 to 1");
}

TEST_F(JoinServerTest, ASecondProcessOfARankIsRefused) {
  server_->begin(1);
  server_->offer(1, channel());
  const auto joiner = join(1);
  EXPECT_EQ(next_of(*joiner), "endpoint");
  EXPECT_EQ(next_of(*join(1)), "refused: rank 5: another process has local rank 1 already");
}

TEST_F(JoinServerTest, TheServersOwnRankDoesNotJoin) {
  server_.reset();
  server_.emplace(loop_, JoinSpec{.socket = kSocket, .num_ranks = 2, .first_joined = 1});
  server_->begin(1);
  EXPECT_NE(next_of(*join(0)).find("those that join are 1 to 1"), std::string::npos);
}

}  // namespace
}  // namespace rtrain::node
