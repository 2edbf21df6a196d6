#include "host/train/run_spec.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

std::vector<std::string> texts(const Value& value) {
  std::vector<std::string> out;
  if (value.is_nil() || (value.is_map() && value.as_map().empty())) return out;
  for (const Value& item : value.as_list()) out.push_back(item.as_string());
  return out;
}

void check_range(std::string_view field, double value, double least) {
  if (value >= least) return;
  throw Error(Code::kConfig, cat(field, " = ", value, ": must be at least ", least));
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

RunSpec RunSpec::from_value(const Value& v) {
  RunSpec s;
  s.name = v["name"].as_string();
  s.storage_path = v["storage_path"].as_string();
  s.script = v["script"].string_or("");
  s.command = texts(v["command"]);
  s.tags = texts(v["tags"]);
  s.note = v["note"].string_or("");
  s.num_workers = static_cast<int>(v["num_workers"].int_or(1));
  s.threads = static_cast<int>(v["threads"].int_or(0));
  s.functions = v["functions"].as_string();
  s.config = v["config"];
  s.scaling = v["scaling"];
  s.checkpoint_config = v["checkpoint_config"];
  s.max_failures = static_cast<int>(v["max_failures"].int_or(0));
  s.has_callbacks = v["has_callbacks"].bool_or(false);
  s.backend = v["backend"].string_or("gloo");
  if (!v["timeout_s"].is_nil()) s.timeout_s = v["timeout_s"].as_float();
  if (!v["start_timeout_s"].is_nil()) s.start_timeout_s = v["start_timeout_s"].as_float();
  s.git_commit = v["git_commit"].string_or("");
  s.git_dirty = v["git_dirty"].bool_or(false);
  check_range("num_workers", s.num_workers, 1);
  check_range("max_failures", s.max_failures, -1);
  check_range("timeout_s", s.timeout_s, 0);
  return s;
}

int threads_per_worker(const RunSpec& spec) {
  if (spec.threads > 0) return spec.threads;
  const char* set = std::getenv("OMP_NUM_THREADS");
  if (set != nullptr && std::atoi(set) > 0) return std::atoi(set);
  return std::max(1, available_cores() / spec.num_workers);
}

}  // namespace rtrain
