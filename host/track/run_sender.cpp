#include "host/track/run_sender.h"

#include <filesystem>
#include <utility>

#include "host/base/codec/hash.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/files/new_file.h"
#include "host/base/text/text.h"
#include "host/base/time_reader.h"
#include "host/store/claim/run_status.h"
#include "host/store/files/file.h"
#include "host/store/read/run_document.h"

namespace rtrain::track {
namespace {

constexpr size_t kMostItems = 500;  // of one call of the tracker

}  // namespace

RunSender::RunSender(const std::string& storage, const std::string& run, const Value& options)
    : run_(store::open_run(storage, run)), tracker_(make_tracker(options)) {
  const std::string folder = cat(run_.ref.path, "/trackers");
  const std::string name =
      cat(options["kind"].as_string(), "-", hash_text(hash64(tracker_->target())), ".json");
  store::make_folders(folder);
  file_ = cat(folder, "/", name);
  Value position;
  if (store::path_kind(file_) == "file") {
    const Value stored = from_json(store::read_text(file_));
    position = stored["position"];
    kept_ = stored["kept"];
    has_ended_ = stored["has_ended"].as_bool();
  }
  feed_.emplace(run_.store.database(), run_.ref.run_id, position);
  save();
}

std::vector<Value> RunSender::trackers_of(const store::RunRef& run, const std::string& kind) {
  std::vector<Value> out;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(cat(run.path, "/trackers"), ignored)) {
    const Value stored = from_json(store::read_text(entry.path().string()));
    if (stored["tracker"]["kind"].as_string() == kind) out.push_back(stored["tracker"]);
  }
  return out;
}

void RunSender::begin() {
  if (has_begun_) return;
  tracker_->begin(store::read_run(run_.store, run_.ref), kept_);
  has_begun_ = true;
  has_ended_ = false;
  save();
}

// The file is written after the items were sent: after a crash between both they are sent again.
bool RunSender::send_next() {
  if (items_.empty()) items_ = feed_->read(kMostItems);
  if (items_.empty()) return false;
  begin();
  try {
    tracker_->send(items_, run_.store);
    sent_ += static_cast<int64_t>(items_.size());
  } catch (const Error& error) {
    if (error.code() == Code::kEnvironment) throw;
    refused_ += static_cast<int64_t>(items_.size());
    refusal_ = error.message();
  }
  items_.clear();
  save();
  return true;
}

bool RunSender::end() {
  store::Statement query = run_.store.database().prepare(
      "SELECT status, coalesce(ended_at, updated_at) FROM runs WHERE run_id = ?");
  query.add(run_.ref.run_id);
  if (!query.next() || !store::is_final_status(query.text_view(0))) return false;
  begin();
  tracker_->end(query.text(0), query.integer(1));
  has_ended_ = true;
  save();
  return true;
}

void RunSender::save() const {
  const Map state{{"tracker", tracker_->options()},
                  {"position", feed_->position()},
                  {"kept", has_begun_ ? tracker_->kept() : kept_},
                  {"has_ended", has_ended_}};
  const std::string text = to_json(state, 2);
  NewFile file(file_, NewFile::Readers::kUserAlone);
  file.write(text.data(), text.size());
  file.commit(NewFile::Durability::kUnsynced);
}

}  // namespace rtrain::track
