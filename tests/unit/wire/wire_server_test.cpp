#include "host/wire/wire_server.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "host/base/error.h"
#include "tests/unit/raw_peer.h"
#include "tests/unit/run_until.h"
#include "tests/unit/wire_ends.h"

namespace rtrain::wire {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class WireServerTest : public ::testing::Test {
 protected:
  // Returns how the link of a client with these options ends.
  LinkEnd end_of(WireClientOptions options) {
    ClientEnd client(loop_, std::move(options));
    run_until(loop_, [&] { return client.record.end.has_value(); });
    return *client.record.end;
  }
  WireContact contact() const { return contact_of(server_.server, secret_); }
  // Expects that the server still serves clients.
  void expect_served() {
    ClientEnd client(loop_, client_options(contact(), "other"));
    client.link().send("still here");
    run_until(loop_,
              [&] { return !server_.links.empty() && !server_.at("other").record.frames.empty(); });
  }

  loop::Loop loop_;
  Secret secret_ = Secret::generate();
  ServerEnd server_{loop_, server_options(secret_)};
};

TEST_F(WireServerTest, AnotherSecretIsNamedOnBothSides) {
  WireContact other = contact();
  other.secret = Secret::generate();
  const LinkEnd end = end_of(client_options(other));
  EXPECT_EQ(end.kind, LinkEnd::Kind::kUnreachable);
  EXPECT_TRUE(contains(end.text, "it has another secret")) << end.text;
  ASSERT_EQ(server_.refused.size(), 1U);
  EXPECT_EQ(server_.refused[0], "127.0.0.1: its secret is another one");
  expect_served();
}

TEST_F(WireServerTest, NoSecretIsRefused) {
  WireContact other = contact();
  other.secret = Secret::none();
  EXPECT_TRUE(contains(end_of(client_options(other)).text, "it has another secret"));
}

TEST_F(WireServerTest, AnotherRunIsNamedOnBothSides) {
  WireClientOptions options = client_options(contact());
  options.identity.run_id = "run-2\x1b[31m";
  const LinkEnd end = end_of(options);
  EXPECT_TRUE(contains(end.text, "serves another run")) << end.text;
  ASSERT_EQ(server_.refused.size(), 1U);
  EXPECT_TRUE(contains(server_.refused[0], "run-2\\x1b")) << server_.refused[0];
}

TEST_F(WireServerTest, ARefusalIsShownToThePeer) {
  server_.refusal = "attempt 3 is over";
  const LinkEnd end = end_of(client_options(contact()));
  EXPECT_EQ(end.kind, LinkEnd::Kind::kRefused);
  EXPECT_EQ(end.text, "attempt 3 is over");
  EXPECT_EQ(server_.refused, std::vector<std::string>{"127.0.0.1: attempt 3 is over"});
}

TEST_F(WireServerTest, AnotherBuildIsRefused) {
  WireClientOptions options = client_options(contact());
  options.build = "build-2";
  const LinkEnd end = end_of(options);
  EXPECT_EQ(end.kind, LinkEnd::Kind::kRefused);
  EXPECT_TRUE(contains(end.text, "'build-2'") && contains(end.text, "build-1")) << end.text;
}

TEST_F(WireServerTest, StrangersAreNamedOnceAndDisturbNobody) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
        std::string(5000, '\xff'), std::string(5000, '\0')}) {
    Stranger stranger(server_.server.address());
    stranger.send(bytes);
    run_until(loop_, [&] { return stranger.is_closed(); });
  }
  ASSERT_EQ(server_.refused.size(), 1U);
  EXPECT_TRUE(contains(server_.refused[0], "it does not speak TLS 1.3")) << server_.refused[0];
  expect_served();
}

TEST_F(WireServerTest, BeyondLoopbackItNeedsASecret) {
  WireServerOptions options = server_options(Secret::none());
  options.address = "0.0.0.0";
  EXPECT_THROW(WireServer(loop_, options, server_), Error);
  options.address = "localhost";
  EXPECT_THROW(WireServer(loop_, options, server_), Error);
}

TEST_F(WireServerTest, ATakenPortIsPassedOver) {
  WireServerOptions options = server_options(secret_);
  options.port = server_.server.address().port();
  const ServerEnd second(loop_, options);
  EXPECT_GT(second.server.address().port(), options.port);
  options.more_ports = 0;
  EXPECT_THROW(ServerEnd(loop_, options), Error);
}

// A job's port is a hash: another job may already use it, and this job then takes one of the next
// ports.
TEST_F(WireServerTest, AClientPassesThePortOfAnotherRun) {
  WireServerOptions options = server_options(secret_);
  options.port = server_.server.address().port();
  options.run_ids = {"run-2"};
  const ServerEnd second(loop_, options);
  WireContact both = contact();
  both.more_ports = 16;
  WireClientOptions client = client_options(both);
  client.identity.run_id = "run-2";
  ClientEnd of_second(loop_, client);
  run_until(loop_, [&] { return of_second.record.num_connected == 1; });
  EXPECT_EQ(of_second.link().far().port(), second.server.address().port());

  client.identity.run_id = "run-3";
  client.timeout = std::chrono::milliseconds(100);
  const std::string text = end_of(client).text;
  EXPECT_TRUE(contains(text, "serves another run")) << text;
  EXPECT_TRUE(contains(text, "Connection refused; and ")) << text;
}

TEST_F(WireServerTest, AServerIsFoundByName) {
  WireContact named = contact();
  named.hosts = {std::string(300, 'x'), "no such host", "localhost"};
  ClientEnd client(loop_, client_options(named));
  run_until(loop_, [&] { return client.record.num_connected == 1; });
}

TEST_F(WireServerTest, ANameThatDoesNotResolveIsNamed) {
  WireContact named = contact();
  named.hosts = {"no such host"};
  WireClientOptions options = client_options(named);
  options.timeout = std::chrono::milliseconds(50);
  const std::string text = end_of(options).text;
  EXPECT_TRUE(contains(text, "no such host:") && contains(text, "the name has no address")) << text;
}

// A client connects to a port on which a program other than rtrain listens.
TEST_F(WireServerTest, AStrangeServerIsNamed) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress any = *SocketAddress::parse("127.0.0.1", 0);
  ASSERT_EQ(::bind(listener.get(), any.get(), any.size()), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  WireContact strange = contact();
  strange.port = SocketAddress::near(listener.get()).port();
  ClientEnd client(loop_, client_options(strange));
  Fd accepted;
  loop::Poll incoming(loop_, listener.release(), [&](int) {
    accepted = Fd(::accept(incoming.fd(), nullptr, nullptr));
    const std::string_view banner = "SSH-2.0-OpenSSH_9.2p1\r\n";
    ::send(accepted.get(), banner.data(), banner.size(), MSG_NOSIGNAL);
  });
  incoming.start(UV_READABLE);
  run_until(loop_, [&] { return client.record.end.has_value(); });
  EXPECT_TRUE(contains(client.record.end->text, "what listens there is not rtrain"))
      << client.record.end->text;
}

}  // namespace
}  // namespace rtrain::wire
