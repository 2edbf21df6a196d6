// packaging/bundle/run.cpp: the first part of a bundle (packaging/formats/bundle.py): a static
// program that unpacks what follows it into the cache, once, and becomes the rtrain that is there.
//
// The folder is named after the SHA-256 of the packed bytes and appears by one rename, complete. Of
// processes that start together one unpacks, and the others wait for its lock, which the kernel
// takes from a process that dies. What a killed one left is removed by the next. Whoever uses the
// folder keeps the lock, shared, until it ends: host/bundle/bundle_folder.h. On a file system
// without locks each of them unpacks, and the first folder stays. What another user could have put
// there or changed is not run. Exit status 4: the bundle is damaged, or cannot be unpacked here.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/base/files/inner_file.h"
#include "host/bundle/bundle_folder.h"
#include "packaging/bundle/footer.h"
#include "packaging/bundle/sha256.h"

namespace {

namespace fs = std::filesystem;

constexpr int kEnvironmentStatus = 4;  // as host/base/error.h
constexpr size_t kBlock = size_t{1} << 20;

using Footer = BundleFooter;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct LockFailure : Failure {
  using Failure::Failure;
};

class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, mode)), path_(path) {
    if (fd_ < 0) throw Failure("cannot open " + path + ": " + std::strerror(errno));
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

  void read_at(uint64_t offset, void* out, size_t size) const {
    for (size_t done = 0; done < size;) {
      const ssize_t n = pread(fd_, static_cast<char*>(out) + done, size - done,
                              static_cast<off_t>(offset + done));
      if (n <= 0 && errno != EINTR)
        throw Failure("cannot read " + path_ + ": " +
                      (n == 0 ? "it is cut off" : std::strerror(errno)));
      if (n > 0) done += static_cast<size_t>(n);
    }
  }
  void write(const char* data, size_t size) const {
    while (size > 0) {
      const ssize_t n = ::write(fd_, data, size);
      if (n < 0 && errno != EINTR)
        throw Failure("cannot write " + path_ + ": " + std::strerror(errno));
      if (n > 0) data += n, size -= static_cast<size_t>(n);
    }
  }

 private:
  int fd_;
  std::string path_;
};

Footer footer_of(const File& bundle) {
  struct stat info = {};
  fstat(bundle.fd(), &info);
  const auto file_size = static_cast<uint64_t>(info.st_size);
  Footer footer = {};
  if (file_size >= sizeof footer) bundle.read_at(file_size - sizeof footer, &footer, sizeof footer);
  const bool is_whole = std::memcmp(footer.magic, kBundleMagic, sizeof footer.magic) == 0 &&
                        footer.offset < file_size &&
                        footer.offset + footer.packed_size == file_size - sizeof footer;
  if (!is_whole) throw Failure("the file is not whole, its end is missing: copy it again");
  return footer;
}

std::string hex(const unsigned char* bytes, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += "0123456789abcdef"[bytes[i] >> 4];
    out += "0123456789abcdef"[bytes[i] & 15];
  }
  return out;
}

void check_hash(const File& bundle, const Footer& footer) {
  Sha256 sha;
  std::vector<char> block(kBlock);
  for (uint64_t done = 0; done < footer.packed_size;) {
    const size_t n = std::min<uint64_t>(kBlock, footer.packed_size - done);
    bundle.read_at(footer.offset + done, block.data(), n);
    sha.add(block.data(), n);
    done += n;
  }
  unsigned char hash[32];
  sha.finish(hash);
  if (std::memcmp(hash, footer.hash, sizeof hash) != 0) {
    throw Failure(
        "the file is damaged: its bytes do not have the hash that they were packed with; copy it "
        "again");
  }
}

// The unpacked bytes, in order.
class Stream {
 public:
  Stream(const File& bundle, const Footer& footer)
      : bundle_(bundle),
        at_(footer.offset),
        end_(footer.offset + footer.packed_size),
        packed_(kBlock),
        context_(ZSTD_createDCtx()) {}
  ~Stream() { ZSTD_freeDCtx(context_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void read(char* out, size_t size) {
    ZSTD_outBuffer target = {out, size, 0};
    while (target.pos < size) {
      if (in_.pos == in_.size) fill();
      const size_t status = ZSTD_decompressStream(context_, &target, &in_);
      if (ZSTD_isError(status))
        throw Failure(std::string("the file is damaged: ") + ZSTD_getErrorName(status));
    }
  }
  std::string line() {
    std::string out;
    for (char c; read(&c, 1), c != '\n';) out += c;
    return out;
  }

 private:
  void fill() {
    const size_t n = std::min<uint64_t>(packed_.size(), end_ - at_);
    if (n == 0) {
      // What is decoded already may still come out.
      if (is_at_end_) throw Failure("the file is damaged: it ends too early");
      is_at_end_ = true;
      return;
    }
    bundle_.read_at(at_, packed_.data(), n);
    at_ += n;
    in_ = {packed_.data(), n, 0};
  }

  const File& bundle_;
  uint64_t at_;
  uint64_t end_;
  bool is_at_end_ = false;
  std::vector<char> packed_;
  ZSTD_DCtx* context_;
  ZSTD_inBuffer in_ = {nullptr, 0, 0};
};

// For each file a line "MODE SIZE NAME", then its bytes; an empty line at the end.
void unpack(const File& bundle, const Footer& footer, const fs::path& folder) {
  Stream stream(bundle, footer);
  std::vector<char> block(kBlock);
  for (std::string line; !(line = stream.line()).empty();) {
    unsigned mode = 0;
    unsigned long long size = 0;
    int begin = 0;
    const int count = std::sscanf(line.c_str(), "%o %llu%n", &mode, &size, &begin);
    const auto end = static_cast<size_t>(begin);
    const bool has_name = count == 2 && end < line.size() && line[end] == ' ';
    const std::string name = has_name ? line.substr(end + 1) : "";  // which may begin with a blank
    if (!rtrain::is_inner_path(name)) throw Failure("the file is damaged: " + line);
    const fs::path path = folder / name;
    fs::create_directories(path.parent_path());
    const File out(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    while (size > 0) {
      const size_t n = std::min<unsigned long long>(kBlock, size);
      stream.read(block.data(), n);
      out.write(block.data(), n);
      size -= n;
    }
  }
}

fs::path cache_folder() {
  const std::string folder = rtrain::bundle::bundle_folder();
  if (folder.empty())
    throw Failure("HOME is not set: set XDG_CACHE_HOME to a folder to unpack into");
  return folder;
}

// The lock of an unpacked bundle. `rtrain gc --bundles` removes its file.
class Lock {
 public:
  explicit Lock(std::string path) : path_(std::move(path)) {}

  // LOCK_SH or LOCK_EX, of the file that is there then. False: the file system has no locks.
  bool take(int how) {
    for (;;) {
      if (!file_) open_file();
      while (flock(file_->fd(), how) != 0) {
        if (errno != EINTR) return false;
      }
      struct stat ours = {};
      struct stat there = {};
      fstat(file_->fd(), &ours);
      if (stat(path_.c_str(), &there) == 0 && there.st_ino == ours.st_ino) return true;
      file_.reset();
    }
  }
  void open_file() {
    try {
      file_.emplace(path_, O_RDWR | O_CREAT, 0600);
    } catch (const Failure& e) {
      throw LockFailure(e.what());
    }
  }
  void write_name(const std::string& name) const {
    if (ftruncate(file_->fd(), 0) == 0) file_->write(name.data(), name.size());
  }
  // For as long as this process and those that it starts live, also as another program. The number
  // is far from those that programs give a meaning.
  void keep() const {
    constexpr int kFar = 200;
    futimens(file_->fd(), nullptr);
    fcntl(file_->fd(), F_DUPFD, kFar);
  }

 private:
  std::string path_;
  std::optional<File> file_;
};

void sync(const fs::path& path) {
  const File file(path, O_RDONLY);
  if (fsync(file.fd()) != 0)
    throw Failure("cannot write " + path.string() + ": " + std::strerror(errno));
}

// A folder that is there is complete also after the machine has lost its power.
void sync_tree(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) sync(entry);
  sync(folder);
}

// By way of the folder `partial`, which is there.
void unpack_by(const fs::path& partial, const fs::path& folder, const File& bundle,
               const Footer& footer) {
  try {
    unpack(bundle, footer, partial);
    sync_tree(partial);
    std::error_code failure;
    fs::rename(partial, folder, failure);
    if (failure && !fs::exists(folder)) throw fs::filesystem_error("rename", partial, failure);
    if (failure) fs::remove_all(partial);  // another process was first
    sync(folder.parent_path());
  } catch (const std::exception& e) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw Failure(std::string(e.what()) + "\nUnpacking needs " +
                  std::to_string((footer.size >> 20) + 1) + " MiB in " +
                  folder.parent_path().string() + "; XDG_CACHE_HOME names another place");
  }
}

void unpack_into(const fs::path& folder, const File& bundle, const Footer& footer) {
  const fs::path partial = folder.string() + ".partial";
  fs::remove_all(partial);
  check_hash(bundle, footer);
  fs::create_directory(partial);
  unpack_by(partial, folder, bundle, footer);
}

// Others may do the same now.
void unpack_without_lock(const fs::path& folder, const File& bundle, const Footer& footer) {
  check_hash(bundle, footer);
  unsigned char number[8];
  if (getentropy(number, sizeof number) != 0) throw Failure("the system has no random numbers");
  const fs::path partial = folder.string() + "." + hex(number, sizeof number) + ".partial";
  fs::create_directory(partial);
  unpack_by(partial, folder, bundle, footer);
}

// While it is there nobody else may write into what is made, whatever the umask.
class PrivateMask {
 public:
  PrivateMask() : before_(umask(0)) { umask(before_ | kOfOthers); }
  ~PrivateMask() { umask(before_); }
  PrivateMask(const PrivateMask&) = delete;
  PrivateMask& operator=(const PrivateMask&) = delete;

  static constexpr mode_t kOfOthers = S_IWGRP | S_IWOTH;

 private:
  mode_t before_;
};

// Refuses what other users may have put there, or may change: what does not belong to this user or
// root, and what others may write to. In a folder that `holds` other entries they may, where these
// stay their owners' (as in /tmp).
void check_is_safe(const fs::path& path, bool holds = false) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode) && holds) {
    stat(path.c_str(), &info);
  }
  const bool is_owned = info.st_uid == geteuid() || info.st_uid == 0;
  const bool is_open = !S_ISLNK(info.st_mode) && (info.st_mode & PrivateMask::kOfOthers) != 0 &&
                       !(holds && (info.st_mode & S_ISVTX) != 0);
  if (is_owned && !is_open) return;
  throw Failure(path.string() +
                (is_owned ? " may be written to by other users"
                          : " belongs to user " + std::to_string(info.st_uid)) +
                ", who could make it run anything: set XDG_CACHE_HOME to a folder of your own");
}

void check_folder(const fs::path& folder) {
  const fs::path bundles = folder.parent_path();
  for (const fs::path& parent :
       {bundles.parent_path().parent_path(), bundles.parent_path(), bundles})
    check_is_safe(parent, true);
  check_is_safe(folder);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    check_is_safe(entry.path());
}

// The folder is there, and stays.
void use(const fs::path& folder, const File& bundle, const Footer& footer) {
  const PrivateMask mask;
  fs::create_directories(folder.parent_path());
  Lock lock(folder.string() + ".lock");
  try {
    while (lock.take(LOCK_SH) && !fs::exists(folder)) {
      if (!lock.take(LOCK_EX)) break;
      if (fs::exists(folder)) continue;
      lock.write_name(fs::read_symlink("/proc/self/exe").filename().string());
      unpack_into(folder, bundle, footer);
    }
    if (!fs::exists(folder)) unpack_without_lock(folder, bundle, footer);
    lock.keep();
  } catch (const LockFailure&) {
    // In a cache that others have filled, and that this user cannot write to.
    if (!fs::exists(folder)) throw;
  }
}

// What is started in the folder: the program by the name of the bundle, then the words of the file
// of kBundleCommand, unless the first one given is --rtrain, then those given.
std::vector<std::string> command_line(const fs::path& folder, char** argv) {
  std::vector<std::string> words = {argv[0]};
  char** given = argv[0] == nullptr ? argv : argv + 1;
  std::ifstream file(folder / kBundleCommand);
  const bool is_plain = *given != nullptr && std::strcmp(*given, "--rtrain") == 0;
  if (file && is_plain) ++given;
  for (std::string line; file && !is_plain && std::getline(file, line);) {
    words.push_back(line.starts_with('@') ? (folder / line.substr(1)).string() : line);
  }
  for (; *given != nullptr; ++given) words.emplace_back(*given);
  return words;
}

int run(char** argv) {
  const File bundle("/proc/self/exe", O_RDONLY);
  const Footer footer = footer_of(bundle);
  const fs::path folder = cache_folder() / hex(footer.hash, 16);
  use(folder, bundle, footer);
  check_folder(folder);
  const std::string program = folder / "bin/rtrain";
  std::vector<std::string> words = command_line(folder, argv);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw Failure("cannot start " + program + ": " + std::strerror(errno));
}

}  // namespace

int main(int, char** argv) {
  try {
    return run(argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rtrain: %s: %s\n", argv[0], e.what());
    return kEnvironmentStatus;
  }
}
