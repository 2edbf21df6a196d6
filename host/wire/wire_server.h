// host/wire/wire_server.h: the port to which a run's other nodes connect.
//
// A client shows in the TLS handshake that it has the key, and says hello. Then the server gives
// the connection to its link, or refuses it with a text that the client shows. Before the hello a
// connection gets little time and memory. Each kind of refusal is reported once for each address.
//
// Thread: the loop's. Without a secret it listens on loopback only.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/loop/timer.h"
#include "host/loop/turn_end.h"
#include "host/wire/link.h"
#include "host/wire/secret.h"

namespace rtrain::wire {

struct WireServerOptions {
  std::string address = "127.0.0.1";  // numeric; "0.0.0.0" and "::": all of this node
  int port = 0;                       // 0: any free port
  int more_ports = 16;                // next ports to try when `port` is in use
  Secret secret = Secret::none();
  // The ids that a peer's identity may have: that of the run, that of its job.
  std::vector<std::string> run_ids;
  // Peers with this role have a secret of their own, Secret::of(), instead of the run's.
  std::string guest_role = {};
  std::string build;                          // build_id() of peers; "" accepts any
  std::chrono::milliseconds handshake{5000};  // from the connection to the hello
  size_t max_half_open = 256;                 // connections before their hello
};

// A peer that has the key.
struct WirePeer {
  SocketAddress address;
  std::string role;  // from its identity, which its key depends on
  std::string run_id;
};

// The answer to a hello: the link of the connection, or the reason of a refusal.
struct Admission {
  Link* link = nullptr;
  std::string refusal;
};

class WireServerDelegate {
 public:
  virtual ~WireServerDelegate() = default;
  // A hello has come; its version and build match. Returns the link with the name `hello.link`,
  // which the delegate may create; the server does not own it.
  virtual Admission on_hello(const WirePeer& peer, const LinkHello& hello) = 0;
  // A connection was refused: "10.0.0.7: its key is another one". Once for each address and kind.
  virtual void on_refused(const std::string& text) = 0;
};

class WireServer {
 public:
  // Begins to listen. Throws Error(kConfig) for an address that is not numeric, and without a
  // secret for one that is not loopback; Error(kEnvironment) when no port is free.
  WireServer(loop::Loop& loop, WireServerOptions options, WireServerDelegate& delegate);
  ~WireServer();
  WireServer(const WireServer&) = delete;
  WireServer& operator=(const WireServer&) = delete;

  // The address at which it listens, with its port.
  const SocketAddress& address() const { return address_; }
  // Adds to WireServerOptions::run_ids.
  void add_run_id(std::string run_id) { options_.run_ids.push_back(std::move(run_id)); }
  // Accepts no more connections; links keep theirs.
  void close();

 private:
  class Candidate;  // a connection before its hello
  enum class Refused;
  double handshake_s() const;
  void accept();
  bool make_place();
  std::optional<WireKey> find_key(std::string_view identity) const;
  void admit(Candidate& candidate, std::string_view body);
  void name_refusal(const std::string& host, Refused kind, const std::string& text);
  void sweep();

  loop::Loop& loop_;
  WireServerOptions options_;
  WireServerDelegate& delegate_;
  SocketAddress address_;
  std::list<std::unique_ptr<Candidate>> candidates_;  // the oldest first
  std::set<std::pair<std::string, Refused>> named_;   // refusals that were reported, by node
  std::optional<loop::Poll> listener_;
  loop::TurnEnd turn_end_;
  loop::Timer sweep_timer_;
};

}  // namespace rtrain::wire
