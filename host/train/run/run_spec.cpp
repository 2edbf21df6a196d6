#include "host/train/run/run_spec.h"

#include <algorithm>
#include <cstdlib>

#include "host/base/error.h"
#include "host/base/seconds_setting.h"
#include "host/base/text/text.h"
#include "host/machine/leases/resource_settings.h"
#include "host/machine/machine.h"

namespace rtrain::train {
namespace {

void check_range(std::string_view field, double value, double least) {
  if (value >= least) return;
  throw Error(Code::kConfig, cat(field, " = ", value, ": must be at least ", least));
}

// An operator's settings for all runs take precedence over those of the script.
void take_settings(RunSpec& s) {
  FailureSpec& limits = s.failure_config;
  limits.hang_threshold_s = seconds_setting("RTRAIN_HANG_THRESHOLD_S", limits.hang_threshold_s);
  limits.busy_threshold_s = seconds_setting("RTRAIN_BUSY_THRESHOLD_S", limits.busy_threshold_s);
  s.silent_threshold_s =
      seconds_setting("RTRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S", s.silent_threshold_s);
  decide::SyncSettings& sync = s.collectives;
  sync.timeout_s = seconds_setting("RTRAIN_COLLECTIVE_TIMEOUT_S", s.timeout_s);
  sync.warn_interval_s = seconds_setting("RTRAIN_COLLECTIVE_WARN_INTERVAL_S", sync.warn_interval_s);
  s.report_notice_s = seconds_setting("RTRAIN_REPORT_WARN_INTERVAL_S", s.report_notice_s);
  s.resource_notice_s = seconds_setting("RTRAIN_RESOURCE_NOTICE_S", s.resource_notice_s);
  s.gpu_sample_s = seconds_setting("RTRAIN_GPU_SAMPLE_S", s.gpu_sample_s, ZeroSeconds::kAllowed);
  s.host_sample_s = seconds_setting("RTRAIN_HOST_SAMPLE_S", s.host_sample_s, ZeroSeconds::kAllowed);
  s.callback_timeout_s = seconds_setting("RTRAIN_CALLBACK_TIMEOUT_S", s.callback_timeout_s);
}

void check(const RunSpec& s) {
  check_range("min_workers", s.min_workers, 1);
  check_range("max_workers", s.max_workers, s.min_workers);
  check_range("timeout_s", s.timeout_s, 0);
  const FailureSpec& failures = s.failure_config;
  check_range("max_failures", failures.max_failures, -1);
  check_range("max_heals", failures.max_heals, -1);
  check_range("controller_failure_limit", failures.controller_failure_limit, -1);
  check_range("max_preemption_failures", failures.max_preemption_failures, -1);
  check_range("preemption_grace_s", failures.preemption_grace_s, 0);
  if (!s.validation_config) return;
  check_range("max_concurrent", s.validation_config->max_concurrent, 1);
  check_range("num_cpus", s.validation_config->num_cpus, 1);
}

}  // namespace

RunSpec RunSpec::from_value(Value value) {
  auto s = rtrain::from_value<RunSpec>(std::move(value));
  take_settings(s);
  check(s);
  return s;
}

decide::FailureLimits RunSpec::failure_limits() const {
  // If processes of a launcher are lost, another attempt would lack them too: the launcher restarts
  // all of them.
  return {.max_failures = failure_config.max_failures,
          .controller_failure_limit = join ? 0 : failure_config.controller_failure_limit,
          .max_preemption_failures = failure_config.max_preemption_failures,
          .reset_after_s = failure_config.reset_after_s.value_or(0)};
}

decide::HangLimits RunSpec::hang_limits() const {
  return {.threshold_s = failure_config.hang_threshold_s,
          .busy_s = failure_config.busy_threshold_s,
          .silent_s = silent_threshold_s};
}

decide::ScalingPolicy scaling_policy(const RunSpec& spec) {
  if (spec.min_workers == spec.max_workers) return decide::ScalingPolicy::fixed(spec.max_workers);
  return decide::ScalingPolicy::elastic(spec.min_workers, spec.max_workers,
                                        spec.elastic_resize_monitor_interval_s);
}

}  // namespace rtrain::train
