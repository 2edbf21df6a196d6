#include "host/train/record/run_context.h"

namespace rtrain::train {

loop::WorkerContext RunContext::worker_context(int attempt) const {
  loop::WorkerContext out;
  out.experiment_name = spec.name;
  out.run_id = run_id;
  out.attempt = attempt;
  out.storage_path = spec.storage_path;
  out.run_path = run_path;
  out.backend = spec.backend;
  out.timeout_s = spec.timeout_s;
  return out;
}

}  // namespace rtrain::train
