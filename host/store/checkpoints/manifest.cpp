#include "host/store/checkpoints/manifest.h"

#include <set>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/codec/hash.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/files/inner_file.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"
#include "host/store/files/folder_links.h"

namespace rtrain::store {
namespace {

constexpr int kFormat = 1;
// Limited, because metadata are sent in one message with the other data of staging.
constexpr size_t kMaxMetadataBytes = size_t{512} << 10;

Error damaged(const std::string& path, std::string_view reason) {
  return Error(Code::kCheckpoint, cat("checkpoint manifest ", path, " is damaged: ", reason));
}

std::string manifest_path(const std::string& directory) {
  return cat(directory, "/", kManifestName);
}

Manifest manifest_of(Value checkpoint, Value metadata) {
  auto manifest = from_value<Manifest>(std::move(checkpoint));
  manifest.metadata = std::move(metadata);
  check_inner_path(manifest.name);
  for (const CheckpointFile& file : manifest.files) check_inner_path(file.path);
  for (const std::string& folder : manifest.folders) check_inner_path(folder);
  return manifest;
}

std::string document(const Value& checkpoint, const Value& metadata) {
  Map out{{"format", kFormat}};
  if (!checkpoint.is_nil()) {
    out.set("checkpoint", checkpoint);
    out.set("xxh3", hash_text(hash64(to_json(checkpoint))));
  }
  out.set("metadata", metadata);
  return to_json(out, 1) + "\n";
}

// Parses a manifest, or the metadata of an uncommitted folder, which has no "checkpoint" (nil).
Value parse_document(std::string_view text, const std::string& path) {
  Value value;
  try {
    value = from_json(text);
  } catch (const Error& e) {
    throw damaged(path, e.message());
  }
  if (!value.is_map() || value["format"] != Value(kFormat) || !value["metadata"].is_map()) {
    throw damaged(path, "not a manifest of format 1");
  }
  const Value& checkpoint = value["checkpoint"];
  const Value expected = checkpoint.is_nil() ? Value() : hash_text(hash64(to_json(checkpoint)));
  if (value["xxh3"] != expected) throw damaged(path, "its hash does not match");
  return value;
}

}  // namespace

void check_inner_path(const std::string& path) {
  if (is_inner_path(path)) return;
  throw Error(Code::kCheckpoint,
              cat("the name '", terminal_line(path), "' leads out of the checkpoint"));
}

int64_t Manifest::size_bytes() const {
  int64_t sum = 0;
  for (const CheckpointFile& file : files) sum += file.size_bytes.value_or(0);
  return sum;
}

std::string Manifest::to_text() const { return document(rtrain::to_value(*this), metadata); }

Manifest Manifest::parse(std::string_view text, const std::string& path) {
  Value value = parse_document(text, path);
  if (value["checkpoint"].is_nil()) throw damaged(path, "it describes no checkpoint");
  try {
    return manifest_of(std::move(*value.as_map().find("checkpoint")), value["metadata"]);
  } catch (const Error& e) {
    throw damaged(path, e.message());
  }
}

Manifest Manifest::read(const std::string& directory) {
  const std::string path = manifest_path(directory);
  if (!path_exists(path)) {
    throw Error(Code::kCheckpoint,
                cat(directory, " is not a checkpoint: it has no ", kManifestName));
  }
  return parse(read_text(path), path);
}

std::optional<Manifest> Manifest::try_read(const std::string& directory, std::string& problem) {
  try {
    return read(directory);
  } catch (const Error& e) {
    // Treats a read error of the disk (EIO) like a changed file.
    if (e.code() != Code::kCheckpoint && e.code() != Code::kEnvironment) throw;
    problem = e.message();
    return std::nullopt;
  }
}

void check_layout(const Manifest& manifest, const std::string& path) {
  const auto refuse = [&](const std::string& name, std::string_view what) {
    throw damaged(path, cat(terminal_line(name), what));
  };
  std::set<std::string> files;
  for (const CheckpointFile& file : manifest.files) {
    if (!files.insert(file.path).second) refuse(file.path, " is there twice");
    if (file.link && leaves_folder(file.path, *file.link)) {
      refuse(file.path, cat(" leads out of the checkpoint, to ", terminal_line(*file.link)));
    }
  }
  const auto check_parents = [&](const std::string& name) {
    for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
      if (files.contains(name.substr(0, end))) refuse(name, " is below a file or link");
    }
  };
  for (const CheckpointFile& file : manifest.files) check_parents(file.path);
  for (const std::string& folder : manifest.folders) check_parents(folder + "/");
}

bool is_committed_checkpoint(const std::string& directory) {
  const std::string path = manifest_path(directory);
  return path_exists(path) && !parse_document(read_text(path), path)["checkpoint"].is_nil();
}

Value get_checkpoint_metadata(const std::string& directory) {
  const std::string path = manifest_path(directory);
  if (!path_exists(path)) return Map{};
  return parse_document(read_text(path), path)["metadata"];
}

void set_checkpoint_metadata(const std::string& directory, const Value& metadata) {
  if (!metadata.is_map()) {
    throw Error(Code::kArgument, cat("metadata is a map, got ", metadata.type_name()));
  }
  const size_t size = encode(metadata).size();
  if (size > kMaxMetadataBytes) {
    throw Error(Code::kArgument,
                cat("the metadata have ", size, " bytes, the limit is ", kMaxMetadataBytes,
                    ": put them into a file of the checkpoint"));
  }
  const std::string path = manifest_path(directory);
  Value checkpoint;
  if (path_exists(path)) checkpoint = parse_document(read_text(path), path)["checkpoint"];
  replace_text(path, document(checkpoint, metadata));
}

}  // namespace rtrain::store
