#include "host/engine/files/archive.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>

#include <charconv>

#include "host/base/codec/stored_zip.h"
#include "host/base/error.h"
#include "host/base/files/new_file.h"
#include "host/base/text/text.h"
#include "host/engine/files/file_storage.h"
#include "host/engine/files/pickle_reader.h"
#include "host/engine/runtime/dtype.h"

namespace rtrain::engine {
namespace {

// The formats that LibTorch 2.11 reads (caffe2/serialize/versions.h).
constexpr int kOldestFormat = 1, kNewestFormat = 10;
constexpr size_t kMaxShortRecord = 64;
// Limit for the content outside of tensors: names, numbers, strings. A sparse file may claim more
// than the machine's memory.
constexpr uint64_t kMaxPickleBytes = uint64_t{2} << 30;
// The format of torch.save before the zip archive (since 1.6 only on request): a pickled magic
// number; before that a tar archive.
constexpr std::string_view kLegacyMagic = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.";
constexpr std::string_view kTarMagic = "ustar";
constexpr uint64_t kTarMagicOffset = 257;

void write_records(const Pickle& content, NewFile& file) {
  // The callback reports success for every write: the writer's destructor writes too, and would end
  // the process by throwing after a failed write.
  caffe2::serialize::PyTorchStreamWriter writer([&file](const void* data, size_t size) {
    file.write(data, size);
    return size;
  });
  writer.writeRecord("data.pkl", content.bytes.data(), content.bytes.size());
  writer.writeRecord("byteorder", "little", 6);
  for (size_t i = 0; i < content.storages.size(); ++i) {
    const at::Tensor bytes = host_bytes(content.storages[i]);
    writer.writeRecord(cat("data/", i), bytes.const_data_ptr(), bytes.nbytes());
  }
  writer.writeEndOfFile();
}

bool begins_with(const ByteSource& source, uint64_t offset, std::string_view bytes) {
  if (source.size() < offset + bytes.size()) return false;
  return source.text(offset, bytes.size()) == bytes;
}

// Refuses a file that is not a zip archive, and names its format if it is known.
void check_format(const ByteSource& source) {
  if (begins_with(source, 0, "PK\x03\x04")) return;
  if (begins_with(source, 0, kLegacyMagic) || begins_with(source, kTarMagicOffset, kTarMagic)) {
    throw Error(Code::kArgument,
                "it is in torch.save's format from before 1.6. Convert it in Python: "
                "torch.save(torch.load(path), new_path)");
  }
  if (begins_with(source, 8, "{")) {
    throw Error(Code::kArgument,
                "it is not an archive of torch.save; it may be one for torch.load_safetensors");
  }
  throw Error(Code::kArgument, "it is not an archive of torch.save");
}

class ArchiveReader {
 public:
  ArchiveReader(const ByteSource& source, const DeviceChoice& devices)
      : source_(source), zip_(source), devices_(devices) {}

  Tree read() {
    if (!contains("data.pkl")) {
      throw Error(Code::kArgument,
                  "it is a zip archive without data.pkl, so torch.save did not write it");
    }
    if (contains("constants.pkl")) {
      throw Error(Code::kArgument,
                  "it holds a TorchScript program; only values of torch.save are read");
    }
    if (contains("byteorder") && short_text("byteorder") != "little") {
      throw Error(Code::kArgument, "it was written on a big-endian machine");
    }
    check_version();
    const StoredZip::Record* pickle = find("data.pkl");
    if (pickle->size > kMaxPickleBytes) {
      throw Error(Code::kArgument, cat("its record data.pkl has ", pickle->size, " bytes: at most ",
                                       kMaxPickleBytes, " are read"));
    }
    return unpickle(source_.text(pickle->offset, pickle->size),
                    [this](const StorageRequest& request) { return storage(request); });
  }

 private:
  bool contains(std::string_view name) const { return zip_.contains(cat(zip_.root(), "/", name)); }

  const StoredZip::Record* find(std::string_view name) const {
    return zip_.find(cat(zip_.root(), "/", name));
  }

  // A record of a few characters; "" for a longer one.
  std::string short_text(std::string_view name) const {
    const StoredZip::Record* record = find(name);
    if (record == nullptr || record->size > kMaxShortRecord) return {};
    return std::string(trim(source_.text(record->offset, record->size)));
  }

  void check_version() const {
    const std::string text = short_text(contains("version") ? "version" : ".data/version");
    int version = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (error != std::errc() || end != text.data() + text.size() || version < kOldestFormat) {
      throw Error(Code::kArgument, "its record version is missing or damaged");
    }
    if (version > kNewestFormat) {
      throw Error(Code::kArgument, cat("its format is version ", version, ", newer than ",
                                       kNewestFormat, ", the newest that is known"));
    }
  }

  c10::Storage storage(const StorageRequest& request) {
    const std::string name = cat("data/", request.key);
    const size_t item_size = c10::elementSize(request.type);
    const size_t wanted = static_cast<size_t>(request.numel) * item_size;
    const StoredZip::Record* record = find(name);
    if (record == nullptr || record->size != wanted) {
      throw Error(Code::kArgument, cat("its record ", name, " is missing or has another size than ",
                                       wanted, " bytes"));
    }
    const c10::Storage out = file_storage(source_, record->offset, wanted, item_size);
    return storage_on(out, target(request.location), request.location);
  }

  c10::Device target(const std::string& location) const {
    if (devices_.all) return *devices_.all;
    const auto chosen = devices_.by_location.find(location);
    if (chosen != devices_.by_location.end()) return chosen->second;
    if (const auto device = device_from_name(location)) return *device;
    throw Error(Code::kEnvironment,
                cat("its tensors were saved on '", location,
                    "', which is not a device here: pass {map_location = 'cpu'}"));
  }

  const ByteSource& source_;
  StoredZip zip_;
  const DeviceChoice& devices_;
};

}  // namespace

void save_archive(const Tree& tree, const std::string& path) { write_archive(pickle(tree), path); }

void write_archive(const Pickle& content, const std::string& path) {
  NewFile file(path);
  write_records(content, file);
  file.commit();
}

Tree load_archive(const ByteSource& source, const DeviceChoice& devices) {
  check_format(source);
  return ArchiveReader(source, devices).read();
}

}  // namespace rtrain::engine
