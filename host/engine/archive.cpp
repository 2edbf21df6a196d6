#include "host/engine/archive.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/engine/pickle_reader.h"
#include "host/engine/pickle_writer.h"

namespace rtrain {
namespace {

// A new file beside the target that becomes the target at commit(), and is removed otherwise.
class NewFile {
 public:
  explicit NewFile(std::string target)
      : target_(std::move(target)), path_(cat(target_, ".tmp-", static_cast<int>(getpid()))) {
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd_ < 0) fail();
  }
  ~NewFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Always claims success and keeps an error for commit(): the archive writer's destructor writes
  // too, and would end the process by throwing after a failed write.
  size_t write(const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    for (size_t done = 0; done < size && error_ == 0;) {
      const ssize_t n = ::write(fd_, bytes + done, size - done);
      if (n >= 0) {
        done += static_cast<size_t>(n);
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    return size;
  }

  void commit() {
    if (error_ != 0) {
      errno = error_;
      fail();
    }
    if (rename(path_.c_str(), target_.c_str()) != 0) fail();
    close(fd_);
    fd_ = -1;
  }

 private:
  [[noreturn]] void fail() {
    throw Error(Code::kEnvironment, cat("cannot write '", target_, "': ", std::strerror(errno)));
  }

  std::string target_;
  std::string path_;
  int fd_ = -1;
  int error_ = 0;
};

// The storage's bytes in host memory; keeps the copy of a device storage alive.
at::Tensor host_bytes(const c10::Storage& storage) {
  at::Tensor bytes = at::empty({0}, at::TensorOptions().dtype(at::kByte).device(storage.device()));
  bytes.set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
  return bytes.cpu();
}

void write_records(const Pickle& content, NewFile& file) {
  caffe2::serialize::PyTorchStreamWriter writer(
      [&file](const void* data, size_t size) { return file.write(data, size); });
  writer.writeRecord("data.pkl", content.bytes.data(), content.bytes.size());
  writer.writeRecord("byteorder", "little", 6);
  for (size_t i = 0; i < content.storages.size(); ++i) {
    const at::Tensor bytes = host_bytes(content.storages[i]);
    writer.writeRecord(cat("data/", i), bytes.const_data_ptr(), bytes.nbytes());
  }
  writer.writeEndOfFile();
}

class ArchiveReader {
 public:
  ArchiveReader(const std::string& path, std::optional<c10::Device> device)
      : reader_(path), device_(device) {}

  Tree read() {
    if (!reader_.hasRecord("data.pkl")) {
      throw Error(Code::kArgument,
                  "it is a zip archive without data.pkl, so torch.save did not write it");
    }
    if (reader_.hasRecord("constants.pkl")) {
      throw Error(Code::kArgument,
                  "it holds a TorchScript program; only values of torch.save are read");
    }
    if (reader_.hasRecord("byteorder") && record("byteorder") != "little") {
      throw Error(Code::kArgument, "it was written on a big-endian machine");
    }
    const std::string pickle = record("data.pkl");
    return unpickle(pickle, [this](const StorageRequest& request) { return storage(request); });
  }

 private:
  std::string record(const std::string& name) {
    auto [data, size] = reader_.getRecord(name);
    return std::string(static_cast<const char*>(data.get()), size);
  }

  c10::Storage storage(const StorageRequest& request) {
    const std::string name = cat("data/", request.key);
    const size_t wanted = static_cast<size_t>(request.numel) * c10::elementSize(request.type);
    if (!reader_.hasRecord(name) || reader_.getRecordSize(name) != wanted) {
      throw Error(Code::kArgument, cat("its record ", name, " is missing or has another size than ",
                                       wanted, " bytes"));
    }
    auto [data, size] = reader_.getRecord(name);
    c10::Storage out(c10::Storage::use_byte_size_t(), size, std::move(data));
    const c10::Device device = device_ ? *device_ : c10::Device(request.location);
    return device.is_cpu() ? out : moved(out, device, request.location);
  }

  static c10::Storage moved(const c10::Storage& storage, c10::Device device,
                            const std::string& location) {
    try {
      return host_bytes(storage).to(device).storage();
    } catch (const c10::Error&) {
      throw Error(Code::kEnvironment,
                  cat("its tensors were saved on '", location, "' and '", device.str(),
                      "' cannot be used here: pass {map_location = 'cpu'}"));
    }
  }

  caffe2::serialize::PyTorchStreamReader reader_;
  std::optional<c10::Device> device_;
};

}  // namespace

void save_archive(const Tree& tree, const std::string& path) {
  const Pickle content = pickle(tree);
  NewFile file(path);
  write_records(content, file);
  file.commit();
}

Tree load_archive(const std::string& path, std::optional<c10::Device> device) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw Error(Code::kNotFound, cat("cannot read '", path, "': ", std::strerror(errno)));
  }
  try {
    return ArchiveReader(path, device).read();
  } catch (const Error& error) {
    throw Error(error.code(), cat("cannot load '", path, "': ", error.message()));
  } catch (const c10::Error& error) {
    throw Error(Code::kArgument,
                cat("cannot load '", path, "': it is no archive of torch.save, or damaged (",
                    split(error.what_without_backtrace(), '\n').front(), ")"));
  }
}

}  // namespace rtrain
