// load_test.cpp: measures the wire under load and checks limits. Small without an argument; at full
// size with --full, as scripts/test --soak wire runs it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <random>
#include <thread>

#include "host/base/clock.h"
#include "tests/unit/raw_peer.h"
#include "tests/unit/run_until.h"
#include "tests/unit/wire_ends.h"

namespace rtrain {
namespace {

bool is_full_size = false;

int64_t full_or(int64_t full, int64_t small) { return is_full_size ? full : small; }

double percentile(std::vector<double>& values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

// Returns the resident memory of a process in bytes.
double resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A server in its own thread that echoes each frame of up to 100 bytes.
class EchoServer : wire::LinkDelegate, wire::WireServerDelegate {
 public:
  explicit EchoServer(const wire::Secret& secret) : server_(loop_, server_options(secret), *this) {
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~EchoServer() override {
    loop_.post([this] {
      link_.reset();
      loop_.stop();
    });
    thread_.join();
  }
  const wire::WireServer& server() const { return server_; }
  uint64_t num_bytes() const { return num_bytes_; }

 private:
  wire::Admission on_hello(const wire::WirePeer&, const wire::LinkHello& hello) override {
    link_.emplace(loop_, hello.link, wire::LinkOptions(), static_cast<wire::LinkDelegate&>(*this));
    return {.link = &*link_, .refusal = ""};
  }
  void on_refused(const std::string&) override {}
  void on_frame(std::string_view payload) override {
    num_bytes_ += payload.size();
    if (payload.size() <= 100) link_->send(payload);
  }
  void on_connected() override {}
  void on_disconnected(const std::string&) override {}
  void on_peer_restarted() override {}
  void on_full(bool) override {}
  void on_end(const wire::LinkEnd&) override {}

  loop::Loop loop_;
  std::atomic<uint64_t> num_bytes_ = 0;
  std::optional<wire::Link> link_;
  wire::WireServer server_;
  std::thread thread_;
};

class WireLoadTest : public ::testing::Test {
 protected:
  wire::Secret secret_ = wire::Secret::generate();
};

// Runs the loop for one iteration.
void turn(loop::Loop& loop) {
  loop.post([&] { loop.stop(); });
  loop.run();
}

TEST_F(WireLoadTest, AConnectionIsQuick) {
  loop::Loop loop;
  ServerEnd server(loop, server_options(secret_));
  std::vector<double> times_ms;
  for (int64_t i = 0; i < full_or(1000, 50); ++i) {
    const double begin_s = monotonic_s();
    ClientEnd client(loop, client_options(contact_of(server.server, secret_), std::to_string(i)));
    while (client.record.num_connected == 0) turn(loop);
    times_ms.push_back(1000 * (monotonic_s() - begin_s));
  }
  std::printf("connect, handshake, hello and welcome: median %.2f ms, p99 %.2f ms\n",
              percentile(times_ms, 0.5), percentile(times_ms, 0.99));
}

TEST_F(WireLoadTest, LargeAndSmallFramesFlow) {
  for (const size_t size : {size_t{1} << 20, size_t{10000}, size_t{200}}) {
    EchoServer server(secret_);
    loop::Loop loop;
    ClientEnd client(loop, client_options(contact_of(server.server(), secret_)));
    run_until(loop, [&] { return client.record.num_connected == 1; });
    const auto total = static_cast<uint64_t>(full_or(int64_t{2} << 30, int64_t{20} << 20)) /
                       (size < 1000 ? 10 : 1);
    const std::string payload(size, 'x');
    const double begin_s = monotonic_s();
    const double begin_cpu_s = cpu_s();
    uint64_t sent = 0;
    loop::TurnEnd more(loop, [&] {
      while (sent < total && !client.link().is_full()) {
        client.link().send(payload);
        sent += size;
      }
      if (sent < total) more.ask();
    });
    more.ask();
    run_until(loop, [&] { return server.num_bytes() >= total; });
    const double bytes = static_cast<double>(total);
    std::printf("frames of %zu bytes: %.2f GB/s, %.0f frames/s, both ends %.2f s of CPU for a GB\n",
                size, bytes / 1e9 / (monotonic_s() - begin_s),
                bytes / static_cast<double>(size) / (monotonic_s() - begin_s),
                (cpu_s() - begin_cpu_s) / (bytes / 1e9));
    EXPECT_EQ(server.num_bytes(), sent);
  }
}

// Sends the next frame when the previous one has come back.
struct PingPong : LinkRecord {
  void on_frame(std::string_view) override {
    times_us.push_back(1e6 * (monotonic_s() - begin_s));
    if (static_cast<int64_t>(times_us.size()) < most) send();
  }
  void send() {
    begin_s = monotonic_s();
    link->send(payload);
    sends_us.push_back(1e6 * (monotonic_s() - begin_s));
  }
  wire::Link* link = nullptr;
  std::string payload = std::string(100, 'x');
  int64_t most = full_or(20000, 1000);
  double begin_s = 0;
  std::vector<double> times_us;
  std::vector<double> sends_us;
};

TEST_F(WireLoadTest, ASmallFrameIsThereSoon) {
  EchoServer server(secret_);
  loop::Loop loop;
  PingPong record;
  wire::WireClient client(loop, client_options(contact_of(server.server(), secret_)), record);
  run_until(loop, [&] { return record.num_connected == 1; });
  record.link = &client.link();
  record.send();
  run_until(loop, [&] { return static_cast<int64_t>(record.times_us.size()) >= record.most; });
  std::printf("100 bytes there and back: median %.0f us, p99 %.0f us; send() median %.1f us\n",
              percentile(record.times_us, 0.5), percentile(record.times_us, 0.99),
              percentile(record.sends_us, 0.5));
}

// Random sequences of valid, almost valid and random frames, from a peer that has the key.
class RandomFrames {
 public:
  explicit RandomFrames(uint32_t seed) : random_(seed) {}

  wire::WireFrame next() {
    constexpr std::string_view kTypes = "aspqdddd";
    constexpr std::string_view kAllTypes = "hwrdaspqfg?";
    payload_.assign(random_() % 3 == 0 ? random_() % 2000 : random_() % 30, 'x');
    for (char& c : payload_) c = static_cast<char>(random_());
    wire::WireFrame out{.type = static_cast<wire::WireType>(kTypes[random_() % kTypes.size()]),
                        .payload = payload_};
    if (out.type == wire::WireType::kData) out.number = ++data_;
    if (out.type == wire::WireType::kPing) out.number = random_();
    if (out.type == wire::WireType::kSkip) out.number = data_ += random_() % 3;
    if (random_() % 50 != 0) return out;
    out.type = static_cast<wire::WireType>(kAllTypes[random_() % kAllTypes.size()]);
    out.number = random_() % 2 == 0 ? random_() : data_ + random_() % 3;
    return out;
  }
  uint32_t number() { return random_(); }
  void begin() { data_ = 0; }

 private:
  std::minstd_rand random_;
  uint64_t data_ = 0;
  std::string payload_;
};

TEST_F(WireLoadTest, RandomFramesEndOnlyTheirConnection) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  RandomFrames frames(seed);
  loop::Loop loop;
  ServerEnd server(loop, server_options(secret_));
  ClientEnd good(loop, client_options(contact_of(server.server, secret_), "good"));
  const wire::WireKey key = secret_.derive({.role = "agent", .run_id = "run-1"});
  const int64_t most = full_or(1000000, 5000);
  int64_t num_frames = 0;
  int64_t num_connections = 0;
  for (; num_frames < most; ++num_connections) {
    RawPeer peer(server.server.address(), key);
    while (!peer.is_established()) turn(loop);
    wire::LinkHello hello;
    hello.build = "build-1";
    hello.link = "random";
    hello.position.stream = std::to_string(frames.number());
    peer.send_frame({.type = wire::WireType::kHello, .payload = hello.encode()});
    frames.begin();
    while (!peer.is_closed() && num_frames < most) {
      for (int i = 0; i < 50; ++i, ++num_frames) peer.send_frame(frames.next());
      turn(loop);
    }
    server.links.erase("random");
    if (num_connections % 100 == 0) good.link().send("in between");
  }
  run_until(loop, [&] {
    return static_cast<int64_t>(server.at("good").record.frames.size()) ==
           (num_connections + 99) / 100;
  });
  EXPECT_EQ(good.record.num_connected, 1);
  std::printf("%lld random frames over %lld connections\n", static_cast<long long>(num_frames),
              static_cast<long long>(num_connections));
}

// The clients run in a separate process, because each end needs this many descriptors.
[[noreturn]] void run_clients(const wire::WireContact& contact, int64_t count) {
  loop::Loop loop;
  std::vector<std::unique_ptr<ClientEnd>> clients;
  for (int64_t i = 0; i < count; ++i) {
    wire::WireClientOptions options = client_options(contact, std::to_string(i));
    options.timeout = std::chrono::minutes(5);
    clients.push_back(std::make_unique<ClientEnd>(loop, options));
    clients.back()->link().send("here");
  }
  loop.run();
  ::_exit(0);
}

TEST_F(WireLoadTest, ManyConnectionsNeedLittleMemory) {
  const int64_t count = full_or(10000, 500);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ASSERT_GT(files.rlim_cur, static_cast<rlim_t>(count) + 100) << "ulimit -n";

  loop::Loop loop;
  ServerEnd server(loop, server_options(secret_));
  {
    ClientEnd first(loop, client_options(contact_of(server.server, secret_), "first"));
    run_until(loop, [&] { return first.record.num_connected == 1; });
  }
  const double before = resident_bytes(::getpid());
  const double begin_s = monotonic_s();
  const double begin_cpu_s = cpu_s();
  const pid_t clients = ::fork();
  if (clients == 0) run_clients(contact_of(server.server, secret_), count);
  int64_t num_arrived = 0;
  run_until(
      loop,
      [&] {
        num_arrived = 0;
        for (const auto& [name, peer] : server.links) {
          num_arrived += static_cast<int64_t>(peer->record.frames.size());
        }
        return num_arrived == count;
      },
      std::chrono::milliseconds(50), std::chrono::minutes(5));
  std::printf("%lld connections: %.2f s, %.2f s of the server's CPU\n",
              static_cast<long long>(count), monotonic_s() - begin_s, cpu_s() - begin_cpu_s);
  const double steady_s = monotonic_s();
  const double steady_cpu_s = cpu_s();
  run_for(loop, std::chrono::seconds(full_or(5, 1)));
  std::printf("heartbeats of 1 s: %.0f %% of a core\n",
              100 * (cpu_s() - steady_cpu_s) / (monotonic_s() - steady_s));
  const double bytes = resident_bytes(::getpid()) - before;
  std::printf("memory: %.1f MB for the server (%.1f KB a connection), %.1f MB for the clients\n",
              bytes / 1e6, bytes / 1e3 / static_cast<double>(count), resident_bytes(clients) / 1e6);
  EXPECT_LT(bytes, is_full_size ? 200e6 : 20e6);
  ::kill(clients, SIGKILL);
  ::waitpid(clients, nullptr, 0);
}

}  // namespace
}  // namespace rtrain

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  rtrain::is_full_size = argc == 2 && std::string_view(argv[1]) == "--full";
  return RUN_ALL_TESTS();
}
