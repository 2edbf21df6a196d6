#include "host/train/checkpoints/validation_manager.h"

#include "host/base/text/text.h"
#include "host/node/workers/worker_place.h"

namespace rtrain::train {

ValidationManager::ValidationManager(const RunContext& run, ValidationDelegate& delegate)
    : run_(run),
      delegate_(delegate),
      queue_(run.spec.validation_config ? run.spec.validation_config->max_concurrent : 1) {}

void ValidationManager::add(const store::CheckpointRow& checkpoint) {
  queue_.add(checkpoint);
  start_next();
}

void ValidationManager::ended(const store::CheckpointRow& checkpoint) {
  processes_.erase(checkpoint.name);
  queue_.end(checkpoint);
  start_next();
}

size_t ValidationManager::cancel() {
  const size_t count = queue_.size();
  processes_.clear();
  queue_.clear();
  return count;
}

std::vector<store::CheckpointRow> ValidationManager::stop_all() {
  processes_.clear();
  return queue_.begin_all();
}

void ValidationManager::hold_output(bool held) {
  if (held == holds_output_) return;
  holds_output_ = held;
  for (const auto& [name, process] : processes_) process->hold_output(held);
}

void ValidationManager::start_next() {
  while (const auto next = queue_.next()) {
    if (run_.spec.validation_config) {
      start(*next);
    } else {
      delegate_.on_validation_end(*next,
                                  {CheckpointStatus::kValidationFailed,
                                   {},
                                   "the trainer that resumed the run has no validation_config"});
    }
  }
}

void ValidationManager::start(const store::CheckpointRow& checkpoint) {
  const std::string threads = std::to_string(run_.spec.validation_config->num_cpus);
  node::WorkerGroupOptions options;
  options.num_workers = 1;
  options.functions_fd = run_.files.functions_fd;
  options.engine_fd = run_.files.engine_fd;
  // Hides the devices, because the workers use them.
  options.env = {{"OMP_NUM_THREADS", threads}, {node::kVisibleDevices, ""}};
  try {
    auto process = std::make_unique<ValidationProcess>(
        run_.loop, ValidationProcess::Job{checkpoint, context_of(checkpoint), options}, delegate_);
    if (holds_output_) process->hold_output(true);
    processes_[checkpoint.name] = std::move(process);
  } catch (const Error& e) {
    delegate_.on_validation_end(checkpoint, {CheckpointStatus::kValidationFailed, {}, e.message()});
  }
}

loop::WorkerContext ValidationManager::context_of(const store::CheckpointRow& checkpoint) const {
  loop::WorkerContext context = run_.worker_context(static_cast<int>(checkpoint.attempt));
  context.threads = run_.spec.validation_config->num_cpus;
  context.validation =
      ValidationTask{checkpoint.validation.value_or(ValidationRequest()), checkpoint.path};
  return context;
}

}  // namespace rtrain::train
