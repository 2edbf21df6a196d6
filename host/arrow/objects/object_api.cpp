// host/arrow/objects/object_api.cpp: the functions of host/api/object_api.h.
#include "host/api/object_api.h"

#include <arrow/buffer.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "host/arrow/objects/object_store.h"
#include "host/arrow/objects/request_retries.h"
#include "host/arrow/types/status.h"
#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kPieceBytes = int64_t{8} << 20;
constexpr std::chrono::milliseconds kFirstDelay{100};
constexpr std::chrono::milliseconds kLongestDelay{5000};

// Whether another request would get the same answer.
bool is_final(const Error& error) {
  if (error.code() != Code::kEnvironment) return true;
  static constexpr std::array<std::string_view, 8> kFinal{
      "there is no bucket",  "ACCESS_DENIED",      "INVALID_ACCESS_KEY", "SIGNATURE_DOES_NOT",
      "UNRECOGNIZED_CLIENT", "PERMANENT_REDIRECT", "INVALID_CLIENT",     "AuthorizationHeader"};
  const std::string text = error.message();
  return std::any_of(kFinal.begin(), kFinal.end(),
                     [&](std::string_view each) { return text.find(each) != std::string::npos; });
}

template <class Function>
auto patiently(const Function& function) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(store_patience());
  std::chrono::milliseconds delay = kFirstDelay;
  while (true) {
    try {
      return function();
    } catch (const Error& e) {
      if (is_final(e) || Clock::now() + delay > end) throw;
    }
    std::this_thread::sleep_for(delay);
    delay = std::min(2 * delay, kLongestDelay);
  }
}

Fd open_local(const std::string& path, int flags) {
  Fd file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file.get() >= 0) return file;
  throw Error(Code::kEnvironment, cat("cannot open ", path, ": ", std::strerror(errno)));
}

// An upload. Destroyed before close(), it is aborted and leaves no object.
class Upload {
 public:
  explicit Upload(const std::string& uri) : task_{"write", uri}, stream_(create_object(uri)) {}
  ~Upload() {
    if (!stream_->closed()) static_cast<void>(stream_->Abort());
  }
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  void write(std::shared_ptr<::arrow::Buffer> piece) { check(stream_->Write(piece), task_); }
  void close() { check(stream_->Close(), task_); }

 private:
  FileTask task_;
  std::shared_ptr<::arrow::io::OutputStream> stream_;
};

void put_file(const std::string& uri, const std::string& path,
              const std::function<void(uint64_t)>& moved) {
  patiently([&] {
    const Fd file = open_local(path, O_RDONLY);
    Upload upload(uri);
    while (true) {
      auto piece = take(::arrow::AllocateResizableBuffer(kPieceBytes), {"write", uri});
      const ssize_t size = ::read(file.get(), piece->mutable_data(), kPieceBytes);
      if (size < 0) {
        throw Error(Code::kEnvironment, cat("cannot read ", path, ": ", std::strerror(errno)));
      }
      if (size == 0) break;
      check(piece->Resize(size, false), {"write", uri});
      upload.write(std::move(piece));
      moved(static_cast<uint64_t>(size));
    }
    upload.close();
  });
}

void put_text(const std::string& uri, std::string_view text) {
  patiently([&] {
    Upload upload(uri);
    upload.write(::arrow::Buffer::FromString(std::string(text)));
    upload.close();
  });
}

// Calls the function with each piece of the object, in order.
template <class Function>
void read_pieces(const std::string& uri, const Function& function) {
  const FileTask task{"read", uri};
  const auto object = open_object(uri);
  const int64_t size = take(object->GetSize(), task);
  for (int64_t position = 0; position < size; position += kPieceBytes) {
    const int64_t wanted = std::min(kPieceBytes, size - position);
    const auto piece = take(object->ReadAt(position, wanted), task);
    if (piece->size() != wanted) {
      throw Error(Code::kEnvironment, failure_text(task, "the answer was cut"));
    }
    function(std::string_view(*piece));
  }
}

std::string get_text_once(const std::string& uri) {
  std::string out;
  read_pieces(uri, [&](std::string_view piece) { out += piece; });
  return out;
}

std::string get_text(const std::string& uri) {
  return patiently([&] { return get_text_once(uri); });
}

void get_file(const std::string& uri, const std::string& path) {
  patiently([&] {
    const Fd file = open_local(path, O_WRONLY | O_CREAT | O_TRUNC);
    read_pieces(uri, [&](std::string_view piece) {
      while (!piece.empty()) {
        const ssize_t size = ::write(file.get(), piece.data(), piece.size());
        if (size < 0) {
          throw Error(Code::kEnvironment, cat("cannot write ", path, ": ", std::strerror(errno)));
        }
        piece.remove_prefix(static_cast<size_t>(size));
      }
    });
  });
}

std::vector<std::string> list(const std::string& folder) {
  return patiently([&] { return list_objects_if_any(folder); });
}

void remove_with(void (*function)(const std::string&), const std::string& uri) {
  patiently([&] {
    try {
      function(uri);
    } catch (const Error& e) {
      if (e.code() != Code::kNotFound) throw;
    }
  });
}

void remove(const std::string& uri) { remove_with(&remove_object, uri); }
void remove_folder(const std::string& uri) { remove_with(&remove_object_folder, uri); }

}  // namespace
}  // namespace rtrain::arrow

extern "C" __attribute__((visibility("default"))) const rtrain::api::ObjectApi*
rtrain_object_api() {
  static constexpr rtrain::api::ObjectApi kApi{.put_file = &rtrain::arrow::put_file,
                                               .put_text = &rtrain::arrow::put_text,
                                               .get_text = &rtrain::arrow::get_text,
                                               .get_text_once = &rtrain::arrow::get_text_once,
                                               .get_file = &rtrain::arrow::get_file,
                                               .list = &rtrain::arrow::list,
                                               .remove = &rtrain::arrow::remove,
                                               .remove_folder = &rtrain::arrow::remove_folder};
  return &kApi;
}
