// tests/unit/wire_ends.h: both ends of a link in one loop, over loopback.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/wire/wire_client.h"
#include "host/wire/wire_server.h"

namespace rtrain {

// Records the calls that a link makes to its owner.
struct LinkRecord : wire::LinkDelegate {
  void on_frame(std::string_view payload) override { frames.emplace_back(payload); }
  void on_connected() override { ++num_connected; }
  void on_disconnected(const std::string& reason) override { disconnections.push_back(reason); }
  void on_peer_restarted() override { ++num_restarts; }
  void on_full(bool is_full) override { full.push_back(is_full); }
  void on_end(const wire::LinkEnd& how) override { end = how; }

  std::vector<std::string> frames;
  int num_connected = 0;
  std::vector<std::string> disconnections;
  int num_restarts = 0;
  std::vector<bool> full;
  std::optional<wire::LinkEnd> end;
};

// A server that creates a link for each name that asks, unless `refusal` is set.
struct ServerEnd : wire::WireServerDelegate {
  struct Peer {
    Peer(loop::Loop& loop, const std::string& name, const wire::LinkOptions& options)
        : link(loop, name, options, record) {}
    LinkRecord record;
    wire::Link link;
  };

  ServerEnd(loop::Loop& loop, wire::WireServerOptions options)
      : loop(loop), server(loop, std::move(options), *this) {}

  wire::Admission on_hello(const wire::WirePeer& peer, const wire::LinkHello& hello) override {
    peers.push_back(peer);
    abouts.push_back(hello.about);
    if (!refusal.empty()) return {.link = nullptr, .refusal = refusal};
    auto& entry = links[hello.link];
    if (!entry) entry = std::make_unique<Peer>(loop, hello.link, link_options);
    return {.link = &entry->link, .refusal = ""};
  }
  void on_refused(const std::string& text) override { refused.push_back(text); }
  Peer& at(const std::string& name) { return *links.at(name); }

  loop::Loop& loop;
  wire::LinkOptions link_options;
  std::string refusal;
  std::vector<wire::WirePeer> peers;
  std::vector<std::string> abouts;
  std::vector<std::string> refused;
  std::map<std::string, std::unique_ptr<Peer>> links;
  wire::WireServer server;
};

inline wire::WireServerOptions server_options(const wire::Secret& secret) {
  return {.secret = secret, .run_ids = {"run-1"}, .build = "build-1"};
}

inline wire::WireClientOptions client_options(const wire::WireContact& contact,
                                              const std::string& link = "a") {
  return {.find = [contact](std::string&) { return contact; },
          .identity = {.role = "agent", .run_id = "run-1"},
          .link = link,
          .about = "about",
          .build = "build-1",
          .timeout = std::chrono::milliseconds(10000)};
}

// Returns where the server listens.
inline wire::WireContact contact_of(const wire::WireServer& server, const wire::Secret& secret) {
  return {.hosts = {"127.0.0.1"}, .port = server.address().port(), .secret = secret};
}

struct ClientEnd {
  ClientEnd(loop::Loop& loop, wire::WireClientOptions options)
      : client(loop, std::move(options), record) {}
  wire::Link& link() { return client.link(); }
  LinkRecord record;
  wire::WireClient client;
};

}  // namespace rtrain
