#include "host/store/checkpoints/staged_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>
#include <vector>

#include "host/base/codec/hash.h"
#include "host/base/files/store_access.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"
#include "host/store/files/file.h"
#include "host/store/files/folder_links.h"

namespace rtrain::store {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
// Large enough for the disk's full speed, small enough to show progress on a slow one.
constexpr size_t kStepBytes = size_t{8} << 20;

Error refused(std::string_view text) { return Error(Code::kCheckpoint, std::string(text)); }

struct stat status_of(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) throw file_error("read", path);
  return info;
}

void copy_by_hand(const OpenFile& source, OpenFile& target, off_t offset, const BytesMoved& moved) {
  std::vector<char> buffer(kChunkBytes);
  if (::lseek(target.fd(), offset, SEEK_SET) < 0) throw file_error("write", target.path());
  while (true) {
    const ssize_t got = ::pread(source.fd(), buffer.data(), buffer.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_error("read", source.path());
    if (got == 0) return;
    target.write({buffer.data(), static_cast<size_t>(got)});
    offset += got;
    moved(static_cast<uint64_t>(got));
  }
}

// Shares the blocks if the file system can (reflink), else copies in the kernel, else by read and
// write.
void copy_bytes(const OpenFile& source, OpenFile& target, const BytesMoved& moved) {
  if (::ioctl(target.fd(), FICLONE, source.fd()) == 0) return;
  off_t copied = 0;
  while (true) {
    const ssize_t got =
        ::copy_file_range(source.fd(), nullptr, target.fd(), nullptr, kStepBytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == EFBIG)) {
      throw file_error("write", target.path());
    }
    // Some file systems report 0 bytes for files of unknown size, so the rest is read to the
    // end.
    if (got <= 0) return copy_by_hand(source, target, copied, moved);
    copied += got;
    moved(static_cast<uint64_t>(got));
  }
}

// Computes size and hash of the open file.
CheckpointFile hash_file(
    const OpenFile& file, const BytesMoved& moved = [](uint64_t) {}) {
  int64_t size_bytes = 0;
  Hasher hasher;
  std::vector<char> buffer(kChunkBytes);
  while (true) {
    const ssize_t got = ::pread(file.fd(), buffer.data(), buffer.size(), size_bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_error("read", file.path());
    if (got == 0) break;
    hasher.add({buffer.data(), static_cast<size_t>(got)});
    size_bytes += got;
    moved(static_cast<uint64_t>(got));
  }
  CheckpointFile out;
  out.size_bytes = size_bytes;
  out.xxh3 = hash_text(hasher.digest());
  return out;
}

// Waits until the disk has written the file, step by step if the file system supports it. Errors
// are checked here, because the kernel reports an error once per descriptor and the later sync
// would not see it.
void write_out(const OpenFile& file, int64_t size_bytes, const BytesMoved& moved) {
  constexpr unsigned kToTheEnd =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  for (int64_t offset = 0; offset < size_bytes; offset += int64_t{kStepBytes}) {
    if (::sync_file_range(file.fd(), offset, int64_t{kStepBytes}, kToTheEnd) != 0) {
      if (errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP) return;
      throw file_error("sync", file.path());
    }
    moved(kStepBytes);
  }
}

CheckpointFile seal_file(OpenFile& file, const BytesMoved& moved) {
  // Starts writing to the disk, so that it proceeds while the hash is computed.
  ::sync_file_range(file.fd(), 0, 0, SYNC_FILE_RANGE_WRITE);
  CheckpointFile out = hash_file(file, moved);
  write_out(file, out.size_bytes.value_or(0), moved);
  file.sync_data();
  return out;
}

CheckpointFile stage_file(const std::string& source, const std::string& target, mode_t mode,
                          const BytesMoved& moved) {
  const OpenFile from(source, O_RDONLY | O_NOFOLLOW);
  OpenFile to(target, O_RDWR | O_CREAT | O_EXCL);
  if ((mode & S_IXUSR) != 0) {
    ::fchmod(to.fd(), S_IRWXU);
    set_store_access(target);  // also the group's permissions
  }
  copy_bytes(from, to, moved);
  return seal_file(to, moved);
}

// Walks the source folder. With a target it copies the files there; without one it stages them in
// place.
class Stager {
 public:
  Stager(std::string source, std::string target, std::map<std::string, LinkTarget> links,
         const BytesMoved& moved)
      : source_(std::move(source)),
        target_(std::move(target)),
        links_(std::move(links)),
        moved_(moved) {}

  StagedRank run() {
    add_folder("");
    return std::move(staged_);
  }

 private:
  bool copies() const { return !target_.empty(); }

  void add_folder(const std::string& relative) {
    for (const std::string& name : folder_entries(cat(source_, "/", relative))) {
      add_entry(relative.empty() ? name : cat(relative, "/", name));
    }
  }

  void add_entry(const std::string& path) {
    const std::string source = cat(source_, "/", path);
    if (!is_utf8(path)) {  // the manifest is JSON, which must be UTF-8
      throw refused(cat("the name ", terminal_line(source),
                        " is not UTF-8, as the names in a checkpoint are: rename it"));
    }
    if (path == kManifestName) return take_metadata(source);
    const struct stat info = status_of(source);
    if (S_ISDIR(info.st_mode)) {
      if (copies()) {
        make_folder(cat(target_, "/", path));
      } else {
        set_store_access(source);
      }
      staged_.folders.push_back(path);
      return add_folder(path);
    }
    if (S_ISLNK(info.st_mode)) return add_link(source, path);
    if (S_ISREG(info.st_mode)) return add_file(source, path, info.st_mode);
    const char* kind = S_ISFIFO(info.st_mode)   ? "a FIFO"
                       : S_ISSOCK(info.st_mode) ? "a socket"
                                                : "a device";
    throw refused(cat("a checkpoint holds files, folders and symlinks; ", source, " is ", kind));
  }

  void add_link(const std::string& source, const std::string& path) {
    const auto found = links_.find(path);
    if (found == links_.end()) throw refused(cat(source, " has changed while it was copied"));
    const LinkTarget& leads = found->second;
    if (!copies() && ::unlink(source.c_str()) != 0) throw file_error("remove", source);
    const std::string target = copies() ? cat(target_, "/", path) : source;
    CheckpointFile file;
    if (leads.text.empty()) {
      file = stage_file(leads.file, target, status_of(leads.file).st_mode, moved_);
    } else if (::symlink(leads.text.c_str(), target.c_str()) != 0) {
      throw file_error("write", target);
    } else {
      file.link = leads.text;
    }
    file.path = path;
    staged_.files.push_back(std::move(file));
  }

  void add_file(const std::string& source, const std::string& path, mode_t mode) {
    CheckpointFile file;
    if (copies()) {
      file = stage_file(source, cat(target_, "/", path), mode, moved_);
    } else {
      set_store_access(source);
      OpenFile in_place(source, O_RDONLY | O_NOFOLLOW);
      file = seal_file(in_place, moved_);
    }
    file.path = path;
    staged_.files.push_back(std::move(file));
  }

  // Keeps only the user's metadata of a manifest in the source: the rest describes another
  // checkpoint.
  void take_metadata(const std::string& source) {
    staged_.metadata = get_checkpoint_metadata(source_);
    if (!copies() && ::unlink(source.c_str()) != 0) throw file_error("remove", source);
  }

  std::string source_;
  std::string target_;
  std::map<std::string, LinkTarget> links_;
  const BytesMoved& moved_;
  StagedRank staged_;
};

void check_source(const std::string& source) {
  struct stat info {};
  if (::stat(source.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      throw refused(cat("no checkpoint folder ", source, ": No such file or directory"));
    }
    throw file_error("read", source);
  }
  if (!S_ISDIR(info.st_mode)) throw refused(cat("the checkpoint ", source, " is not a folder"));
}

}  // namespace

StagedRank stage_folder(const std::string& source, const std::string& target, bool temporary,
                        const BytesMoved& moved) {
  check_source(source);
  auto links = folder_links(source);
  try {
    if (temporary && ::rename(source.c_str(), target.c_str()) == 0) {
      set_store_access(target);
      return Stager(target, "", std::move(links), moved).run();
    }
    if (!make_folder(target)) throw file_error("make folder", target, EEXIST);
    return Stager(source, target, std::move(links), moved).run();
  } catch (const Error&) {
    remove_tree(target);
    throw;
  }
}

std::string file_damage(const std::string& directory, const CheckpointFile& expected, bool full) {
  const std::string path = cat(directory, "/", expected.path);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return "it is missing";
    throw file_error("read", path);
  }
  if (expected.link) {
    const bool is_same = S_ISLNK(info.st_mode) && read_link(path) == *expected.link;
    return is_same ? "" : cat("it is not the symlink to ", *expected.link);
  }
  if (!S_ISREG(info.st_mode)) return "it is not a regular file";
  if (info.st_size != expected.size_bytes) {
    return cat(int64_t{info.st_size}, " bytes, the manifest says ",
               expected.size_bytes.value_or(0));
  }
  if (!full) return "";
  const auto found = hash_file(OpenFile(path, O_RDONLY | O_NOFOLLOW)).xxh3;
  if (found == expected.xxh3) return "";
  return cat("its hash is ", found.value_or(""), ", the manifest says ",
             expected.xxh3.value_or(""));
}

void verify_files(const std::string& directory, const Manifest& manifest, bool full) {
  for (const CheckpointFile& expected : manifest.files) {
    const std::string damage = file_damage(directory, expected, full);
    if (damage.empty()) continue;
    throw refused(cat("checkpoint file ", directory, "/", expected.path, " is damaged: ", damage));
  }
}

}  // namespace rtrain::store
