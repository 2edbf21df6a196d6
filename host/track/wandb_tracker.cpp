#include "host/track/wandb_tracker.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "host/base/codec/json.h"
#include "host/base/codec/metric_path.h"
#include "host/base/codec/png_header.h"
#include "host/base/error.h"
#include "host/base/files/new_file.h"
#include "host/base/text/text.h"
#include "host/base/time_reader.h"
#include "host/store/files/file.h"
#include "host/wire/tls_session.h"

namespace rtrain::track {
namespace {

// Numbers of fields of W&B's protocol buffers.
enum RecordField {
  kHistory = 2,
  kSummary = 3,
  kFiles = 6,
  kMetric = 12,
  kRun = 17,
  kExit = 18,
  kHeaderRecord = 21
};

constexpr const char* kMinConsumer = "0.70.0";  // of the file's form
constexpr uint64_t kMediaType = 2;
constexpr uint64_t kPolicyEnd = 1;

ProtobufMessage item_of(const std::string& key, const Value& value, int key_field) {
  // JSON as W&B writes it, which has NaN and Infinity as words.
  const bool is_word = value.is_float() && !(value.as_float() - value.as_float() == 0);
  std::string json = to_json(value);
  if (is_word) json = json.substr(1, json.size() - 2);
  return ProtobufMessage().add_bytes(key_field, key).add_bytes(16, json);
}

ProtobufMessage time_of(int64_t time_ms) {
  return ProtobufMessage()
      .add_number(1, static_cast<uint64_t>(time_ms / 1000))
      .add_number(2, static_cast<uint64_t>(time_ms % 1000 * 1'000'000));
}

// "20261201_015703", in the node's time zone as W&B's own.
std::string folder_time(int64_t time_ms) {
  const auto seconds = static_cast<time_t>(time_ms / 1000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::string out(16, '\0');
  out.resize(std::strftime(out.data(), out.size(), "%Y%m%d_%H%M%S", &parts));
  return out;
}

std::string file_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '/' || c == '\\' || c == '.' || c == '\0'; }, '_');
  return name.substr(0, 100);
}

}  // namespace

WandbTracker::WandbTracker(const Value& options)
    : project_(options["project"].string_or("uncategorized")),
      entity_(options["entity"].string_or("")),
      group_(options["group"].string_or("")),
      run_name_(options["run_name"].string_or("")),
      dir_(options["dir"].string_or("")) {}

std::string WandbTracker::target() const { return cat(dir_, "/wandb project ", project_); }

Map WandbTracker::options() const {
  return Map{{"kind", "wandb"}, {"project", project_},   {"entity", entity_},
             {"group", group_}, {"run_name", run_name_}, {"dir", dir_}};
}

Value WandbTracker::kept() const {
  return Map{{"folder", folder_}, {"records", records_}, {"rows", rows_}, {"size", size_}};
}

void WandbTracker::begin(const Value& run, const Value& kept) {
  run_id_ = run["run_id"].as_string();
  if (run["metrics"].is_map()) names_.add(run["metrics"]);
  started_ms_ = read_time(run["started_at"].as_string()).value_or(0);
  if (!kept.is_nil()) {
    folder_ = kept["folder"].as_string();
    records_ = kept["records"].as_int();
    rows_ = kept["rows"].as_int();
    size_ = kept["size"].as_int();
  } else {
    const std::string base = dir_.empty() ? run["path"].as_string() : store::absolute_path(dir_);
    folder_ = cat(base, "/wandb/offline-run-", folder_time(started_ms_), "-", run_id_);
  }
  store::make_folders(cat(folder_, "/files"));
  log_.emplace(cat(folder_, "/run-", run_id_, ".wandb"), size_);
  if (size_ == 0) begin_run(run);
  size_ = log_->flush();
}

void WandbTracker::begin_run(const Value& run) {
  const ProtobufMessage version =
      ProtobufMessage().add_bytes(1, "rtrain").add_bytes(2, kMinConsumer);
  add(kHeaderRecord, ProtobufMessage().add(1, version));
  ProtobufMessage config;
  const Value& given = run["config"];
  if (given.is_map()) {
    for (const auto& [key, value] : given.as_map()) {
      config.add(1, item_of(key_text(key), value, 1));
    }
  }
  const std::string& name = run["name"].as_string();
  ProtobufMessage record;
  record.add_bytes(1, run_id_).add_bytes(2, entity_).add_bytes(3, project_).add(4, config);
  record.add_bytes(6, group_).add_bytes(8, run_name_.empty() ? name : run_name_);
  record.add_bytes(9, run["note"].is_nil() ? "" : run["note"].as_string());
  for (const Value& tag : run["tags"].as_list()) record.add_bytes(10, tag.as_string());
  const Value& environment = run["environment"];
  record.add_bytes(13, environment["hostname"].string_or("")).add(17, time_of(started_ms_));
  if (environment["git_commit"].is_string()) {
    record.add(21, ProtobufMessage().add_bytes(2, environment["git_commit"].as_string()));
  }
  add(kRun, record);
}

void WandbTracker::add(int field, const ProtobufMessage& record) {
  const auto number = static_cast<uint64_t>(++records_);
  log_->add(ProtobufMessage().add_number(1, number).add(field, record).bytes());
}

// Says which value is the metric's horizontal axis.
void WandbTracker::define(const std::string& name, const char* axis) {
  if (!defined_.insert(name).second) return;
  const ProtobufMessage options = ProtobufMessage().add_number(3, 1);  // defined
  add(kMetric, ProtobufMessage().add_bytes(1, name).add_bytes(4, axis).add(6, options));
}

void WandbTracker::add_row(const Map& row, int64_t time_ms) {
  ProtobufMessage history, summary;
  const auto add_value = [&](const std::string& key, const Value& value) {
    history.add(1, item_of(key, value, 2));
    summary.add(1, item_of(key, value, 2));
  };
  for (const auto& [key, value] : row) add_value(key_text(key), value);
  add_value("_timestamp", static_cast<double>(time_ms) / 1000);
  add_value("_runtime", static_cast<double>(time_ms - started_ms_) / 1000);
  add_value("_step", rows_);
  history.add(2, ProtobufMessage().add_number(1, static_cast<uint64_t>(rows_)));
  ++rows_;
  add(kHistory, history);
  add(kSummary, summary);
}

// Writes the file of a medium and returns its path within the run's files.
std::string WandbTracker::write_media(const store::MediaRow& row, const std::string& content) {
  const bool is_audio = row.kind == "audio";
  const std::string folder = is_audio ? "media/audio" : "media/images";
  const std::string path = cat(folder, "/", file_name(row.name), "_", row.step, "_",
                               row.hash.substr(0, 16), is_audio ? ".wav" : ".png");
  store::make_folders(cat(folder_, "/files/", folder));
  NewFile file(cat(folder_, "/files/", path));
  file.write(content.data(), content.size());
  file.commit(NewFile::Durability::kUnsynced);
  ProtobufMessage item;
  item.add_bytes(1, path).add_number(2, kPolicyEnd).add_number(3, kMediaType);
  add(kFiles, ProtobufMessage().add(1, item));
  return path;
}

void WandbTracker::add_media(const store::MediaRow& row, const std::string& content) {
  Map value;
  if (row.kind == "histogram") {
    const Value stored = from_json(content);
    value = Map{{"_type", "histogram"}, {"values", stored["counts"]}, {"bins", stored["edges"]}};
  } else if (row.kind == "image" || row.kind == "video" || row.kind == "audio") {
    value = Map{{"_type", row.kind == "audio" ? "audio-file" : "image-file"},
                {"path", write_media(row, content)},
                {"sha256", wire::tls_api().sha256(content)},
                {"size", content.size()}};
    if (const auto header = read_png_header(content)) {
      value.set("format", "png");
      value.set("width", header->width);
      value.set("height", header->height);
    }
  } else {
    return;  // tables and texts
  }
  define(row.name, "step");
  add_row(Map{{row.name, std::move(value)}, {"step", row.step}}, row.time_ms);
}

// Points of the same step that follow one another are one row.
void WandbTracker::send(std::span<const FeedItem> items, store::OpenStore& store) {
  std::map<int64_t, std::pair<Map, int64_t>> logged;  // by step; with the last time
  for (const FeedItem& item : items) {
    if (const auto* report = std::get_if<store::RankReport>(&item)) {
      names_.add(report->metrics);
      Map row;
      each_metric(report->metrics, [&](const std::string& name, const Value& value) {
        define(name, "report");
        row.set(name, value);
      });
      row.set("report", report->index);
      add_row(row, report->time_ms);
    } else if (const auto* point = std::get_if<FeedPoint>(&item)) {
      const std::string name = names_.of(point->key);
      define(name, "step");
      auto& [row, time_ms] = logged[point->point.step];
      row.set(name, point->point.value);
      time_ms = std::max(time_ms, point->point.time_ms);
    }
  }
  for (auto& [step, row] : logged) {
    row.first.set("step", step);
    add_row(row.first, row.second);
  }
  for (const FeedItem& item : items) {
    const auto* row = std::get_if<store::MediaRow>(&item);
    if (row != nullptr) {
      add_media(*row, store::read_media_content(store.database(), run_id_, row->hash));
    }
  }
  size_ = log_->flush();
}

// What kept() says does not include the end: a run that is continued goes on before it.
void WandbTracker::end(const std::string& status, int64_t ended_ms) {
  ProtobufMessage exit;
  exit.add_number(1, status == "FINISHED" ? 0 : 1);
  exit.add_number(2, static_cast<uint64_t>(std::max<int64_t>(ended_ms - started_ms_, 0) / 1000));
  add(kExit, exit);
  --records_;
  log_->flush();
}

}  // namespace rtrain::track
