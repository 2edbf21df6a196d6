// host/api/object_api.h: files in object stores (s3://, gs://, abfs://, hdfs://), as
// librtrain_arrow.so offers them to the host.
//
// One struct of functions, which live as long as the process. Any thread; calls block. A request
// that the store refuses for a reason that may pass (500, 503, time-outs, bodies that are cut) is
// repeated, for RTRAIN_STORE_PATIENCE_S (60) in all. Errors name the
// URI: kNotFound for an object or a bucket that is not there, kEnvironment for the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::api {

struct ObjectApi {
  // The object appears whole, or not at all. `moved` is notified of bytes that were sent.
  void (*put_file)(const std::string& uri, const std::string& path,
                   const std::function<void(uint64_t bytes)>& moved);
  void (*put_text)(const std::string& uri, std::string_view text);
  std::string (*get_text)(const std::string& uri);
  // The same, without our patience.
  std::string (*get_text_once)(const std::string& uri);
  // To a new file.
  void (*get_file)(const std::string& uri, const std::string& path);
  // URIs of all objects below the folder, sorted; empty where there is no such folder. Throws
  // kNotFound without its bucket.
  std::vector<std::string> (*list)(const std::string& folder);
  // What is not there is removed already. remove_folder: with all that is below it.
  void (*remove)(const std::string& uri);
  void (*remove_folder)(const std::string& uri);
};

}  // namespace rtrain::api
