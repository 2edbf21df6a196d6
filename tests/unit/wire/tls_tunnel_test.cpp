#include "host/wire/tls_tunnel.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <thread>

#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/wire/secret.h"
#include "host/wire/socket_address.h"
#include "tests/unit/no_more_files.h"

namespace rtrain::wire {
namespace {

constexpr std::chrono::seconds kLong{60};

WireKey new_key() { return Secret::generate().derive({.role = "ingest", .run_id = "r1"}); }

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ASSERT_GT(n, 0);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// Reads until the end of the stream.
std::string read_all(int fd) {
  std::string out;
  std::string part(65536, '\0');
  while (true) {
    const ssize_t n = ::recv(fd, part.data(), part.size(), 0);
    if (n <= 0) return out;
    out.append(part, 0, static_cast<size_t>(n));
  }
}

std::string numbered(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 + i / 251);
  return out;
}

class TlsTunnelTest : public testing::Test {
 protected:
  void open(const WireKey& at_server, const WireKey& at_client,
            std::chrono::milliseconds timeout = kLong) {
    server_ = TlsTunnel::listen("127.0.0.1", at_server, timeout);
    client_ = TlsTunnel::connect("127.0.0.1", server_->port(), at_client, timeout);
    near_ = Fd(server_->take_socket());
    far_ = Fd(client_->take_socket());
  }

  std::unique_ptr<TlsTunnel> server_;
  std::unique_ptr<TlsTunnel> client_;
  Fd near_;
  Fd far_;
};

TEST_F(TlsTunnelTest, CarriesAllBytesBothWays) {
  const WireKey key = new_key();
  open(key, key);
  const std::string there = numbered(20'000'000);
  const std::string back = numbered(3'000'000);
  std::thread writer([&] {
    write_all(far_.get(), back);
    ::shutdown(far_.get(), SHUT_WR);
  });
  EXPECT_TRUE(read_all(near_.get()) == back);
  writer.join();
  open(key, key);
  std::thread other([&] {
    write_all(near_.get(), there);
    near_.reset();
  });
  EXPECT_TRUE(read_all(far_.get()) == there) << "all that was written before the end";
  other.join();
}

TEST_F(TlsTunnelTest, WithAnotherKeyBothEndsAreClosed) {
  open(new_key(), new_key(), std::chrono::milliseconds(300));
  EXPECT_EQ(read_all(far_.get()), "");
  EXPECT_EQ(read_all(near_.get()), "");
}

TEST_F(TlsTunnelTest, AStrangerIsSentAwayAndThePeerStillComes) {
  const WireKey key = new_key();
  server_ = TlsTunnel::listen("127.0.0.1", key, kLong);
  const auto address = SocketAddress::parse("127.0.0.1", server_->port());
  const Fd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(stranger.get(), address->get(), address->size()), 0);
  write_all(stranger.get(), "GET / HTTP/1.1\r\n\r\n");
  client_ = TlsTunnel::connect("127.0.0.1", server_->port(), key, kLong);
  near_ = Fd(server_->take_socket());
  far_ = Fd(client_->take_socket());
  write_all(far_.get(), "rows");
  far_.reset();
  EXPECT_EQ(read_all(near_.get()), "rows");
  EXPECT_EQ(read_all(stranger.get()).find("rows"), std::string::npos);
}

TEST_F(TlsTunnelTest, ALackOfDescriptorsIsWaitedForWithoutComputing) {
  const WireKey key = new_key();
  server_ = TlsTunnel::listen("127.0.0.1", key, kLong);
  const auto address = SocketAddress::parse("127.0.0.1", server_->port());
  Fd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  {
    const NoMoreFiles lack;
    ASSERT_EQ(::connect(stranger.get(), address->get(), address->size()), 0);
    const double before_s = cpu_s();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LT(cpu_s() - before_s, 0.1) << "of 0.5 s";
  }
  stranger.reset();
  client_ = TlsTunnel::connect("127.0.0.1", server_->port(), key, kLong);
  near_ = Fd(server_->take_socket());
  far_ = Fd(client_->take_socket());
  write_all(far_.get(), "rows");
  far_.reset();
  EXPECT_EQ(read_all(near_.get()), "rows");
}

TEST_F(TlsTunnelTest, WithoutAPeerItsEndIsClosedInTime) {
  server_ = TlsTunnel::listen("127.0.0.1", new_key(), std::chrono::milliseconds(20));
  near_ = Fd(server_->take_socket());
  EXPECT_EQ(read_all(near_.get()), "");
}

TEST_F(TlsTunnelTest, EndsWhileItWaitsAndWhileNobodyReads) {
  TlsTunnel::listen("127.0.0.1", new_key(), kLong).reset();
  const WireKey key = new_key();
  open(key, key);
  const std::string much = numbered(1 << 16);
  while (::send(far_.get(), much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
  }
  server_.reset();
  client_.reset();
  EXPECT_LE(read_all(near_.get()).size(), size_t{1} << 30) << "the end of the stream";
}

TEST_F(TlsTunnelTest, AnAddressIsNumeric) {
  EXPECT_THROW(TlsTunnel::listen("localhost", new_key(), kLong), Error);
  EXPECT_THROW(TlsTunnel::connect("n1", 1, new_key(), kLong), Error);
}

}  // namespace
}  // namespace rtrain::wire
