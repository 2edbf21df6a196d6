// host/api/object_api.h: files in object stores (s3://, gs://, abfs://, hdfs://), as
// librtrain_arrow.so offers them to the host.
//
// One struct of functions, which live as long as the process. Thread: any; calls block. A request
// that fails for a reason that may pass (500, 503, time-outs, truncated bodies) is repeated, for
// RTRAIN_STORE_PATIENCE_S (60) in all. Errors name the URI: kNotFound for an object or a bucket
// that does not exist, kEnvironment for all others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::api {

struct ObjectApi {
  // The object appears complete or not at all. Calls `moved` with numbers of bytes that were sent.
  void (*put_file)(const std::string& uri, const std::string& path,
                   const std::function<void(uint64_t bytes)>& moved);
  void (*put_text)(const std::string& uri, std::string_view text);
  std::string (*get_text)(const std::string& uri);
  // As get_text, but does not repeat a request.
  std::string (*get_text_once)(const std::string& uri);
  // Writes the object to a new file.
  void (*get_file)(const std::string& uri, const std::string& path);
  // Returns the URIs of all objects below the folder, sorted; empty where there is no such folder.
  // Throws kNotFound where there is no such bucket.
  std::vector<std::string> (*list)(const std::string& folder);
  // Removes an object, or a folder with all objects below it; does nothing where there is none.
  void (*remove)(const std::string& uri);
  void (*remove_folder)(const std::string& uri);
};

}  // namespace rtrain::api
