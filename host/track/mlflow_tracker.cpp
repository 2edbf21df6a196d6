#include "host/track/mlflow_tracker.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/codec/metric_path.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/time_reader.h"

namespace rtrain::track {
namespace {

// MLflow's limits of a request, and of a parameter's value.
constexpr size_t kMostMetrics = 1000;
constexpr size_t kMostParams = 100;
constexpr size_t kMostParamBytes = 6000;

constexpr const char* kProxiedArtifacts = "mlflow-artifacts:/";

// MLflow's names have letters, digits and _-. /: only.
std::string mlflow_name(std::string name) {
  const auto is_known = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-. /:").find(c) != std::string_view::npos;
  };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !is_known(c); }, '_');
  return name;
}

Map metric_of(const std::string& name, int64_t step, int64_t time_ms, const Value& value) {
  return Map{{"key", mlflow_name(name)}, {"value", value}, {"timestamp", time_ms}, {"step", step}};
}

std::string text_of(const Value& value) {
  return value.is_string() ? value.as_string() : to_json(value);
}

std::string_view status_name(std::string_view status) {
  if (status == "FINISHED") return "FINISHED";
  return status == "ERRORED" ? "FAILED" : "KILLED";
}

std::string_view extension_of(std::string_view kind) {
  if (kind == "image" || kind == "video") return ".png";
  if (kind == "audio") return ".wav";
  return kind == "text" ? ".txt" : ".json";
}

std::string_view type_of(std::string_view kind) {
  if (kind == "image" || kind == "video") return "image/png";
  if (kind == "audio") return "audio/wav";
  return kind == "text" ? "text/plain" : "application/json";
}

// The option, else the variable, else `fallback`.
std::string option_or(const Value& options, std::string_view option, const char* variable,
                      std::string_view fallback) {
  const char* found = std::getenv(variable);
  return options[option].string_or(found == nullptr ? fallback : std::string_view(found));
}

std::string tracking_uri(const Value& options) {
  std::string out = option_or(options, "tracking_uri", "MLFLOW_TRACKING_URI", "");
  if (out.starts_with("http://") || out.starts_with("https://")) return out;
  throw Error(Code::kUsage, out.empty() ? "MLflow: set MLFLOW_TRACKING_URI to the URL of its server"
                                        : cat("MLflow: '", out,
                                              "' is not the URL of a server: http://HOST:PORT"));
}

// Adds what WebService takes from MLflow's variables.
Value with_environment(const Value& options) {
  Map out = options.as_map();
  const auto add = [&](std::string_view option, const char* variable) {
    out.set(std::string(option), option_or(options, option, variable, ""));
  };
  add("token", "MLFLOW_TRACKING_TOKEN");
  add("username", "MLFLOW_TRACKING_USERNAME");
  add("password", "MLFLOW_TRACKING_PASSWORD");
  if (options["insecure_tls"].is_nil()) {
    const char* given = std::getenv("MLFLOW_TRACKING_INSECURE_TLS");
    out.set("insecure_tls", given != nullptr && given == std::string_view("true"));
  }
  return out;
}

// A part of a URL's path.
std::string path_part(std::string_view name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (is_plain) {
      out += c;
    } else {
      (out += '%') += kHex[byte >> 4U];
      out += kHex[byte & 0xFU];
    }
  }
  return out;
}

}  // namespace

MlflowTracker::MlflowTracker(const Value& options)
    : service_("MLflow", tracking_uri(options), with_environment(options)),
      experiment_(option_or(options, "experiment_name", "MLFLOW_EXPERIMENT_NAME", "Default")),
      run_name_(options["run_name"].string_or("")),
      tags_(options["tags"].is_nil() ? Map{} : options["tags"].as_map()) {}

Map MlflowTracker::options() const {
  return Map{{"kind", "mlflow"},
             {"tracking_uri", service_.url()},
             {"experiment_name", experiment_},
             {"run_name", run_name_},
             {"tags", tags_}};
}

std::string MlflowTracker::target() const {
  return cat(service_.url(), " experiment ", experiment_);
}

Value MlflowTracker::kept() const {
  return Map{{"run_id", mlflow_run_}, {"artifact_uri", artifacts_}};
}

Value MlflowTracker::call(const std::string& function, const Map& body) const {
  return from_json(service_.call("POST", cat("/api/2.0/mlflow/", function), to_json(body)));
}

std::string MlflowTracker::experiment_id() const {
  try {
    const std::string found = service_.call(
        "GET",
        cat("/api/2.0/mlflow/experiments/get-by-name?experiment_name=", path_part(experiment_)),
        "");
    return from_json(found)["experiment"]["experiment_id"].as_string();
  } catch (const Error& error) {
    if (error.code() != Code::kNotFound) throw;
  }
  return call("experiments/create", Map{{"name", experiment_}})["experiment_id"].as_string();
}

void MlflowTracker::begin(const Value& run, const Value& kept) {
  run_id_ = run["run_id"].as_string();
  if (run["metrics"].is_map()) names_.add(run["metrics"]);
  if (!kept.is_nil()) {
    mlflow_run_ = kept["run_id"].as_string();
    artifacts_ = kept["artifact_uri"].as_string();
    call("runs/update", Map{{"run_id", mlflow_run_}, {"status", "RUNNING"}});
    return;
  }
  const std::string& name = run["name"].as_string();
  const Value& environment = run["environment"];
  Map tags{{"mlflow.runName", run_name_.empty() ? name : run_name_},
           {"mlflow.source.name", run["script"]},
           {"mlflow.source.type", "LOCAL"},
           {"rtrain.run", name},
           {"rtrain.run_id", run_id_}};
  if (environment["git_commit"].is_string()) {
    tags.set("mlflow.source.git.commit", environment["git_commit"]);
  }
  for (const Value& tag : run["tags"].as_list()) tags.set(mlflow_name(tag.as_string()), "true");
  for (const auto& [key, value] : tags_) tags.set(mlflow_name(key_text(key)), text_of(value));
  List list;
  for (const auto& [key, value] : tags)
    list.push_back(Map{{"key", key_text(key)}, {"value", value}});
  const Value made =
      call("runs/create", Map{{"experiment_id", experiment_id()},
                              {"run_name", run_name_.empty() ? name : run_name_},
                              {"start_time", read_time(run["started_at"].as_string()).value_or(0)},
                              {"tags", std::move(list)}});
  mlflow_run_ = made["run"]["info"]["run_id"].as_string();
  artifacts_ = made["run"]["info"]["artifact_uri"].string_or("");
  log_params(run["config"]);
}

void MlflowTracker::log_params(const Value& config) const {
  if (!config.is_map()) return;
  List params;
  const auto flush = [&] {
    if (!params.empty()) call("runs/log-batch", Map{{"run_id", mlflow_run_}, {"params", params}});
    params.clear();
  };
  each_metric(config, [&](const std::string& name, const Value& value) {
    params.push_back(
        Map{{"key", mlflow_name(name)}, {"value", text_of(value).substr(0, kMostParamBytes)}});
    if (params.size() == kMostParams) flush();
  });
  flush();
}

void MlflowTracker::log_metrics(const List& metrics) const {
  for (size_t begin = 0; begin < metrics.size(); begin += kMostMetrics) {
    const auto first = metrics.begin() + static_cast<ptrdiff_t>(begin);
    const size_t size = std::min(kMostMetrics, metrics.size() - begin);
    call("runs/log-batch", Map{{"run_id", mlflow_run_},
                               {"metrics", List(first, first + static_cast<ptrdiff_t>(size))}});
  }
}

void MlflowTracker::log_artifact(const store::MediaRow& row, const std::string& content) const {
  if (!artifacts_.starts_with(kProxiedArtifacts)) return;
  const std::string folder = artifacts_.substr(std::string_view(kProxiedArtifacts).size());
  service_.call("PUT",
                cat("/api/2.0/mlflow-artifacts/artifacts/", folder, "/media/", row.kind, "/",
                    path_part(row.name), "/", row.step, extension_of(row.kind)),
                content, type_of(row.kind));
}

void MlflowTracker::send(std::span<const FeedItem> items, store::OpenStore& store) {
  List metrics;
  for (const FeedItem& item : items) {
    if (const auto* report = std::get_if<store::RankReport>(&item)) {
      names_.add(report->metrics);
      each_metric(report->metrics, [&](const std::string& name, const Value& value) {
        if (!value.is_number()) return;
        metrics.push_back(metric_of(name, report->index, report->time_ms, value));
      });
    } else if (const auto* logged = std::get_if<FeedPoint>(&item)) {
      metrics.push_back(metric_of(names_.of(logged->key), logged->point.step, logged->point.time_ms,
                                  logged->point.value));
    }
  }
  log_metrics(metrics);
  for (const FeedItem& item : items) {
    const auto* row = std::get_if<store::MediaRow>(&item);
    if (row == nullptr) continue;
    log_artifact(*row, store::read_media_content(store.database(), run_id_, row->hash));
  }
}

void MlflowTracker::end(const std::string& status, int64_t ended_ms) {
  call("runs/update",
       Map{{"run_id", mlflow_run_}, {"status", status_name(status)}, {"end_time", ended_ms}});
}

}  // namespace rtrain::track
