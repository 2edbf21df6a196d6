#include "host/engine/distributed/gloo/gloo_work.h"

#include <utility>

#include "host/engine/distributed/gloo/peer_error.h"

namespace rtrain::engine {
GlooWorkPtr GlooWork::begin(const std::shared_ptr<GlooConnections>& connections,
                            const GlooWorkPtr& inner) {
  static const std::exception_ptr failure = std::make_exception_ptr(lost_peer());
  auto out = c10::make_intrusive<GlooWork>(connections, inner);
  connections->begin_operation();
  const uint64_t on_cut = connections->on_cut([out] { out->end(failure, c10::IValue()); });
  inner->getFuture()->addCallback([out, on_cut](c10::ivalue::Future& future) {
    out->connections_->forget(on_cut);
    out->connections_->end_operation();
    if (future.hasError()) {
      out->end(future.exception_ptr(), c10::IValue());
    } else {
      out->end(nullptr, future.value());
    }
  });
  return out;
}

GlooWork::GlooWork(std::shared_ptr<GlooConnections> connections, GlooWorkPtr inner)
    : Work(-1, inner->retrieveOpType()),
      connections_(std::move(connections)),
      inner_(std::move(inner)),
      future_(c10::make_intrusive<c10::ivalue::Future>(inner_->getFuture()->elementType())) {}

std::vector<at::Tensor> GlooWork::result() { return future_->value().toTensorVector(); }

void GlooWork::end(std::exception_ptr failure, const c10::IValue& value) {
  if (has_ended_.exchange(true)) return;
  if (failure == nullptr) {
    future_->markCompleted(value);
  } else {
    future_->setError(failure);
  }
  finish(std::move(failure));
}

GlooMessage::GlooMessage(std::shared_ptr<GlooConnections> connections, GlooWorkPtr inner)
    : Work(-1, inner->retrieveOpType()),
      connections_(std::move(connections)),
      inner_(std::move(inner)),
      on_cut_(connections_->on_cut([inner = inner_] { inner->abort(); })) {}

GlooMessage::~GlooMessage() { connections_->forget(on_cut_); }

bool GlooMessage::wait(std::chrono::milliseconds timeout) {
  if (inner_->wait(timeout)) return true;
  throw lost_peer();
}

}  // namespace rtrain::engine
