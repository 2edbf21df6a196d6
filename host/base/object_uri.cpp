#include "host/base/object_uri.h"

#include <algorithm>
#include <array>

namespace rtrain {

std::string_view uri_scheme(std::string_view uri) {
  const size_t end = uri.find("://");
  return end == std::string_view::npos ? std::string_view() : uri.substr(0, end);
}

bool is_object_uri(std::string_view path) {
  constexpr std::array<std::string_view, 7> kSchemes{"s3",    "gs",   "gcs",   "abfs",
                                                     "abfss", "hdfs", "viewfs"};
  return std::find(kSchemes.begin(), kSchemes.end(), uri_scheme(path)) != kSchemes.end();
}

}  // namespace rtrain
