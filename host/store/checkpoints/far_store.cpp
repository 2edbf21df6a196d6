#include "host/store/checkpoints/far_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "host/base/codec/hash.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"
#include "host/store/files/state_folder.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

std::atomic<FarStore*> current{nullptr};

void write_at(const OpenFile& file, std::string_view bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file.fd(), bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw file_error("write", file.path());
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
}

}  // namespace

std::string far_run_path(const std::string& run_path) {
  return cat(state_folder(), "/far/", hash_text(hash64(run_path)), "/",
             fs::path(run_path).filename().string());
}

std::string join_far_run(const std::string& far_path) try {
  remove_tree(far_path + "/staging");
  make_folders(far_path);
  set_far_run(far_path);
  return "";
} catch (const Error& e) {
  return e.message();
}

void set_far_store(FarStore* store) { current = store; }

FarStore& far_store() {
  FarStore* const store = current;
  if (store != nullptr) return *store;
  throw Error(Code::kCheckpoint,
              "this node does not see the disk of the run's first one, which has its checkpoints");
}

bool is_far_copy(const std::string& folder, const std::string& name) {
  std::string problem;
  const auto manifest = Manifest::try_read(folder, problem);
  return manifest && manifest->to_text() == far_store().read(name, kManifestName);
}

void get_far_checkpoint(const std::string& name, const std::string& folder) {
  const std::string text = far_store().read(name, kManifestName);
  const Manifest manifest = Manifest::parse(text, cat("node 0's checkpoint ", name));
  check_layout(manifest, name);
  make_folders(folder);
  for (const std::string& each : manifest.folders) make_folder(cat(folder, "/", each));
  for (const CheckpointFile& file : manifest.files) {
    const std::string path = cat(folder, "/", file.path);
    if (!file.link) {
      far_store().get_file(name, file.path, path);
    } else if (::symlink(file.link->c_str(), path.c_str()) != 0) {
      throw file_error("write", path);
    }
  }
  replace_text(cat(folder, "/", kManifestName), text);
  verify_files(folder, manifest, true);
  sync_folder_tree(folder);
}

void add_staged_part(const CheckpointFiles& files, const StageKey& key, int64_t rank,
                     const StagedPart& part) {
  const std::string folder = cat(files.make_staging(key), "/rank-", rank);
  make_folder(folder);
  if (part.path.empty()) return;
  check_inner_path(part.path);
  const std::string path = cat(folder, "/", part.path);
  make_folders(fs::path(path).parent_path());
  if (part.link) {
    if (::symlink(part.link->c_str(), path.c_str()) != 0) throw file_error("write", path);
    return;
  }
  OpenFile file(path, O_WRONLY | O_CREAT | O_NOFOLLOW);
  write_at(file, part.bytes, part.offset);
  if (part.is_last) file.sync_data();
}

std::string read_committed_part(const std::string& run_path, const std::string& name,
                                const std::string& path, int64_t offset) {
  check_inner_path(path);
  const std::string folder = checkpoint_path(run_path, name);
  const OpenFile file(folder, cat(folder, "/", path), O_RDONLY);
  std::string bytes(kFarPartBytes, '\0');
  ssize_t n = -1;
  do {
    n = ::pread(file.fd(), bytes.data(), bytes.size(), offset);
  } while (n < 0 && errno == EINTR);
  if (n < 0) throw file_error("read", file.path());
  bytes.resize(static_cast<size_t>(n));
  return bytes;
}

}  // namespace rtrain::store
