#include "host/engine/distributed/group_work.h"

#include <ATen/core/grad_mode.h>

#include <optional>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/distributed/group.h"
#include "host/engine/distributed/shm/backend.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {

std::shared_ptr<GroupWork> GroupWork::begin(
    const std::shared_ptr<Group>& group, const char* operation, bool is_async,
    std::vector<at::Tensor> results, const std::function<c10::intrusive_ptr<c10d::Work>()>& start,
    std::function<void()> finish, WaitKind kind) {
  auto out = std::make_shared<GroupWork>();
  out->group_ = group;
  out->operation_ = operation;
  out->kind_ = kind;
  out->results_ = std::move(results);
  out->finish_ = std::move(finish);
  const auto body = [&] {
    std::optional<ShmBackend::AtOnce> at_once;
    if (is_async) at_once.emplace();
    out->work_ = start();
    if (!is_async) out->complete();
  };
  group->call(operation, body, kind);
  return out;
}

std::shared_ptr<GroupWork> GroupWork::ended(const std::shared_ptr<Group>& group,
                                            std::vector<at::Tensor> results) {
  auto out = std::make_shared<GroupWork>();
  out->group_ = group;
  out->results_ = std::move(results);
  out->has_ended_ = true;
  return out;
}

std::shared_ptr<GroupWork> GroupWork::recorded(const std::shared_ptr<Group>& group,
                                               const char* operation,
                                               std::vector<at::Tensor> results,
                                               std::shared_ptr<std::shared_ptr<GroupWork>> work) {
  auto out = std::make_shared<GroupWork>();
  out->group_ = group;
  out->operation_ = operation;
  out->results_ = std::move(results);
  out->of_plan_ = std::move(work);
  if (RecordingListener::current() != nullptr) RecordingListener::current()->add_begun(1);
  return out;
}

void GroupWork::wait_in_plan() {
  if (RecordingListener::current() != nullptr) RecordingListener::current()->add_begun(-1);
  run_effect(cat(operation_, " ends"), "", results_, {},
             [work = of_plan_](const auto&, const auto&) { (*work)->wait(); });
  has_ended_ = true;
}

void GroupWork::complete() {
  if (work_ != nullptr) work_->wait();  // null: part of a coalesced operation
  const c10::NoGradGuard no_grad;
  if (finish_ != nullptr) finish_();
  finish_ = nullptr;
  // A backend's Work holds the tensors that were sent. A message's knows the sender.
  if (kind_ == WaitKind::kCollective) work_ = nullptr;
  has_ended_ = true;
}

void GroupWork::wait() {
  if (has_ended_) return;
  if (of_plan_ != nullptr) return wait_in_plan();
  const auto body = [this] { complete(); };
  group_->call(operation_, body, kind_);
}

bool GroupWork::is_completed() {
  refuse_in_recording("it asks whether a collective has ended");
  if (of_plan_ != nullptr) return (*of_plan_)->is_completed();
  return has_ended_ || work_ == nullptr || work_->isCompleted();
}

bool GroupWork::is_success() {
  refuse_in_recording("it asks whether a collective has ended");
  if (of_plan_ != nullptr) return (*of_plan_)->is_success();
  return has_ended_ || work_ == nullptr || (work_->isCompleted() && work_->exception() == nullptr);
}

int GroupWork::source_rank() const { return work_ == nullptr ? -1 : work_->sourceRank(); }

}  // namespace rtrain::engine
