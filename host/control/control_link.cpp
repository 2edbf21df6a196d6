#include <deque>

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/control/control_way.h"
#include "host/loop/loop.h"
#include "host/loop/timer.h"
#include "host/machine/processes/build_id.h"
#include "host/node/operator_links.h"
#include "host/wire/rendezvous.h"
#include "host/wire/wire_client.h"

namespace rtrain::control {
namespace {

constexpr std::chrono::seconds kConnectTime{10};

class ControlLink : public ControlWay, private wire::LinkDelegate {
 public:
  ControlLink(const wire::WireContact& contact, const std::string& run_id)
      : client_(loop_,
                {.find = [contact](std::string&) { return contact; },
                 .identity =
                     wire::WireIdentity{.role = std::string(node::kOperatorRole), .run_id = run_id},
                 .link = cat("operator-", random_hex(8)),
                 .about = "",
                 .build = std::string(machine::build_id()),
                 .timeout = kConnectTime},
                *this) {
    wait([this] { return is_connected_; }, 2 * kConnectTime);
    if (is_connected_) return;
    const std::string reason = end_ ? end_->text : "it does not answer";
    throw Error(Code::kEnvironment, reason);
  }

  bool send(const Value& request) override {
    if (end_) return false;
    client_.link().send(encode(request));
    return true;
  }

  Read read(std::chrono::milliseconds timeout, Value& message) override {
    wait([this] { return !replies_.empty(); }, timeout);
    if (replies_.empty()) return end_ ? Read::kEnd : Read::kTimeout;
    message = std::move(replies_.front());
    replies_.pop_front();
    return Read::kMessage;
  }

  std::optional<int> pid() const override { return std::nullopt; }

 private:
  // Runs the loop until the condition holds, the link has ended, or the time has passed.
  template <class Condition>
  void wait(Condition is_so, std::chrono::milliseconds timeout) {
    bool is_late = false;
    loop::Timer late(loop_, [&] {
      is_late = true;
      loop_.stop();
    });
    late.start(timeout);
    while (!is_so() && !end_ && !is_late) loop_.run();
  }

  void on_frame(std::string_view payload) override {
    replies_.push_back(decode(payload));
    loop_.stop();
  }
  void on_connected() override {
    is_connected_ = true;
    loop_.stop();
  }
  // A lost connection counts as the end of the run, as with a socket.
  void on_disconnected(const std::string& reason) override {
    client_.close();
    on_end({wire::LinkEnd::Kind::kFinished, reason});
  }
  void on_peer_restarted() override {}
  void on_full(bool) override {}
  void on_end(const wire::LinkEnd& end) override {
    end_ = end;
    loop_.stop();
  }

  loop::Loop loop_;
  bool is_connected_ = false;
  std::deque<Value> replies_;
  std::optional<wire::LinkEnd> end_;
  wire::WireClient client_;
};

}  // namespace

std::unique_ptr<ControlWay> control_link(const std::string& run_path, const std::string& run_id) {
  const wire::Rendezvous contact(node::OperatorLinks::contact_path(run_path), run_id);
  std::string why;
  auto found = contact.find(why);
  if (found) found->may_change = false;  // no other controller is to be waited for
  return found ? std::make_unique<ControlLink>(*found, run_id) : nullptr;
}

}  // namespace rtrain::control
