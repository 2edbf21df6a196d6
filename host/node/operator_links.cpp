#include "host/node/operator_links.h"

#include <algorithm>
#include <utility>

#include "host/base/codec/codec.h"
#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/loop/loop.h"

namespace rtrain::node {
namespace {

constexpr std::chrono::seconds kFinishTime{5};

// Replaces an answer that exceeds a frame by an error.
std::string encode_reply(const Value& reply) {
  std::string out = encode(reply);
  if (out.size() <= wire::kMaxPayloadBytes) return out;
  const Error error(Code::kUnsupported,
                    cat("the answer has ", out.size(), " bytes, more than a message may have (",
                        wire::kMaxPayloadBytes, "): ask for one rank alone"));
  return encode(Map{{"error", error_to_value(error)}});
}

}  // namespace

class OperatorLinks::Peer : public wire::LinkDelegate, public std::enable_shared_from_this<Peer> {
 public:
  Peer(OperatorLinks& owner, const std::string& name)
      : owner_(owner), link_(owner.loop_, name, {}, *this) {}

  wire::Link& link() { return link_; }

  void on_frame(std::string_view payload) override {
    owner_.on_request_(decode(payload),
                       [&loop = owner_.loop_, weak = weak_from_this()](const Value& reply) {
                         loop.post([weak, bytes = encode_reply(reply)] {
                           const auto peer = weak.lock();
                           if (peer && !peer->link_.is_closed()) peer->link_.send(bytes);
                         });
                       });
  }
  void on_connected() override {}
  // A command whose connection was lost does not reconnect.
  void on_disconnected(const std::string&) override { link_.close(); }
  void on_peer_restarted() override {}
  void on_full(bool) override {}
  void on_end(const wire::LinkEnd&) override {}

 private:
  OperatorLinks& owner_;
  wire::Link link_;
};

OperatorLinks::OperatorLinks(loop::Loop& loop, OnRequest on_request)
    : loop_(loop), on_request_(std::move(on_request)) {}

OperatorLinks::~OperatorLinks() = default;

std::string OperatorLinks::contact_path(const std::string& run_path) {
  return cat(run_path, "/.controller");
}

wire::Link& OperatorLinks::link(const std::string& name) {
  peers_.remove_if([](const auto& peer) { return peer->link().is_closed(); });
  const auto known = std::find_if(peers_.begin(), peers_.end(),
                                  [&](const auto& peer) { return peer->link().name() == name; });
  if (known != peers_.end()) return (*known)->link();
  return peers_.emplace_back(std::make_shared<Peer>(*this, name))->link();
}

void OperatorLinks::finish() {
  for (const auto& peer : peers_) {
    if (!peer->link().is_closed()) peer->link().finish(kFinishTime, [](uint64_t) {});
  }
}

}  // namespace rtrain::node
