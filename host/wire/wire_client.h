// host/wire/wire_client.h: the client's side of a link. It finds the server, connects with the key,
// says hello, and gives the connection to its link. When the connection breaks it connects again,
// until the link is closed.
//
// Thread: the loop's. No method blocks; libuv's threads resolve names.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "host/loop/poll.h"
#include "host/loop/timer.h"
#include "host/wire/contact.h"
#include "host/wire/link.h"
#include "host/wire/name_lookup.h"

namespace rtrain::wire {

struct WireClientOptions {
  // Called before each round of attempts. Nullopt: the server is not known yet; `why` is for the
  // message at the time-out. An Error ends the client at once.
  std::function<std::optional<WireContact>(std::string& why)> find;
  WireIdentity identity;
  std::string link;   // the link's name
  std::string about;  // the application's part of the hello
  std::string build;  // build_id()
  // The time for the first connection. Later ones are tried until the link is closed.
  std::chrono::milliseconds timeout{60000};
  // For one address: the time until it answers, and from then until the welcome. A server to which
  // many clients connect at once is slow.
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds handshake_timeout{20000};
  // The time between two rounds of attempts: it begins with the first and doubles up to the second.
  std::chrono::milliseconds first_backoff{50};
  std::chrono::milliseconds longest_backoff{1000};
  LinkOptions link_options = {};
};

class WireClient : private ConnectionDelegate {
 public:
  // Begins to connect at once. A failure calls LinkDelegate::on_end, with kRefused, or kUnreachable
  // and the last attempts. One that cannot pass, such as another secret, comes before the time-out.
  WireClient(loop::Loop& loop, WireClientOptions options, LinkDelegate& delegate);
  ~WireClient() override;
  WireClient(const WireClient&) = delete;
  WireClient& operator=(const WireClient&) = delete;

  Link& link() { return link_; }
  // Ends any attempt and closes the link.
  void close();

 private:
  struct Target {
    std::string host;
    int port = 0;
    bool operator==(const Target&) const = default;
  };
  struct Failure {
    std::string text;
    bool is_final;  // another attempt would fail in the same way
  };

  void begin_round();
  bool find_contact();
  void next_target();
  void lookup();
  void connect(const SocketAddress& address);
  void on_connected();
  void fail(const std::string& text, bool is_final);
  void stop_attempt();
  void end_round();
  bool is_out_of_time() const;
  bool is_hopeless() const;
  std::string what_failed() const;
  void end(LinkEnd::Kind kind, const std::string& text);

  void on_established() override;
  void on_body(std::string_view body) override;
  void on_writable() override {}
  void on_closed(const ConnectionEnd& end) override;

  loop::Loop& loop_;
  WireClientOptions options_;
  double deadline_s_;  // boot_s()
  std::chrono::milliseconds backoff_;
  std::minstd_rand random_;

  std::optional<WireContact> contact_;
  std::deque<Target> targets_;           // of this round
  Target target_;                        // of this attempt
  std::deque<SocketAddress> addresses_;  // of its name, those not yet tried
  std::string trying_;                   // for a message: the address of this attempt
  std::optional<Target> last_good_;      // the last one at which the server answered
  std::vector<Failure> failures_;        // of this round
  std::vector<Failure> last_round_;      // of the round before
  std::optional<NameLookup> lookup_;
  std::optional<loop::Poll> connecting_;
  std::unique_ptr<Connection> connection_;  // before its welcome

  Link link_;
  loop::Timer attempt_timer_;
  loop::Timer step_timer_;
  loop::Timer round_timer_;
};

}  // namespace rtrain::wire
