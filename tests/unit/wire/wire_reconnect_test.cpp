// Links over breaking connections: no frame is lost, duplicated or out of order.
#include <gtest/gtest.h>

#include <random>

#include "host/base/codec/hash.h"
#include "tests/unit/cutting_proxy.h"
#include "tests/unit/run_until.h"
#include "tests/unit/wire_ends.h"

namespace rtrain::wire {
namespace {

using Break = CuttingProxy::Break;

// Returns the n-th frame of a random sequence that both sides know.
class Frames {
 public:
  explicit Frames(uint64_t seed) : seed_(seed) {}
  std::string at(uint64_t n) const {
    std::minstd_rand random(static_cast<uint32_t>(hash64(std::to_string(seed_ + n))));
    const bool is_large = random() % 100 == 0;
    std::string out(random() % (is_large ? 60000 : 200), '\0');
    const auto first = static_cast<char>(random());
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(first + i);
    return std::to_string(n) + ":" + out;
  }

 private:
  uint64_t seed_;
};

// Compares the frames that arrive with the expected ones.
struct Checker : LinkRecord {
  explicit Checker(uint64_t seed) : expected(seed) {}
  void on_frame(std::string_view payload) override {
    if (payload != expected.at(count)) ++num_wrong;
    ++count;
  }
  Frames expected;
  uint64_t count = 0;
  uint64_t num_wrong = 0;
};

// A client and a server with one link, and the proxy that breaks their connections.
class Breaking : WireServerDelegate {
 public:
  // `deadline`: after this time without an answer or a byte a side takes its connection as broken.
  Breaking(uint64_t seed, std::vector<Break> kinds, std::chrono::milliseconds deadline)
      : kinds_(std::move(kinds)),
        seed_(seed),
        random_(static_cast<uint32_t>(seed)),
        near_(seed + 1),
        far_(seed) {
    LinkOptions options{.heartbeat = std::chrono::milliseconds(20), .silence = deadline};
    far_link_.emplace(loop_, "a", options, far_);
    WireClientOptions client = client_options(
        {.hosts = {"127.0.0.1"}, .port = proxy_.port(), .more_ports = 0, .secret = secret_});
    client.first_backoff = std::chrono::milliseconds(0);
    client.longest_backoff = std::chrono::milliseconds(0);
    client.timeout = std::chrono::seconds(30);
    client.connect_timeout = client.handshake_timeout = deadline;
    client.link_options = options;
    client_.emplace(loop_, client, near_);
  }

  // Both sides send until this many connections have broken; then everything must arrive.
  void run(int num_breaks) {
    loop::Timer sends(loop_, [&] {
      send_some(client_->link(), seed_, sent_near_);
      send_some(*far_link_, seed_ + 1, sent_far_);
      sends.start(std::chrono::milliseconds(1));
    });
    sends.start(std::chrono::milliseconds(0));
    // Applies the time limit to every ten breaks: all of them together can take long on a busy
    // machine.
    while (proxy_.num_breaks() < num_breaks && !::testing::Test::HasFailure()) {
      run_until(loop_,
                [&, next = proxy_.num_breaks() + 10] { return proxy_.num_breaks() >= next; });
    }
    sends.stop();
    breaks_ = false;
    run_until(loop_, [&] { return near_.count >= sent_far_ && far_.count >= sent_near_; });
    EXPECT_EQ(near_.count, sent_far_);
    EXPECT_EQ(far_.count, sent_near_);
    EXPECT_EQ(near_.num_wrong + far_.num_wrong, 0U);
    EXPECT_EQ(near_.num_restarts + far_.num_restarts, 0);
    EXPECT_FALSE(near_.end || far_.end);
  }

 private:
  Admission on_hello(const WirePeer&, const LinkHello&) override {
    return {.link = &*far_link_, .refusal = ""};
  }
  void on_refused(const std::string&) override {}

  void send_some(Link& link, uint64_t seed, uint64_t& sent) {
    if (link.is_full()) return;
    for (auto n = random_() % 20; n > 0; --n) link.send(Frames(seed).at(sent++));
  }

  // Breaks the connection anywhere between the first byte of the handshake and far behind the
  // hello.
  CuttingProxy::Plan next_plan() {
    if (!breaks_) return {.bytes = UINT64_MAX, .how = Break::kClose};
    // The first handshake stays intact: damage would look like a wrong secret, which ends a client.
    if (near_.num_connected == 0) return {.bytes = 10000, .how = Break::kClose};
    constexpr std::array kScales = {1000U, 3000U, 100000U};
    return {.bytes = random_() % kScales[random_() % kScales.size()],
            .how = kinds_[random_() % kinds_.size()]};
  }

  std::vector<Break> kinds_;
  uint64_t seed_;
  std::minstd_rand random_;
  bool breaks_ = true;
  uint64_t sent_near_ = 0;
  uint64_t sent_far_ = 0;
  loop::Loop loop_;
  Secret secret_ = Secret::generate();
  Checker near_;
  Checker far_;
  WireServer server_{loop_, server_options(secret_), *this};
  CuttingProxy proxy_{loop_, server_.address(), [this] { return next_plan(); }};
  std::optional<Link> far_link_;
  std::optional<WireClient> client_;
};

class WireReconnect : public ::testing::Test {
 protected:
  uint64_t seed_ = std::random_device()();
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
};

// Both sides notice these faults immediately: the deadline is longer than the test may take, so it
// ends no connection, however slow the machine is.
TEST_F(WireReconnect, FramesArriveOnceAndInOrderWhereverConnectionsEnd) {
  Breaking(seed_, {Break::kClose, Break::kReset}, std::chrono::seconds(60)).run(2000);
}

// Neither side notices these faults immediately; both wait for the deadline.
TEST_F(WireReconnect, FramesArriveOnceAndInOrderWhenBytesAreDamagedOrNothingComes) {
  Breaking(seed_, {Break::kDamage, Break::kDamage, Break::kSilence}, std::chrono::milliseconds(300))
      .run(25);
}

}  // namespace
}  // namespace rtrain::wire
