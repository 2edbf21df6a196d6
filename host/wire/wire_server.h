// host/wire/wire_server.h: the one port on which a run's other nodes reach it.
//
// Whoever connects proves the key (TLS), says hello, and is then given to the link that it belongs
// to, or refused with a text that it shows. Everyone else is a stranger: it gets a few seconds and
// no memory worth mentioning, and each kind of refusal is named once for each address.
//
// Belongs to the loop's thread. Without a secret it listens on loopback alone.
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
  std::string address = "127.0.0.1";  // numeric; "0.0.0.0" and "::" are all of this node's
  int port = 0;                       // 0: any that is free
  int more_ports = 16;                // tried after `port` while that is taken
  Secret secret = Secret::none();
  // Names by which a peer may ask for this run: its id, the id of its job.
  std::vector<std::string> run_ids;
  // Peers that come as that have a secret of their own, Secret::of(), not the run's.
  std::string guest_role = {};
  std::string build;                          // build_id() of peers; "" accepts any
  std::chrono::milliseconds handshake{5000};  // from the connection to the hello
  size_t max_half_open = 256;                 // connections before their hello
};

// A peer that has proved its key.
struct WirePeer {
  SocketAddress address;
  std::string role;  // as what it has come: part of its key
  std::string run_id;
};

// The answer to a hello: the link that the connection belongs to, or why there is none.
struct Admission {
  Link* link = nullptr;
  std::string refusal;
};

class WireServerDelegate {
 public:
  virtual ~WireServerDelegate() = default;
  // Version and build of the hello fit. The delegate finds the link named `hello.link`, or makes
  // it; the server does not own it.
  virtual Admission on_hello(const WirePeer& peer, const LinkHello& hello) = 0;
  // A connection was refused: "10.0.0.7: its key is another one". Once for each address and kind.
  virtual void on_refused(const std::string& text) = 0;
};

class WireServer {
 public:
  // Listens from here on. Throws Error(kConfig) for an address that is not numeric, and for one
  // beyond loopback without a secret; Error(kEnvironment) when no port can be had.
  WireServer(loop::Loop& loop, WireServerOptions options, WireServerDelegate& delegate);
  ~WireServer();
  WireServer(const WireServer&) = delete;
  WireServer& operator=(const WireServer&) = delete;

  // Where it listens, with the port that it got.
  const SocketAddress& address() const { return address_; }
  // Peers may also ask for this run.
  void add_run_id(std::string run_id) { options_.run_ids.push_back(std::move(run_id)); }
  // Accepts no connection from here on; links keep theirs.
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
  std::set<std::pair<std::string, Refused>> named_;   // refusals of each node
  std::optional<loop::Poll> listener_;
  loop::TurnEnd turn_end_;
  loop::Timer sweep_timer_;
};

}  // namespace rtrain::wire
