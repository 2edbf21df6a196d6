#include "host/wire/link.h"

#include <gtest/gtest.h>

#include "tests/unit/run_until.h"
#include "tests/unit/wire_ends.h"

namespace rtrain {
namespace {

using Frames = std::vector<std::string>;

class LinkTest : public ::testing::Test {
 protected:
  void connect() {
    client_.emplace(loop_, client_options(contact_of(server_.server, secret_)));
    run_until(loop_, [this] { return client_->record.num_connected == 1; });
  }
  LinkRecord& far_record() { return server_.at("a").record; }
  Link& far() { return server_.at("a").link; }
  Link& near() { return client_->link(); }

  Loop loop_;
  Secret secret_ = Secret::generate();
  ServerEnd server_{loop_, server_options(secret_)};
  std::optional<ClientEnd> client_;
};

TEST_F(LinkTest, FramesGoBothWaysInOrder) {
  connect();
  near().send("one");
  near().send("");
  near().send(std::string(kMaxPayloadBytes, 'x'));
  far().send("back");
  run_until(loop_, [this] { return far_record().frames.size() == 3; });
  EXPECT_EQ(far_record().frames, (Frames{"one", "", std::string(kMaxPayloadBytes, 'x')}));
  run_until(loop_, [this] { return client_->record.frames == Frames{"back"}; });
  EXPECT_EQ(server_.peers.at(0).role, "agent");
  EXPECT_EQ(server_.peers.at(0).run_id, "run-1");
  EXPECT_EQ(server_.abouts.at(0), "about");
  EXPECT_EQ(near().near().host(), "127.0.0.1");
}

TEST_F(LinkTest, WhatIsSentBeforeAConnectionArrivesWithIt) {
  client_.emplace(loop_, client_options(contact_of(server_.server, secret_)));
  for (int i = 0; i < 1000; ++i) near().send(std::to_string(i));
  run_until(loop_, [this] { return client_->record.num_connected == 1; });
  run_until(loop_, [this] { return far_record().frames.size() == 1000; });
  EXPECT_EQ(far_record().frames[999], "999");
}

TEST_F(LinkTest, HeartbeatsMeasureTheRoundTrip) {
  connect();
  run_until(loop_, [this] { return near().round_trip_s() > 0 && far().round_trip_s() > 0; });
  EXPECT_LT(near().round_trip_s(), 10);
}

TEST_F(LinkTest, FinishEndsBothSidesWhenAllHasArrived) {
  connect();
  for (int i = 0; i < 100; ++i) near().send(std::string(100000, 'x'));
  std::optional<uint64_t> left;
  near().finish(std::chrono::seconds(20), [&](uint64_t count) { left = count; });
  run_until(loop_, [&] { return left && far_record().end; });
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(far_record().frames.size(), 100U);
  EXPECT_EQ(far_record().end->kind, LinkEnd::Kind::kFinished);
  EXPECT_TRUE(near().is_closed());
  EXPECT_TRUE(far().is_closed());
}

}  // namespace
}  // namespace rtrain
