#include "host/arrow/objects/object_store.h"

#include <arrow/buffer.h>
#include <arrow/config.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/util/io_util.h>
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "host/arrow/objects/request_deadline.h"
#include "host/arrow/objects/request_retries.h"
#include "host/arrow/types/status.h"
#include "host/base/error.h"
#include "host/base/object_uri.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using ::arrow::fs::FileSystem;

constexpr const char* kS3Library = "libarrow_s3.so.2600";

// Loads the library next to libarrow that adds s3:// to Arrow's file systems. The caller holds the
// lock of place_of().
void load_s3() {
  static bool is_loaded = false;
  if (is_loaded) return;
  Dl_info arrow{};
  if (dladdr(reinterpret_cast<void*>(&::arrow::GetBuildInfo), &arrow) == 0) {
    throw Error(Code::kEnvironment, "s3://: it is not known where libarrow was loaded from");
  }
  std::string path = arrow.dli_fname;
  path.replace(path.rfind('/') + 1, std::string::npos, kS3Library);
  const ::arrow::Status status = ::arrow::fs::LoadFileSystemFactories(path.c_str());
  if (!status.ok()) {
    throw Error(Code::kEnvironment,
                cat("s3:// needs ", kS3Library, " of the wheel pyarrow==26.0.1 next to libarrow: ",
                    status.message(), "; scripts/setup brings it"));
  }
  is_loaded = true;
}

// Call it after the first file system was created: then the exit handler runs before that one's
// static objects are destroyed. Arrow's threads must end before their memory is freed.
void finalize_at_exit() {
  static bool is_registered = false;
  if (!std::exchange(is_registered, true)) std::atexit([] { ::arrow::fs::EnsureFinalized(); });
}

// The file system of a bucket, and the bucket's path in it.
struct Bucket {
  std::shared_ptr<FileSystem> store;
  std::string path;
};

// "s3://bucket/key?region=eu-west-1", in its parts.
struct ObjectUri {
  std::string scheme;
  std::string root;   // for example "s3://bucket"
  std::string key;    // for example "/key", or empty
  std::string query;  // for example "?region=eu-west-1"; an option of the file system
};

ObjectUri parse(const std::string& uri) {
  ObjectUri out{.scheme = std::string(uri_scheme(uri)), .root = {}, .key = {}, .query = {}};
  const size_t query = std::min(uri.find('?'), uri.size());
  const size_t key = std::min(uri.find('/', out.scheme.size() + 3), query);
  out.root = uri.substr(0, key);
  out.key = uri.substr(key, query - key);
  out.query = uri.substr(query);
  while (out.key.ends_with('/')) out.key.pop_back();
  return out;
}

// A place in a store: the file system, and the path in it.
struct Place {
  std::shared_ptr<FileSystem> store;
  std::string bucket;
  std::string path;
  ObjectUri uri;
  RequestDeadline deadline;

  // Calls the function with the file system and the path, within the time limit of its store.
  template <class Function>
  auto request(Function function) const {
    return deadline([store = store, path = path, function] { return function(*store, path); });
  }

  // The URI of an object below this place.
  std::string uri_of(const std::string& other) const {
    return cat(uri.root, uri.key, other.substr(path.size()), uri.query);
  }
};

std::string no_bucket(const std::string& uri) {
  const ObjectUri parts = parse(uri);
  return cat("there is no bucket '", parts.root.substr(parts.scheme.size() + 3),
             "' (its endpoint is that of AWS_ENDPOINT_URL, ", "or the store's own)");
}

// Explains Arrow's error, which has the store's error codes, in the user's terms.
std::string reason_of(const ::arrow::Status& status, const std::string& uri) {
  const std::string text(status.message());
  const auto says = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (says("NO_SUCH_BUCKET")) return cat(no_bucket(uri), ": ", text);
  if (says("ACCESS_DENIED") || says("INVALID_ACCESS_KEY") || says("SIGNATURE_DOES_NOT")) {
    return cat("the store refuses the credentials of its variables and files, such as ",
               "AWS_ACCESS_KEY_ID and ~/.aws/credentials: ", text);
  }
  if (says("OAuth2 access token")) {
    return cat(
        "there are no credentials, as in GOOGLE_APPLICATION_CREDENTIALS; a public bucket is "
        "gs://anonymous@bucket/…: ",
        text);
  }
  if (says("PERMANENT_REDIRECT") || says("AuthorizationHeader")) {
    return cat("the bucket may be in another region (AWS_DEFAULT_REGION): ", text);
  }
  return text;
}

[[noreturn]] void refuse(const ::arrow::Status& status, const char* verb, const std::string& uri) {
  const bool is_missing = ::arrow::internal::ErrnoFromStatus(status) == ENOENT;
  const std::string reason = is_missing ? "there is no such object" : reason_of(status, uri);
  throw Error(is_missing ? Code::kNotFound : Code::kEnvironment, failure_text({verb, uri}, reason));
}

::arrow::Result<Bucket> open_bucket(const ObjectUri& uri) {
  if (uri.scheme == "s3") load_s3();
  // Without this option, Google's client repeats a failed request for a quarter of an hour.
  const bool is_google = uri.scheme == "gs" || uri.scheme == "gcs";
  const bool is_set = uri.query.find("retry_limit_seconds") != std::string::npos;
  const std::string_view sign = uri.query.empty() ? "?" : "&";
  const std::string limit = is_google && !is_set ? cat(sign, "retry_limit_seconds=5") : "";
  Bucket out;
  const std::string whole = cat(uri.root, uri.query, limit);
  auto made = uri.scheme == "s3"
                  ? ::arrow::fs::FileSystemFromUriAndOptions(whole, s3_request_options(), &out.path)
                  : ::arrow::fs::FileSystemFromUri(whole, &out.path);
  if (!made.ok()) return made.status();
  finalize_at_exit();
  out.store = *std::move(made);
  return out;
}

Place place_of(const std::string& uri, const char* verb) {
  static std::mutex mutex;
  static std::map<std::string, Bucket> buckets;
  Place out;
  out.uri = parse(uri);
  out.deadline = RequestDeadline(out.uri.scheme);
  const std::lock_guard lock(mutex);
  Bucket& bucket = buckets[cat(out.uri.root, out.uri.query)];
  if (bucket.store == nullptr) {
    auto opened = open_bucket(out.uri);
    if (!opened.ok()) refuse(opened.status(), verb, uri);
    bucket = *std::move(opened);
  }
  out.store = bucket.store;
  out.bucket = bucket.path;
  out.path = cat(bucket.path, out.uri.key);
  return out;
}

// Adds an errno, because Arrow's readers take an I/O error without one for an error in the file's
// content.
::arrow::Status as_system_error(const ::arrow::Status& status) {
  if (status.ok() || ::arrow::internal::ErrnoFromStatus(status) != 0) return status;
  return ::arrow::internal::IOErrorFromErrno(EIO, status.message());
}

template <class T>
::arrow::Result<T> as_system_error(::arrow::Result<T> result) {
  if (result.ok()) return result;
  return as_system_error(result.status());
}

class ObjectInput final : public ::arrow::io::RandomAccessFile {
 public:
  ObjectInput(std::shared_ptr<::arrow::io::RandomAccessFile> file, const RequestDeadline& deadline)
      : file_(std::move(file)), deadline_(deadline) {}

  ::arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  ::arrow::Result<int64_t> GetSize() override {
    return as_system_error(deadline_([file = file_] { return file->GetSize(); }));
  }
  ::arrow::Result<int64_t> Tell() const override { return position_; }
  ::arrow::Status Seek(int64_t position) override {
    position_ = position;
    return ::arrow::Status::OK();
  }
  ::arrow::Result<int64_t> Read(int64_t size, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, size, out));
    position_ += read;
    return read;
  }
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> Read(int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(auto read, ReadAt(position_, size));
    position_ += read->size();
    return read;
  }
  ::arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    if (!deadline_.has_limit()) return as_system_error(file_->ReadAt(position, size, out));
    ARROW_ASSIGN_OR_RAISE(const auto read, ReadAt(position, size));
    std::memcpy(out, read->data(), static_cast<size_t>(read->size()));
    return read->size();
  }
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> ReadAt(int64_t position,
                                                           int64_t size) override {
    return as_system_error(
        deadline_([file = file_, position, size] { return file->ReadAt(position, size); }));
  }

 private:
  std::shared_ptr<::arrow::io::RandomAccessFile> file_;
  RequestDeadline deadline_;
  int64_t position_ = 0;
};

// The stream of a store with a time limit. After a request that failed no other is made: the failed
// one may still run, and a stream is for one thread.
class LimitedOutput final : public ::arrow::io::OutputStream {
 public:
  LimitedOutput(std::shared_ptr<::arrow::io::OutputStream> stream, const RequestDeadline& deadline)
      : stream_(std::move(stream)), deadline_(deadline) {}

  ::arrow::Status Close() override {
    return request([stream = stream_] { return stream->Close(); });
  }
  ::arrow::Status Abort() override {
    return request([stream = stream_] { return stream->Abort(); });
  }
  bool closed() const override { return !failure_.ok() || stream_->closed(); }
  ::arrow::Result<int64_t> Tell() const override { return position_; }
  ::arrow::Status Write(const void* data, int64_t size) override {
    return Write(::arrow::Buffer::FromString(
        std::string(static_cast<const char*>(data), static_cast<size_t>(size))));
  }
  ::arrow::Status Write(const std::shared_ptr<::arrow::Buffer>& data) override {
    position_ += data->size();
    return request([stream = stream_, data] { return stream->Write(data); });
  }

 private:
  template <class Call>
  ::arrow::Status request(Call call) {
    if (failure_.ok()) failure_ = deadline_(std::move(call));
    return failure_;
  }

  std::shared_ptr<::arrow::io::OutputStream> stream_;
  RequestDeadline deadline_;
  ::arrow::Status failure_;
  int64_t position_ = 0;
};

}  // namespace

ObjectKind object_kind(const std::string& uri) {
  const Place place = place_of(uri, "read");
  const auto info = place.request(
      [](FileSystem& store, const std::string& path) { return store.GetFileInfo(path); });
  if (!info.ok()) refuse(info.status(), "read", uri);
  switch (info->type()) {
    case ::arrow::fs::FileType::File:
      return ObjectKind::kFile;
    case ::arrow::fs::FileType::Directory:
      return ObjectKind::kFolder;
    default:
      return ObjectKind::kNothing;
  }
}

namespace {

std::vector<std::string> list_below(const std::string& uri, bool may_be_missing) {
  const Place place = place_of(uri, "list");
  ::arrow::fs::FileSelector below;
  below.base_dir = place.path;
  below.recursive = true;
  below.allow_not_found = may_be_missing;
  const auto found = place.request(
      [below](FileSystem& store, const std::string&) { return store.GetFileInfo(below); });
  if (!found.ok()) refuse(found.status(), "list", uri);
  std::vector<std::string> out;
  for (const ::arrow::fs::FileInfo& info : *found) {
    if (info.IsFile()) out.push_back(place.uri_of(info.path()));
  }
  std::sort(out.begin(), out.end());
  // For a missing bucket some stores list nothing instead of an error.
  if (out.empty() && may_be_missing) {
    const auto bucket = place.request([name = place.bucket](FileSystem& store, const std::string&) {
      return store.GetFileInfo(name);
    });
    if (!bucket.ok()) refuse(bucket.status(), "list", uri);
    if (bucket->type() == ::arrow::fs::FileType::NotFound) {
      throw Error(Code::kEnvironment, cat("cannot list '", uri, "': ", no_bucket(uri)));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> list_objects(const std::string& uri) { return list_below(uri, false); }

std::vector<std::string> list_objects_if_any(const std::string& uri) {
  return list_below(uri, true);
}

std::shared_ptr<::arrow::io::RandomAccessFile> open_object(const std::string& uri) {
  const Place place = place_of(uri, "read");
  auto file = place.request(
      [](FileSystem& store, const std::string& path) { return store.OpenInputFile(path); });
  if (!file.ok()) refuse(file.status(), "read", uri);
  return std::make_shared<ObjectInput>(*std::move(file), place.deadline);
}

std::shared_ptr<::arrow::io::OutputStream> create_object(const std::string& uri) {
  const Place place = place_of(uri, "write");
  auto stream = place.request(
      [](FileSystem& store, const std::string& path) { return store.OpenOutputStream(path); });
  if (!stream.ok()) refuse(stream.status(), "write", uri);
  if (!place.deadline.has_limit()) return *std::move(stream);
  return std::make_shared<LimitedOutput>(*std::move(stream), place.deadline);
}

void remove_object_folder(const std::string& uri) {
  const Place place = place_of(uri, "remove");
  const ::arrow::Status status = place.request(
      [](FileSystem& store, const std::string& path) { return store.DeleteDir(path); });
  if (!status.ok()) refuse(status, "remove", uri);
}

void remove_object(const std::string& uri) {
  const Place place = place_of(uri, "remove");
  const ::arrow::Status status = place.request(
      [](FileSystem& store, const std::string& path) { return store.DeleteFile(path); });
  if (!status.ok()) refuse(status, "remove", uri);
}

}  // namespace rtrain::arrow
