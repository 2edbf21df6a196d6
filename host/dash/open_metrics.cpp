#include "host/dash/open_metrics.h"

#include <cmath>

#include "host/base/text/text.h"

namespace rtrain::dash {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return format_double(value);
}

// Writes gauges, one family after the other, since all samples of a family must be together.
class Families {
 public:
  void begin(const char* name, const char* help, const char* unit = "") {
    name_ = name;
    text_ += cat("# TYPE ", name, " gauge\n");
    if (*unit != '\0') text_ += cat("# UNIT ", name, " ", unit, "\n");
    text_ += cat("# HELP ", name, " ", help, "\n");
  }

  void add(std::initializer_list<std::pair<const char*, std::string>> labels, double value) {
    std::vector<std::string> pairs;
    for (const auto& [key, text] : labels) pairs.push_back(cat(key, "=\"", escaped(text), "\""));
    text_ += name_;
    if (!pairs.empty()) text_ += cat("{", join(pairs, ","), "}");
    text_ += cat(" ", number_text(value), "\n");
  }

  std::string take() { return std::move(text_) + "# EOF\n"; }

 private:
  const char* name_ = "";
  std::string text_;
};

void add_metrics(Families& out, const List& runs) {
  out.begin("rtrain_metric", "The newest value of what a run has reported or logged.");
  for (const Value& run : runs) {
    Map all = run["metrics"].is_map() ? run["metrics"].as_map() : Map();
    for (const auto& [name, value] : run["logged"].as_map()) all.set(name, value);
    for (const auto& [key, value] : all) {
      const auto* name = std::get_if<std::string>(&key);
      if (name == nullptr || !value.is_number()) continue;
      out.add({{"run", run["name"].as_string()}, {"metric", *name}}, value.as_float());
    }
  }
}

void add_ranks(Families& out, const List& runs, const char* key, double factor) {
  for (const Value& run : runs) {
    for (const Value& rank : run["ranks"].as_list()) {
      const Value& value = rank[key];
      if (!value.is_number()) continue;
      out.add({{"run", run["name"].as_string()},
               {"rank", cat(rank["rank"].as_int())},
               {"host", rank["host"].as_string()}},
              value.as_float() * factor);
    }
  }
}

void add_gpus(Families& out, const List& runs, const char* key, double factor) {
  for (const Value& run : runs) {
    for (const Value& rank : run["ranks"].as_list()) {
      if (!rank["gpu"].is_map() || !rank["gpu"][key].is_number()) continue;
      out.add({{"run", run["name"].as_string()},
               {"rank", cat(rank["rank"].as_int())},
               {"host", rank["host"].as_string()}},
              rank["gpu"][key].as_float() * factor);
    }
  }
}

}  // namespace

std::string open_metrics_text(const List& runs, const Map& by_status, const Value& resources) {
  constexpr double kPercent = 0.01;
  Families out;
  out.begin("rtrain_runs", "Runs of the store.");
  for (const auto& [status, count] : by_status) {
    out.add({{"status", std::get<std::string>(status)}}, count.as_float());
  }
  out.begin("rtrain_run_duration_seconds", "How long a run has taken so far.", "seconds");
  for (const Value& run : runs) {
    out.add({{"run", run["name"].as_string()}, {"status", run["status"].as_string()}},
            run["duration_s"].as_float());
  }
  out.begin("rtrain_run_attempt", "The number of a run's last attempt.");
  for (const Value& run : runs) {
    out.add({{"run", run["name"].as_string()}}, run["attempt"].as_float());
  }
  out.begin("rtrain_run_reports", "How many reports of a run count.");
  for (const Value& run : runs) {
    out.add({{"run", run["name"].as_string()}}, run["reports"].as_float());
  }
  add_metrics(out, runs);
  out.begin("rtrain_rank_cpu_ratio", "Cores that a rank uses.", "ratio");
  add_ranks(out, runs, "cpu_percent", kPercent);
  out.begin("rtrain_rank_memory_bytes", "Memory of a rank's process.", "bytes");
  add_ranks(out, runs, "memory_bytes", 1);
  out.begin("rtrain_rank_lost_seconds",
            "For how long the others wait in each step for a slow rank.", "seconds");
  add_ranks(out, runs, "lost_s", 1);
  out.begin("rtrain_gpu_busy_ratio", "How much of the time a rank's device computes.", "ratio");
  add_gpus(out, runs, "utilization_percent", kPercent);
  out.begin("rtrain_gpu_memory_bytes", "Memory in use on a rank's device.", "bytes");
  add_gpus(out, runs, "memory_used_bytes", 1);
  out.begin("rtrain_gpu_power_watts", "What a rank's device draws.", "watts");
  add_gpus(out, runs, "power_w", 1);
  if (resources.is_nil()) return out.take();
  out.begin("rtrain_host_cores", "Cores of this node.");
  for (const char* kind : {"host", "offered", "free"}) {
    out.add({{"kind", kind}}, resources["cpus"][kind].as_float());
  }
  out.begin("rtrain_host_waiting_runs", "Runs that wait for cores or GPUs of this node.");
  out.add({}, static_cast<double>(resources["waiting"].as_list().size()));
  return out.take();
}

}  // namespace rtrain::dash
