// host/engine/distributed/gloo/gloo_work.h: the Work of Gloo's collectives and messages, which ends
// when its group's connections are cut.
//
// Not all of Gloo's own do: if the connection is lost after the kernel has accepted a part of a
// send, Gloo waits for that send until the deadline. The operation then continues in Gloo's thread,
// which finds its sockets shut down, while waiters of this Work get Error(kPeerLost). Any thread.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "host/engine/distributed/gloo/gloo_connections.h"

namespace rtrain::engine {

using GlooWorkPtr = c10::intrusive_ptr<c10d::Work>;

// A collective. `inner` has a future.
class GlooWork final : public c10d::Work {
 public:
  static GlooWorkPtr begin(const std::shared_ptr<GlooConnections>& connections,
                           const GlooWorkPtr& inner);
  GlooWork(std::shared_ptr<GlooConnections> connections, GlooWorkPtr inner);

  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  void synchronize() override { inner_->synchronize(); }
  uint64_t getSequencenumber() const override { return inner_->getSequencenumber(); }

 private:
  void end(std::exception_ptr failure, const c10::IValue& value);

  std::shared_ptr<GlooConnections> connections_;
  GlooWorkPtr inner_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::atomic<bool> has_ended_ = false;
};

// A message. It only progresses while the caller is in wait().
class GlooMessage final : public c10d::Work {
 public:
  GlooMessage(std::shared_ptr<GlooConnections> connections, GlooWorkPtr inner);
  ~GlooMessage() override;

  bool wait(std::chrono::milliseconds timeout) override;
  bool isCompleted() override { return inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_->exception(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  std::vector<at::Tensor> result() override { return inner_->result(); }
  void abort() override { inner_->abort(); }
  uint64_t getSequencenumber() const override { return inner_->getSequencenumber(); }

 private:
  std::shared_ptr<GlooConnections> connections_;
  GlooWorkPtr inner_;
  uint64_t on_cut_;
};

}  // namespace rtrain::engine
