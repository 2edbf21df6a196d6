#include "host/train/checkpoints/validation_manager.h"

#include "host/base/text.h"
#include "host/train/resources/run_gpus.h"

namespace rtrain {

ValidationManager::ValidationManager(Seams seams, Callbacks callbacks)
    : seams_(std::move(seams)),
      callbacks_(std::move(callbacks)),
      queue_(seams_.spec.validation.max_concurrent) {}

void ValidationManager::add(const CheckpointInfo& checkpoint) {
  queue_.add(checkpoint);
  start_next();
}

void ValidationManager::ended(const CheckpointInfo& checkpoint) {
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

std::vector<CheckpointInfo> ValidationManager::stop_all() {
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
    if (seams_.spec.validation.has_function) {
      start(*next);
    } else {
      callbacks_.on_end(*next, {CheckpointStatus::kValidationFailed,
                                {},
                                "the trainer that resumed the run has no validation_config"});
    }
  }
}

void ValidationManager::start(const CheckpointInfo& checkpoint) {
  const std::string threads = std::to_string(seams_.spec.validation.threads);
  WorkerGroupOptions options;
  options.num_workers = 1;
  options.functions_fd = seams_.functions_fd;
  options.engine_fd = seams_.engine_fd;
  // The devices are the workers'.
  options.env = {{"OMP_NUM_THREADS", threads}, {kVisibleDevices, ""}};
  ValidationProcess::Callbacks callbacks;
  callbacks.on_output = [this, checkpoint](std::string_view bytes) {
    callbacks_.on_output(checkpoint, bytes);
  };
  callbacks.on_line = [this, checkpoint](std::string_view stream, std::string line) {
    callbacks_.on_line(checkpoint, stream, std::move(line));
  };
  callbacks.on_end = [this, checkpoint](const ValidationResult& result) {
    callbacks_.on_end(checkpoint, result);
  };
  try {
    auto process = std::make_unique<ValidationProcess>(seams_.loop, options, context_of(checkpoint),
                                                       std::move(callbacks));
    if (holds_output_) process->hold_output(true);
    processes_[checkpoint.name] = std::move(process);
  } catch (const Error& e) {
    callbacks_.on_end(checkpoint, {CheckpointStatus::kValidationFailed, {}, e.message()});
  }
}

WorkerContext ValidationManager::context_of(const CheckpointInfo& checkpoint) const {
  WorkerContext context;
  context.experiment_name = seams_.spec.name;
  context.run_id = seams_.run_id;
  context.attempt = static_cast<int>(checkpoint.attempt);
  context.storage_path = seams_.spec.storage_path;
  context.run_path = seams_.run_path;
  context.backend = seams_.spec.backend;
  context.timeout_s = seams_.spec.timeout_s;
  context.threads = seams_.spec.validation.threads;
  Map validation = checkpoint.validation.as_map();
  validation.set("checkpoint", checkpoint.path);
  context.validation = std::move(validation);
  return context;
}

}  // namespace rtrain
