#include "host/worker/status_endpoint.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "host/base/error.h"
#include "host/base/files/sealed_file.h"
#include "host/base/random.h"
#include "host/base/secrets.h"
#include "host/base/text/text.h"
#include "host/http/http_response.h"

namespace rtrain::worker {
namespace {

constexpr int kTokenDigits = 32;
constexpr size_t kMaxConnections = 16;
constexpr size_t kMostWaiting = 64;
// The path to which a trainer of Kubeflow posts. The namespace and name in it are not used.
constexpr const char* kPath =
    "/apis/trainer.kubeflow.org/v1alpha1/namespaces/rtrain/trainjobs/run/status";

}  // namespace

StatusEndpoint::StatusEndpoint()
    : token_(random_hex(kTokenDigits)),
      token_file_(sealed_file("rtrain-status-token", token_, "the token of a status endpoint")),
      waiting_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!waiting_fd_.is_open()) {
    throw Error(Code::kEnvironment, "cannot make a status endpoint: no descriptor is free");
  }
  http::HttpPortDelegate& delegate = *this;
  port_.emplace(loop_, http::HttpPortOptions{.max_connections = kMaxConnections}, delegate);
  address_ = port_->address().text();
  thread_ = std::thread([this] { loop_.run(); });
  pthread_setname_np(thread_.native_handle(), "rtrain-status");
}

StatusEndpoint::~StatusEndpoint() {
  loop_.post([this] {
    port_.reset();
    loop_.stop();
  });
  thread_.join();
}

std::string StatusEndpoint::url() const { return cat("http://", address_, kPath); }

std::string StatusEndpoint::token_path() const {
  return cat("/proc/", getpid(), "/fd/", token_file_.get());
}

void StatusEndpoint::on_request(http::HttpConnection& connection, http::HttpRequest request) {
  if (request.path != kPath) {
    return connection.answer(
        http::error_response(404, "not_found", cat("a status is posted to ", kPath)));
  }
  if (request.method != "POST") {
    return connection.answer(http::error_response(405, "wrong_method", "a status is posted"));
  }
  if (!is_same_secret(request.bearer(), token_)) {
    return connection.answer(
        http::error_response(401, "no_token",
                             "the header Authorization is Bearer, with the token that the file "
                             "$KUBEFLOW_TRAINER_SERVER_TOKEN has"));
  }
  const std::lock_guard lock(mutex_);
  // Only clients that do not wait for their answers come here.
  if (posted_.size() >= kMostWaiting) {
    return connection.answer(
        http::error_response(503, "busy", cat(kMostWaiting, " statuses wait already")));
  }
  posted_.push_back({connection.number(), std::move(request.body)});
  eventfd_write(waiting_fd_.get(), 1);
}

// A body that was posted before the connection closed still counts.
void StatusEndpoint::on_closed(int64_t) {}

std::optional<StatusEndpoint::Posted> StatusEndpoint::take() {
  const std::lock_guard lock(mutex_);
  if (posted_.empty()) {
    eventfd_t count = 0;
    eventfd_read(waiting_fd_.get(), &count);
    return std::nullopt;
  }
  Posted out = std::move(posted_.front());
  posted_.pop_front();
  return out;
}

void StatusEndpoint::accept(int64_t connection) { answer(connection, http::json_response(Map{})); }

void StatusEndpoint::refuse(int64_t connection, const std::string& why) {
  answer(connection, http::error_response(400, "bad_status", why));
}

void StatusEndpoint::answer(int64_t connection, http::HttpResponse response) {
  loop_.post([this, connection, response = std::move(response)] {
    auto* const open = port_ ? port_->find(connection) : nullptr;
    if (open != nullptr) open->answer(response);
  });
}

}  // namespace rtrain::worker
