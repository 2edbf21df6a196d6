#include "host/store/checkpoints/object_checkpoints.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "host/api/object_api.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/files/inner_file.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/arrow_loader.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

constexpr size_t kThreads = 4;

// Calls function(0 … count - 1) on a few threads. Rethrows the first error.
void in_parallel(size_t count, const std::function<void(size_t)>& function) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        function(i);
      } catch (const std::exception&) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> threads;
  try {
    for (size_t i = 1; i < std::min(kThreads, count); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {  // continue with the threads that the system allows
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

std::optional<ObjectCheckpoints::Entry> entry_of(const std::string& uri) {
  ObjectCheckpoints::Entry out{.uri = uri};
  if (std::sscanf(uri.c_str() + uri.rfind('/') + 1, "%" SCNd64 "-%" SCNd64 ".json", &out.epoch,
                  &out.attempt) != 2) {
    return std::nullopt;
  }
  return out;
}

// The content of a manifest object.
struct Stored {
  std::string stage;                     // below files/
  std::map<std::string, int64_t> ranks;  // file → rank that put it
  std::string manifest;                  // the checkpoint's own manifest

  std::string to_text() const {
    Map by_file;
    for (const auto& [file, rank] : ranks) by_file.set(file, rank);
    return to_json(
        Map{{"format", 1}, {"stage", stage}, {"ranks", by_file}, {"manifest", manifest}});
  }

  static Stored parse(const std::string& text, const std::string& uri) {
    try {
      const Value value = from_json(text);
      Stored out;
      out.stage = value["stage"].as_string();
      check_inner_path(out.stage);
      out.manifest = value["manifest"].as_string();
      for (const auto& [file, rank] : value["ranks"].as_map()) {
        out.ranks.emplace(std::get<std::string>(file), rank.as_int());
      }
      return out;
    } catch (const std::exception& e) {
      throw Error(Code::kCheckpoint, cat("the manifest ", uri, " cannot be read: ", e.what()));
    }
  }
};

// Where the checkpoint's files are; nullopt if its manifest cannot be read.
std::optional<std::string> stage_of(const ObjectCheckpoints::Entry& entry) {
  try {
    return Stored::parse(lua::object_api().get_text(entry.uri), entry.uri).stage;
  } catch (const Error& e) {
    if (e.code() != Code::kCheckpoint && e.code() != Code::kNotFound) throw;
    return std::nullopt;
  }
}

}  // namespace

std::optional<ObjectCheckpoints> ObjectCheckpoints::of(const std::string& run_path) {
  const size_t name = run_path.rfind('/') + 1;
  auto storage = ObjectStorage::of(run_path.substr(0, name - 1));
  if (!storage) return std::nullopt;
  return ObjectCheckpoints(*std::move(storage), run_path.substr(name));
}

void ObjectCheckpoints::put(const std::string& stage, const StagedRank& staged,
                            const std::string& folder, const BytesMoved& moved) const {
  const std::string target = cat(uri_, "/files/", stage, "/rank-", staged.rank, "/");
  std::mutex mutex;
  const auto tell = [&](uint64_t bytes) {
    const std::lock_guard lock(mutex);
    moved(bytes);
  };
  in_parallel(staged.files.size(), [&](size_t i) {
    const CheckpointFile& file = staged.files[i];
    if (!file.link)
      lua::object_api().put_file(target + file.path, cat(folder, "/", file.path), tell);
  });
}

void ObjectCheckpoints::commit(const std::string& stage, const Manifest& manifest,
                               const MergedFiles& merged) const {
  Stored stored;
  stored.stage = stage;
  stored.manifest = manifest.to_text();
  for (const auto& [path, entry] : merged.files()) {
    if (!entry.file.link) stored.ranks.emplace(path, entry.rank);
  }
  check_owner();
  const std::vector<Entry> older = entries(manifest.name);
  const std::string uri = cat(uri_, "/checkpoints/", manifest.name, "/", manifest.owner_epoch, "-",
                              manifest.attempt, ".json");
  lua::object_api().put_text(uri, stored.to_text());
  if (const auto rows = storage_.later_owner(run_, owner_)) {
    lua::object_api().remove(uri);  // the new owner does not know it and may have removed its files
    throw lost_owner(run_, *rows);
  }
  for (const Entry& each : older) {
    // The next sweep removes its files.
    if (each.uri != uri && each.epoch <= owner_.epoch) try_remove(each.uri);
  }
}

std::vector<ObjectCheckpoints::Entry> ObjectCheckpoints::entries(const std::string& name) const {
  std::vector<Entry> out;
  for (const std::string& uri : lua::object_api().list(cat(uri_, "/checkpoints/", name))) {
    if (auto entry = entry_of(uri)) out.push_back(std::move(*entry));
  }
  std::sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) { return a.is_before(b); });
  return out;
}

void ObjectCheckpoints::drop(const std::string& name) const {
  check_owner();
  for (const Entry& each : entries(name)) {
    if (each.epoch > owner_.epoch) continue;
    const std::optional<std::string> stage = stage_of(each);
    lua::object_api().remove(each.uri);
    if (stage) lua::object_api().remove_folder(cat(uri_, "/files/", *stage));
  }
}

std::map<std::string, ObjectCheckpoints::Entry> ObjectCheckpoints::list() const {
  std::map<std::string, Entry> out;
  const std::string folder = uri_ + "/checkpoints/";
  for (const std::string& uri : lua::object_api().list(uri_ + "/checkpoints")) {
    const auto entry = entry_of(uri);
    const std::string below = uri.substr(folder.size());
    const std::string name = below.substr(0, below.find('/'));
    if (!entry || name.size() == below.size() || !is_inner_name(name)) continue;
    const auto [place, is_new] = out.try_emplace(name, *entry);
    if (!is_new && place->second.is_before(*entry)) place->second = *entry;
  }
  return out;
}

void ObjectCheckpoints::get(const std::string& name, const std::string& folder) const {
  const std::vector<Entry> found = entries(name);
  if (found.empty()) {
    throw Error(Code::kNotFound, cat("there is no checkpoint ", uri_, "/checkpoints/", name));
  }
  const std::string& uri = found.back().uri;
  const Stored stored = Stored::parse(lua::object_api().get_text(uri), uri);
  const Manifest manifest = Manifest::parse(stored.manifest, uri);
  check_layout(manifest, uri);  // anyone who can write to the store may have chosen the names
  make_folders(folder);
  for (const std::string& each : manifest.folders) make_folder(cat(folder, "/", each));
  in_parallel(manifest.files.size(), [&](size_t i) {
    const CheckpointFile& file = manifest.files[i];
    const std::string path = cat(folder, "/", file.path);
    if (file.link) {
      if (::symlink(file.link->c_str(), path.c_str()) != 0) throw file_error("write", path);
      return;
    }
    const auto rank = stored.ranks.find(file.path);
    if (rank == stored.ranks.end()) {
      throw Error(Code::kCheckpoint,
                  cat("the manifest ", uri, " does not say where ", file.path, " is"));
    }
    lua::object_api().get_file(
        cat(uri_, "/files/", stored.stage, "/rank-", rank->second, "/", file.path), path);
  });
  replace_text(cat(folder, "/", kManifestName), stored.manifest);
  verify_files(folder, manifest, true);
  sync_folder_tree(folder);
}

void ObjectCheckpoints::sweep() const {
  std::set<std::string> used;
  for (const auto& [name, entry] : list()) {
    const std::optional<std::string> stage = stage_of(entry);
    if (!stage) return;  // its files are unknown, so no file may be removed
    used.insert(*stage);
  }
  check_owner();
  const std::string folder = uri_ + "/files/";
  std::set<std::string> unused;
  for (const std::string& uri : lua::object_api().list(uri_ + "/files")) {
    const std::string below = uri.substr(folder.size());
    const std::string stage = below.substr(0, below.find('/'));
    if (!used.contains(stage)) unused.insert(stage);
  }
  for (const std::string& stage : unused) lua::object_api().remove_folder(folder + stage);
}

}  // namespace rtrain::store
