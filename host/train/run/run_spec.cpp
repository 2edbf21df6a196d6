#include "host/train/run/run_spec.h"

#include <algorithm>
#include <cstdlib>

#include "host/base/error.h"
#include "host/base/seconds_setting.h"
#include "host/base/text/text.h"
#include "host/machine/leases/resource_settings.h"
#include "host/machine/machine.h"

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

int limit(const Value& config, std::string_view field, int otherwise) {
  const auto value = static_cast<int>(config[field].int_or(otherwise));
  check_range(field, value, -1);
  return value;
}

FailureLimits limits_of(const Value& config) {
  FailureLimits out;
  out.max_failures = limit(config, "max_failures", out.max_failures);
  out.controller_failure_limit =
      limit(config, "controller_failure_limit", out.controller_failure_limit);
  out.max_preemption_failures =
      limit(config, "max_preemption_failures", out.max_preemption_failures);
  const Value& reset = config["reset_after_s"];
  if (!reset.is_nil()) out.reset_after_s = reset.as_float();
  return out;
}

// The settings of an operator for all runs go before those of the script.
void take_settings(RunSpec& s) {
  HangLimits& hang = s.hang_limits;
  hang.threshold_s = seconds_setting("RTRAIN_HANG_THRESHOLD_S", hang.threshold_s);
  hang.busy_s = seconds_setting("RTRAIN_BUSY_THRESHOLD_S", hang.busy_s);
  hang.silent_s = seconds_setting("RTRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S", hang.silent_s);
  SyncSettings& sync = s.collectives;
  sync.timeout_s = seconds_setting("RTRAIN_COLLECTIVE_TIMEOUT_S", s.timeout_s);
  sync.warn_interval_s = seconds_setting("RTRAIN_COLLECTIVE_WARN_INTERVAL_S", sync.warn_interval_s);
  s.report_notice_s = seconds_setting("RTRAIN_REPORT_WARN_INTERVAL_S", s.report_notice_s);
  s.resource_notice_s = seconds_setting("RTRAIN_RESOURCE_NOTICE_S", s.resource_notice_s);
  s.gpu_sample_s = seconds_setting("RTRAIN_GPU_SAMPLE_S", s.gpu_sample_s, ZeroSeconds::kAllowed);
  s.host_sample_s = seconds_setting("RTRAIN_HOST_SAMPLE_S", s.host_sample_s, ZeroSeconds::kAllowed);
  s.callback_timeout_s = seconds_setting("RTRAIN_CALLBACK_TIMEOUT_S", s.callback_timeout_s);
}

double seconds(const Value& config, std::string_view field, double otherwise) {
  const Value& value = config[field];
  return value.is_nil() ? otherwise : value.as_float();
}

void read_record(const Value& v, RunSpec& s) {
  s.name = v["name"].as_string();
  s.storage_path = v["storage_path"].as_string();
  s.script = v["script"].string_or("");
  s.command = texts(v["command"]);
  s.tags = texts(v["tags"]);
  s.note = v["note"].string_or("");
  s.resume = resume_mode_from_name(v["resume"].string_or("never"));
  s.config = v["config"];
  s.scaling = v["scaling"];
  s.checkpoint_config = v["checkpoint_config"];
  s.log_bytes = v["log_bytes"].int_or(0);
  s.git_commit = v["git_commit"].string_or("");
  s.git_dirty = v["git_dirty"].bool_or(false);
  s.git_diff_cut = v["git_diff_cut"].bool_or(false);
  if (v["sources"].is_list()) s.sources = v["sources"].as_list();
}

void read_workers(const Value& v, RunSpec& s) {
  s.local = v["is_local"].bool_or(false);
  if (const Value& join = v["join"]; !join.is_nil()) {
    s.join = JoinSpec{.socket = join["socket"].as_string(),
                      .num_ranks = static_cast<int>(join["num_ranks"].as_int()),
                      .first_joined = 1};
    s.fit = join["fit"].as_int();
  }
  s.min_workers = static_cast<int>(v["min_workers"].int_or(1));
  s.max_workers = static_cast<int>(v["max_workers"].int_or(s.min_workers));
  s.resize_interval_s = seconds(v, "resize_interval_s", s.resize_interval_s);
  s.threads = static_cast<int>(v["threads"].int_or(0));
  s.ingest_cores = static_cast<int>(v["ingest_cores"].int_or(0));
  if (!v["gpus_per_worker"].is_nil()) s.gpus_per_worker = v["gpus_per_worker"].as_float();
  s.placement = placement_strategy_from_name(v["placement_strategy"].string_or("SPREAD"));
  s.oversubscribe = v["oversubscribe"].bool_or(false);
  s.accelerator_type = v["accelerator_type"].string_or("");
  s.functions = v["functions"].as_string();
  if (v["worker_env"].is_map()) {
    for (const auto& [name, value] : v["worker_env"].as_map()) {
      s.worker_env.emplace_back(std::get<std::string>(name), value.as_string());
    }
  }
  s.backend = v["backend"].string_or("cpu:shm,cuda:gloo");
  s.timeout_s = seconds(v, "timeout_s", s.timeout_s);
  s.start_timeout_s = seconds(v, "start_timeout_s", s.start_timeout_s);
}

void read_failures(const Value& config, RunSpec& s) {
  if (!config.is_nil()) {
    s.failure_limits = limits_of(config);
    s.max_heals = limit(config, "max_heals", s.max_heals);
  }
  // A process that has left, or never came, is not there for another attempt either: its launcher
  // starts it again, with all others.
  if (s.join) s.failure_limits.controller_failure_limit = 0;
  if (config.is_nil()) return;
  s.hang_limits.threshold_s = seconds(config, "hang_threshold_s", s.hang_limits.threshold_s);
  s.hang_limits.busy_s = seconds(config, "busy_threshold_s", s.hang_limits.busy_s);
  s.preemption_grace_s = seconds(config, "preemption_grace_s", s.preemption_grace_s);
  s.node_timeout_s = seconds(config, "node_timeout_s", s.node_timeout_s);
}

void read_health(const Value& config, RunSpec& s) {
  if (config.is_nil()) return;
  s.health.preflight = config["preflight"].bool_or(true);
  s.health.preflight_timeout_s = seconds(config, "preflight_timeout_s", 2);
  s.health.monitor = config["monitor"].bool_or(true);
  s.health.has_evaluators = config["has_evaluators"].bool_or(false);
}

}  // namespace

ValidationSpec ValidationSpec::from_value(const Value& v) {
  ValidationSpec s;
  if (v.is_nil()) return s;
  s.has_function = true;
  s.max_concurrent = static_cast<int>(v["max_concurrent"].int_or(1));
  s.threads = static_cast<int>(v["threads"].int_or(1));
  s.drain_timeout_s = seconds(v, "drain_timeout_s", s.drain_timeout_s);
  check_range("max_concurrent", s.max_concurrent, 1);
  check_range("num_cpus", s.threads, 1);
  return s;
}

RunSpec RunSpec::from_value(const Value& v) {
  RunSpec s;
  read_record(v, s);
  read_workers(v, s);
  read_failures(v["failure_config"], s);
  read_health(v["health"], s);
  s.validation = ValidationSpec::from_value(v["validation"]);
  s.mirrors = v["mirrors"].bool_or(false);
  s.can_fetch = v["can_fetch"].bool_or(false);
  s.uses_torch = v["uses_torch"].bool_or(false);
  s.has_callbacks = v["has_callbacks"].bool_or(false);
  s.wants_reports = v["wants_reports"].bool_or(false);
  take_settings(s);
  check_range("min_workers", s.min_workers, 1);
  check_range("max_workers", s.max_workers, s.min_workers);
  check_range("timeout_s", s.timeout_s, 0);
  check_range("preemption_grace_s", s.preemption_grace_s, 0);
  return s;
}

ScalingPolicy scaling_policy(const RunSpec& spec) {
  if (spec.min_workers == spec.max_workers) return ScalingPolicy::fixed(spec.max_workers);
  return ScalingPolicy::elastic(spec.min_workers, spec.max_workers, spec.resize_interval_s);
}

}  // namespace rtrain
