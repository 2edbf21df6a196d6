// Hostile or broken peers: each is refused and named, and the run is not disturbed.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/raw_peer.h"
#include "tests/unit/run_until.h"
#include "tests/unit/wire_ends.h"

namespace rtrain::wire {
namespace {

class WireAttackTest : public ::testing::Test {
 protected:
  static WireServerOptions options(const Secret& secret) {
    WireServerOptions out = server_options(secret);
    out.handshake = std::chrono::milliseconds(200);
    out.max_half_open = 8;
    return out;
  }
  WireKey key() const { return secret_.derive({.role = "agent", .run_id = "run-1"}); }
  void establish(RawPeer& peer) {
    run_until(loop_, [&] { return peer.is_established(); });
  }
  static LinkHello hello(const std::string& link) {
    LinkHello out;
    out.build = "build-1";
    out.link = link;
    out.position.stream = "0123456789abcdef";
    return out;
  }
  void greet(RawPeer& peer, const std::string& link) {
    establish(peer);
    peer.send_frame({.type = WireType::kHello, .payload = hello(link).encode()});
    run_until(loop_, [&] { return !peer.received().empty(); });
  }
  // Expects that the frame ends the connection and that the server gives the reason.
  void expect_refused(const WireFrame& frame, const std::string& reason) {
    RawPeer peer(server_.server.address(), key());
    establish(peer);
    server_.refused.clear();
    peer.send_frame(frame);
    run_until(loop_, [&] { return peer.is_closed(); });
    ASSERT_EQ(server_.refused.size(), 1U);
    EXPECT_NE(server_.refused[0].find(reason), std::string::npos) << server_.refused[0];
  }
  void expect_served() {
    ClientEnd client(loop_, client_options(contact_of(server_.server, secret_), "good"));
    client.link().send("still here");
    run_until(loop_, [&] {
      return server_.links.count("good") != 0 && !server_.at("good").record.frames.empty();
    });
  }

  loop::Loop loop_;
  Secret secret_ = Secret::generate();
  ServerEnd server_{loop_, options(secret_)};
};

TEST_F(WireAttackTest, ARecordedHandshakeIsNotAcceptedAgain) {
  RawPeer peer(server_.server.address(), key());
  greet(peer, "a");
  ASSERT_EQ(server_.peers.size(), 1U);
  Stranger replay(server_.server.address());
  replay.send(peer.sent());
  run_until(loop_, [&] { return replay.is_closed(); });
  EXPECT_EQ(server_.peers.size(), 1U);
  ASSERT_EQ(server_.refused.size(), 1U);
  EXPECT_NE(server_.refused[0].find("damaged or recorded"), std::string::npos);
  expect_served();
}

TEST_F(WireAttackTest, AFrameAboveTheLimitEndsItsConnection) {
  RawPeer peer(server_.server.address(), key());
  establish(peer);
  peer.send(std::string("\xff\xff\xff\x7f", 4));
  run_until(loop_, [&] { return peer.is_closed(); });
  EXPECT_EQ(server_.refused, std::vector<std::string>{"127.0.0.1: a message of 2147483647 bytes is "
                                                      "above the limit of 1114121 bytes"});

  RawPeer greeted(server_.server.address(), key());
  greet(greeted, "a");
  greeted.send(std::string("\xff\xff\xff\x7f", 4));
  run_until(loop_, [&] { return greeted.is_closed(); });
  EXPECT_EQ(server_.at("a").record.disconnections,
            std::vector<std::string>{"a message of 2147483647 bytes is above the limit of 1114121 "
                                     "bytes"});
  expect_served();
}

TEST_F(WireAttackTest, WhatIsNotAHelloIsRefused) {
  expect_refused({.type = WireType::kData, .number = 1}, "not a hello");
}

TEST_F(WireAttackTest, AHelloThatDoesNotDecodeIsRefused) {
  expect_refused({.type = WireType::kHello, .payload = "\xc1"}, "does not decode");
}

TEST_F(WireAttackTest, AHelloOfAnotherVersionNamesBoth) {
  LinkHello other = hello("a");
  other.version = 7;
  expect_refused({.type = WireType::kHello, .payload = other.encode()},
                 "version 7 of the protocol, the server version 1");
}

TEST_F(WireAttackTest, ANumberThatIsNotTheNextEndsTheConnection) {
  RawPeer peer(server_.server.address(), key());
  greet(peer, "a");
  peer.send_frame({.type = WireType::kData, .number = 1, .payload = "one"});
  peer.send_frame({.type = WireType::kData, .number = 3, .payload = "three"});
  run_until(loop_, [&] { return peer.is_closed(); });
  EXPECT_EQ(server_.at("a").record.frames, std::vector<std::string>{"one"});
  EXPECT_EQ(server_.at("a").record.disconnections,
            std::vector<std::string>{"frame 3 behind frame 1"});
}

TEST_F(WireAttackTest, AnAcknowledgementOfWhatWasNotSentEndsTheConnection) {
  RawPeer peer(server_.server.address(), key());
  greet(peer, "a");
  peer.send_frame({.type = WireType::kAck, .number = 1});
  run_until(loop_, [&] { return peer.is_closed(); });
}

TEST_F(WireAttackTest, ASlowPeerIsCut) {
  Stranger stranger(server_.server.address());
  loop::Timer drip(loop_, [&] {
    stranger.send("\x16");
    drip.start(std::chrono::milliseconds(5));
  });
  stranger.send("\x16\x03\x01\x02");
  drip.start(std::chrono::milliseconds(5));
  run_until(loop_, [&] { return stranger.is_closed(); });
}

TEST_F(WireAttackTest, ASilentPeerIsCutAndNamed) {
  Stranger stranger(server_.server.address());
  run_until(loop_, [&] { return stranger.is_closed(); });
  EXPECT_EQ(server_.refused, std::vector<std::string>{"127.0.0.1: it has said no hello in time"});
}

// This holds for peers that have the key, too.
TEST_F(WireAttackTest, APeerThatSaysNoHelloIsCut) {
  RawPeer peer(server_.server.address(), key());
  establish(peer);
  run_until(loop_, [&] { return peer.is_closed(); });
}

TEST_F(WireAttackTest, AFloodOfHalfOpenConnectionsKeepsNobodyOut) {
  std::vector<std::unique_ptr<Stranger>> flood;
  for (int i = 0; i < 100; ++i) {
    flood.push_back(std::make_unique<Stranger>(server_.server.address()));
  }
  expect_served();
  EXPECT_EQ(server_.refused.size(), 1U);
}

TEST_F(WireAttackTest, AThousandWrongKeysAreNamedOnce) {
  const WireKey wrong = Secret::generate().derive({.role = "agent", .run_id = "run-1"});
  for (int i = 0; i < 1000; ++i) {
    RawPeer peer(server_.server.address(), wrong);
    peer.step();
    if (i % 50 == 0) run_until(loop_, [&] { return peer.is_closed(); });
  }
  // At most two notices: a peer may also have left before the server could refuse it.
  EXPECT_LE(server_.refused.size(), 2U);
  EXPECT_EQ(server_.refused.at(0), "127.0.0.1: its secret is another one");
  expect_served();
}

TEST_F(WireAttackTest, AFrameThatTakesLongIsNotSilence) {
  server_.link_options.heartbeat = std::chrono::milliseconds(20);
  server_.link_options.silence = std::chrono::seconds(1);  // the frame takes about two
  RawPeer peer(server_.server.address(), key());
  greet(peer, "a");
  std::string bytes;
  const std::string payload(100, 'x');
  WireFrame{.type = WireType::kData, .number = 1, .payload = payload}.add_to(bytes);
  size_t sent = 0;
  loop::Timer drip(loop_, [&] {
    peer.send(std::string_view(bytes).substr(sent++, 1));
    if (sent < bytes.size()) drip.start(std::chrono::milliseconds(15));
  });
  drip.start(std::chrono::milliseconds(15));
  run_until(loop_, [&] { return !server_.at("a").record.frames.empty(); });
  EXPECT_TRUE(server_.at("a").record.disconnections.empty());
  run_until(loop_, [&] { return !server_.at("a").record.disconnections.empty(); });
  EXPECT_EQ(server_.at("a").record.disconnections[0].substr(0, 21), "nothing was heard for");
}

// Random frames of a peer that has the key, in every state.
TEST_F(WireAttackTest, RandomFramesEndOnlyTheirConnection) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::minstd_rand random(seed);
  constexpr std::string_view kTypes = "hwrdapqfg?";
  for (int i = 0; i < 200; ++i) {
    RawPeer peer(server_.server.address(), key());
    establish(peer);
    if (i % 2 == 0) greet(peer, "a");
    for (int n = 0; n < 20; ++n) {
      std::string payload(random() % 64, '\0');
      for (char& c : payload) c = static_cast<char>(random());
      if (random() % 4 == 0) payload = hello("a").encode();
      if (random() % 4 == 0 && !payload.empty()) payload[random() % payload.size()] ^= 1;
      peer.send_frame({.type = static_cast<WireType>(kTypes[random() % kTypes.size()]),
                       .number = random() % 3 == 0 ? random() : random() % 4,
                       .payload = payload});
    }
    run_until(loop_, [&] { return peer.is_closed() || server_.links.count("a") != 0; });
    server_.links.clear();
  }
  expect_served();
}

}  // namespace
}  // namespace rtrain::wire
