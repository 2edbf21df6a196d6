#include "host/store/runs/storage_folder.h"

#include <cstdlib>

#include "host/base/error.h"
#include "host/base/object_uri.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Throws for a URL: "s3://bucket/x" would otherwise become a local folder of that name.
std::string local_folder(const std::string& path) {
  const size_t scheme = path.find("://");
  const bool is_url = scheme != std::string::npos && path.find('/') > scheme;
  if (!is_url) return absolute_path(path);
  if (is_object_uri(path)) return ObjectStorage::folder_of(path);
  throw Error(
      Code::kUnsupported,
      cat("storage ", path,
          ": expected a folder, or a URI that begins with s3://, gs://, abfs:// or hdfs://"));
}

}  // namespace

std::string storage_folder(const std::string& named) {
  if (!named.empty()) return local_folder(named);
  if (const std::string set = variable("RTRAIN_STORAGE"); !set.empty()) return local_folder(set);
  if (!variable("HOME").empty()) return absolute_path("~/rtrain_results");
  throw Error(Code::kEnvironment,
              "HOME is not set, so there is no ~/rtrain_results: name the folder of results "
              "(--storage, RunConfig.storage_path or RTRAIN_STORAGE)");
}

}  // namespace rtrain::store
