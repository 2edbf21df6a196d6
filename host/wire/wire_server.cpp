#include "host/wire/wire_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/wire/listener.h"

namespace rtrain::wire {
namespace {

constexpr int kAcceptsARound = 64;
constexpr std::chrono::milliseconds kBetweenSweeps{50};
// While other connections wait for a place, one that has had no hello for this part of its time is
// closed.
constexpr int kFairPart = 5;
// The time that a refused peer has to read the reason.
constexpr double kFarewellS = 1;
constexpr size_t kMostNamed = 1000;

// Makes one line of limited length from bytes that any peer may have sent.
std::string short_text(std::string_view text) {
  constexpr size_t kMost = 80;
  return cat("'", terminal_line(text.substr(0, kMost)), text.size() > kMost ? "…'" : "'");
}

SocketAddress checked_address(const WireServerOptions& options) {
  const auto address = SocketAddress::parse(options.address, options.port);
  if (!address) {
    throw Error(Code::kConfig,
                cat("'", options.address, "' is not a numeric address to listen at"));
  }
  if (!options.secret.is_given() && !address->is_loopback()) {
    throw Error(Code::kConfig, cat("cannot listen at ", options.address,
                                   " without a secret: set RTRAIN_SECRET or RTRAIN_SECRET_FILE"));
  }
  return *address;
}

}  // namespace

enum class WireServer::Refused { kTls, kKey, kRun, kBroken, kSlow, kLeft, kHello, kDelegate };

class WireServer::Candidate : public ConnectionDelegate {
 public:
  Candidate(WireServer& server, Fd socket)
      : server_(server),
        connection_(std::make_unique<Connection>(
            server.loop_, std::move(socket),
            [&server](std::string_view identity) { return server.find_key(identity); }, *this)),
        fair_s_(monotonic_s() + server.handshake_s() / kFairPart),
        deadline_s_(monotonic_s() + server.handshake_s()) {}

  void on_established() override {}
  void on_writable() override {}
  void on_body(std::string_view body) override { server_.admit(*this, body); }
  void on_closed(const ConnectionEnd& end) override {
    const auto [kind, text] = refusal_of(end);
    refuse(kind, text);
  }

  // Refuses the peer. Bytes that were written to it, such as an alert, are still sent.
  void refuse(Refused kind, const std::string& text) {
    if (!connection_) return;
    server_.name_refusal(connection_->far().host(), kind, text);
    connection_->close_after_flush();
    deadline_s_ = std::min(deadline_s_, monotonic_s() + kFarewellS);
    server_.turn_end_.ask();
  }
  void refuse_with_text(Refused kind, const std::string& text) {
    std::string frame;
    WireFrame{.type = WireType::kRefusal, .payload = text}.add_to(frame);
    connection_->write(frame);
    refuse(kind, text);
  }

  Connection& connection() { return *connection_; }
  std::unique_ptr<Connection> take_connection() {
    server_.turn_end_.ask();
    return std::move(connection_);
  }
  bool is_over() const { return !connection_ || connection_->is_closed(); }
  bool has_had_its_share() const { return monotonic_s() >= fair_s_; }

  void check_deadline(double now_s) {
    if (is_over() || now_s < deadline_s_) return;
    if (connection_->is_open()) refuse(Refused::kSlow, "it has said no hello in time");
    connection_->close();
  }

 private:
  std::pair<Refused, std::string> refusal_of(const ConnectionEnd& end) const {
    if (end.kind == ConnectionEnd::Kind::kBadFrame) return {Refused::kHello, end.text};
    if (end.kind == ConnectionEnd::Kind::kLost) return {Refused::kLeft, "it left without a hello"};
    switch (end.tls) {
      case TlsFailure::kNotTls:
        return {Refused::kTls, cat("it does not speak TLS 1.3 (", end.text, ")")};
      case TlsFailure::kNoKey:
        return {Refused::kTls, "it has no key of a run"};
      case TlsFailure::kUnknownRun:
        return {Refused::kRun, cat("it asks for ", short_text(connection_->identity()),
                                   ", which is not served here")};
      case TlsFailure::kWrongKey:
        return {Refused::kKey, "its secret is another one"};
      default:
        return {Refused::kBroken, cat("its handshake is damaged or recorded (", end.text, ")")};
    }
  }

  WireServer& server_;
  std::unique_ptr<Connection> connection_;
  double fair_s_;
  double deadline_s_;
};

WireServer::WireServer(loop::Loop& loop, WireServerOptions options, WireServerDelegate& delegate)
    : loop_(loop),
      options_(std::move(options)),
      delegate_(delegate),
      turn_end_(loop, [this] { sweep(); }),
      sweep_timer_(loop, [this] { sweep(); }) {
  tls_api();  // loads the library now, so that its absence is an error here
  Fd fd = listen_at(checked_address(options_), options_.more_ports);
  address_ = SocketAddress::near(fd.get());
  listener_.emplace(loop, fd.release(), [this](int) { accept(); });
  listener_->start(UV_READABLE);
}

WireServer::~WireServer() = default;

double WireServer::handshake_s() const {
  return std::chrono::duration<double>(options_.handshake).count();
}

void WireServer::close() {
  listener_->close();
  for (const auto& candidate : candidates_) {
    if (!candidate->is_over()) candidate->connection().close();
  }
}

void WireServer::accept() {
  for (int i = 0; i < kAcceptsARound; ++i) {
    if (!make_place()) return listener_->stop();
    Fd socket(::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) {
      candidates_.push_back(std::make_unique<Candidate>(*this, std::move(socket)));
      if (!sweep_timer_.is_active()) sweep_timer_.start(kBetweenSweeps);
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // Out of descriptors or memory: the connection stays in the kernel's queue until the sweep.
    listener_->stop();
    if (!sweep_timer_.is_active()) sweep_timer_.start(kBetweenSweeps);
    return;
  }
}

// Whether another connection may be accepted; may close an idle one. Others wait in the kernel.
bool WireServer::make_place() {
  if (candidates_.size() < options_.max_half_open) return true;
  Candidate& oldest = *candidates_.front();
  if (!oldest.has_had_its_share()) return false;
  if (!oldest.is_over()) {
    oldest.refuse(Refused::kSlow, "it has said no hello while others wait");
    oldest.connection().close();
  }
  candidates_.pop_front();
  return true;
}

std::optional<WireKey> WireServer::find_key(std::string_view identity) const {
  const auto asked = WireIdentity::parse(identity);
  const auto& ids = options_.run_ids;
  if (!asked || std::find(ids.begin(), ids.end(), asked->run_id) == ids.end()) return std::nullopt;
  if (asked->role == options_.guest_role) return options_.secret.of(*asked).derive(*asked);
  return options_.secret.derive(*asked);
}

void WireServer::admit(Candidate& candidate, std::string_view body) {
  const WireFrame frame = WireFrame::parse(body);
  if (frame.type != WireType::kHello)
    throw Error(Code::kArgument, "its first frame is not a hello");
  LinkHello hello;
  try {
    hello = LinkHello::decode(frame.payload);
  } catch (const Error& e) {
    return candidate.refuse_with_text(Refused::kHello, e.message());
  }
  if (!options_.build.empty() && hello.build != options_.build) {
    return candidate.refuse_with_text(
        Refused::kHello,
        cat("the client runs the build ", short_text(hello.build), " of rtrain, the server ",
            options_.build, ": run the same rtrain on all nodes"));
  }
  auto identity = WireIdentity::parse(candidate.connection().identity());
  Admission admission = delegate_.on_hello(
      {candidate.connection().far(), std::move(identity->role), std::move(identity->run_id)},
      hello);
  if (admission.link == nullptr) {
    return candidate.refuse_with_text(Refused::kDelegate, admission.refusal);
  }
  Link& link = *admission.link;
  if (const auto misfit = link.accept(hello.position)) {
    return candidate.refuse_with_text(Refused::kDelegate, *misfit);
  }
  std::string welcome;
  WireFrame{.type = WireType::kWelcome, .payload = LinkWelcome{link.position()}.encode()}.add_to(
      welcome);
  candidate.connection().write(welcome);
  link.attach(candidate.take_connection());
}

void WireServer::name_refusal(const std::string& host, Refused kind, const std::string& text) {
  if (named_.size() > kMostNamed || !named_.emplace(host, kind).second) return;
  if (named_.size() <= kMostNamed) return delegate_.on_refused(cat(host, ": ", text));
  delegate_.on_refused(cat(kMostNamed, " refusals were named; further ones are not"));
}

void WireServer::sweep() {
  const double now_s = monotonic_s();
  for (const auto& candidate : candidates_) candidate->check_deadline(now_s);
  candidates_.remove_if([](const auto& candidate) { return candidate->is_over(); });
  if (!candidates_.empty() && !sweep_timer_.is_active()) sweep_timer_.start(kBetweenSweeps);
  if (candidates_.size() < options_.max_half_open || candidates_.front()->has_had_its_share()) {
    listener_->start(UV_READABLE);
  }
}

}  // namespace rtrain::wire
