#include "host/wire/contact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host/base/codec/json.h"
#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/files/new_file.h"
#include "host/base/text/hex.h"
#include "host/base/text/text.h"

namespace rtrain::wire {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{64} << 10;

// The file's content.
struct Content {
  std::vector<std::string> hosts;
  int port = 0;
  std::string secret;  // hexadecimal
  std::string start;
  std::string host;
  std::string nonce;

  static constexpr RecordFields kFields{
      required("hosts", &Content::hosts),   required("port", &Content::port),
      required("secret", &Content::secret), required("start", &Content::start),
      required("host", &Content::host),     required("nonce", &Content::nonce)};
};

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(Code::kEnvironment, cat("the file ", path, " ", why));
}

void make_folders(const fs::path& folder) {
  std::error_code ignored;  // mkdir fails for the same reason
  if (folder.empty() || fs::exists(folder, ignored)) return;
  make_folders(folder.parent_path());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error(Code::kEnvironment, cat("cannot make the folder ", folder.string(), ": ",
                                        std::string_view(std::strerror(errno))));
  }
}

// Returns the file's text; nullopt without such a file. A client of NFS may remember for half a
// minute that there was none: opening the folder makes it look again.
std::optional<std::string> read_private_file(const std::string& path) {
  const fs::path name(path);
  const Fd folder(::open(name.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd file(folder.is_open() ? ::openat(folder.get(), name.filename().c_str(),
                                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                                 : -1);
  if (!file.is_open() && (errno == ENOENT || errno == ESTALE)) return std::nullopt;
  struct stat info {};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) {
    refuse(path, cat("cannot be read: ", std::string_view(std::strerror(errno))));
  }
  if (!S_ISREG(info.st_mode)) refuse(path, "is not a file");
  if (info.st_uid != geteuid()) refuse(path, "belongs to another user");
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) refuse(path, "can be opened by other users");
  std::string bytes(kMaxBytes, '\0');
  const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
  if (n < 0) refuse(path, cat("cannot be read: ", std::string_view(std::strerror(errno))));
  bytes.resize(static_cast<size_t>(n));
  return bytes;
}

}  // namespace

void ContactFile::write(const std::string& path) const {
  make_folders(fs::path(path).parent_path());
  const std::string text = to_json(to_value(Content{.hosts = contact.hosts,
                                                    .port = contact.port,
                                                    .secret = to_hex(contact.secret.bytes()),
                                                    .start = start,
                                                    .host = host,
                                                    .nonce = nonce}),
                                   2);
  NewFile file(path, NewFile::Readers::kUserAlone);
  file.write(text.data(), text.size());
  file.commit();
}

std::optional<ContactFile> ContactFile::read(const std::string& path) {
  const auto text = read_private_file(path);
  if (!text) return std::nullopt;
  try {
    auto content = from_value<Content>(from_json(*text));
    auto secret = from_hex(content.secret);
    if (!secret) throw Error(Code::kArgument, "its secret is not hexadecimal");
    ContactFile out{
        .contact = {.hosts = std::move(content.hosts),
                    .port = content.port,
                    .secret = secret->empty() ? Secret::none() : Secret(std::move(*secret), path)},
        .start = std::move(content.start),
        .host = std::move(content.host),
        .nonce = std::move(content.nonce)};
    return out;
  } catch (const Error& e) {
    refuse(path, cat("is damaged: ", e.message()));
  }
}

}  // namespace rtrain::wire
