#include "host/wire/wire_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::wire {
namespace {

// The text of a failure, and whether it is final: another attempt would fail in the same way.
std::pair<std::string, bool> failure_of(const ConnectionEnd& end) {
  if (end.kind == ConnectionEnd::Kind::kLost) return {end.text, false};
  if (end.kind == ConnectionEnd::Kind::kBadFrame) {
    return {cat("what listens there does not answer as rtrain does: ", end.text), true};
  }
  switch (end.tls) {
    case TlsFailure::kNotTls:
    case TlsFailure::kNoKey:
      return {cat("what listens there is not rtrain (", end.text, ")"), true};
    case TlsFailure::kUnknownRun:
      return {"what listens there serves another run", true};
    case TlsFailure::kWrongKey:
      return {
          "it has another secret: compare RTRAIN_SECRET, RTRAIN_SECRET_FILE or the rendezvous file "
          "of both nodes",
          true};
    default:
      return {cat("the handshake failed: ", end.text), false};
  }
}

}  // namespace

WireClient::WireClient(loop::Loop& loop, WireClientOptions options, LinkDelegate& delegate)
    : loop_(loop),
      options_(std::move(options)),
      deadline_s_(boot_s() + std::chrono::duration<double>(options_.timeout).count()),
      backoff_(options_.first_backoff),
      random_(std::random_device()()),
      link_(loop, options_.link, options_.link_options, delegate),
      attempt_timer_(loop, [this] { fail("no answer in time", false); }),
      step_timer_(loop, [this] { next_target(); }),
      round_timer_(loop, [this] { begin_round(); }) {
  link_.set_redial([this] {
    failures_.clear();
    backoff_ = options_.first_backoff;
    end_round();
  });
  round_timer_.start(std::chrono::milliseconds(0));
}

WireClient::~WireClient() = default;

void WireClient::close() {
  stop_attempt();
  step_timer_.stop();
  round_timer_.stop();
  link_.close();
}

void WireClient::begin_round() {
  if (link_.is_closed()) return;
  if (is_out_of_time()) return end(LinkEnd::Kind::kUnreachable, what_failed());
  last_round_ = std::exchange(failures_, {});
  targets_.clear();
  addresses_.clear();
  if (!find_contact()) return end_round();
  for (const std::string& host : contact_->hosts) {
    for (int i = 0; i <= contact_->more_ports; ++i) targets_.push_back({host, contact_->port + i});
  }
  // Tries the last known server first.
  std::stable_partition(targets_.begin(), targets_.end(),
                        [this](const Target& target) { return target == last_good_; });
  next_target();
}

bool WireClient::find_contact() {
  std::string why;
  bool is_final = false;
  std::optional<WireContact> found;
  try {
    found = options_.find(why);
  } catch (const Error& e) {
    why = e.message();
    is_final = true;
  }
  if (!found) failures_.push_back({why, is_final});
  // Without a new contact it tries the old one: a file on a shared disk may vanish for a time.
  if (found || !last_good_) contact_ = std::move(found);
  return contact_.has_value();
}

void WireClient::next_target() {
  stop_attempt();
  connection_.reset();
  if (link_.is_closed()) return;
  if (is_out_of_time()) return end_round();
  if (!addresses_.empty()) {
    const SocketAddress address = addresses_.front();
    addresses_.pop_front();
    return connect(address);
  }
  if (targets_.empty()) return end_round();
  target_ = targets_.front();
  targets_.pop_front();
  if (const auto address = SocketAddress::parse(target_.host, target_.port)) {
    return connect(*address);
  }
  lookup();
}

void WireClient::lookup() {
  trying_ = cat(target_.host, ":", target_.port);
  attempt_timer_.start(options_.connect_timeout);
  lookup_.emplace(loop_, target_.host, target_.port,
                  [this](std::vector<SocketAddress> found, const std::string& error) {
                    if (found.empty()) return fail(cat("the name has no address: ", error), false);
                    addresses_.assign(found.begin(), found.end());
                    next_target();
                  });
}

void WireClient::connect(const SocketAddress& address) {
  trying_ = address.text();
  attempt_timer_.start(options_.connect_timeout);
  if (!contact_->secret.is_given() && !address.is_loopback()) {
    return fail(
        "without a secret only this node can be reached: set RTRAIN_SECRET or "
        "RTRAIN_SECRET_FILE",
        true);
  }
  Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return fail(std::strerror(errno), false);
  const int status = ::connect(socket.get(), address.get(), address.size()) == 0 ? 0 : errno;
  if (status != 0 && status != EINPROGRESS) return fail(std::strerror(status), false);
  connecting_.emplace(loop_, socket.release(), [this](int) { on_connected(); });
  connecting_->start(UV_WRITABLE);
}

void WireClient::on_connected() {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(connecting_->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return fail(std::strerror(error), false);
  Fd socket(connecting_->release());
  connecting_.reset();
  attempt_timer_.start(options_.handshake_timeout);
  connection_.reset(
      new Connection(loop_, std::move(socket), contact_->secret.derive(options_.identity), *this));
}

void WireClient::on_established() {
  const LinkHello hello{.build = options_.build,
                        .link = link_.name(),
                        .about = options_.about,
                        .position = link_.position()};
  std::string frame;
  WireFrame{.type = WireType::kHello, .payload = hello.encode()}.add_to(frame);
  connection_->write(frame);
  connection_->flush();
}

void WireClient::on_body(std::string_view body) {
  const WireFrame frame = WireFrame::parse(body);
  if (frame.type == WireType::kRefusal) {
    return end(LinkEnd::Kind::kRefused, std::string(frame.payload));
  }
  if (frame.type != WireType::kWelcome) throw Error(Code::kArgument, "its answer is not a welcome");
  if (const auto misfit = link_.accept(LinkWelcome::decode(frame.payload).position)) {
    return end(LinkEnd::Kind::kBroken, *misfit);
  }
  stop_attempt();
  last_good_ = target_;
  link_.attach(std::move(connection_));
}

void WireClient::on_closed(const ConnectionEnd& end) {
  const auto [text, is_final] = failure_of(end);
  fail(text, is_final);
}

void WireClient::end(LinkEnd::Kind kind, const std::string& text) {
  stop_attempt();
  if (connection_) connection_->close();
  link_.end({.kind = kind, .text = text});
}

// The loop does the rest, since a connection must not be destroyed in its own callback.
void WireClient::fail(const std::string& text, bool is_final) {
  failures_.push_back({cat(trying_, ": ", text), is_final});
  stop_attempt();
  if (connection_) connection_->close();
  step_timer_.start(std::chrono::milliseconds(0));
}

void WireClient::stop_attempt() {
  attempt_timer_.stop();
  connecting_.reset();
  lookup_.reset();
}

void WireClient::end_round() {
  if (link_.is_closed()) return;
  if (is_out_of_time() || (!last_good_ && is_hopeless())) {
    return end(LinkEnd::Kind::kUnreachable, what_failed());
  }
  // A random time, so that many clients that lose their server do not all connect at the same time.
  const auto most = backoff_.count();
  round_timer_.start(std::chrono::milliseconds(
      std::uniform_int_distribution<std::chrono::milliseconds::rep>(most / 2, most)(random_)));
  backoff_ = std::min(2 * backoff_, options_.longest_backoff);
}

bool WireClient::is_hopeless() const {
  if (failures_.empty() || (contact_ && contact_->may_change)) return false;
  return std::all_of(failures_.begin(), failures_.end(),
                     [](const Failure& failure) { return failure.is_final; });
}

bool WireClient::is_out_of_time() const { return !last_good_ && boot_s() >= deadline_s_; }

// The failures of the last complete round; the time-out may have cut short the present one. First
// come those of servers that answered, which tell most.
std::string WireClient::what_failed() const {
  constexpr size_t kMost = 3;
  const auto& failures = failures_.size() < last_round_.size() ? last_round_ : failures_;
  std::vector<std::string> texts;
  for (const bool is_final : {true, false}) {
    for (const Failure& failure : failures) {
      if (failure.is_final == is_final) texts.push_back(failure.text);
    }
  }
  const size_t num_more = texts.size() - std::min(texts.size(), kMost);
  texts.resize(texts.size() - num_more);
  const std::chrono::duration<double> timeout = options_.timeout;
  return cat(is_out_of_time() ? cat("no connection within ", format_double(timeout.count()), " s: ")
                              : "no connection: ",
             join(texts, "; "), num_more > 0 ? cat("; and ", num_more, " more") : "");
}

}  // namespace rtrain::wire
