// host/base/object_uri.h: recognizes URIs of object stores.
#pragma once

#include <string_view>

namespace rtrain {

// "s3" of "s3://bucket/key"; empty for a path.
std::string_view uri_scheme(std::string_view uri);

// Whether it begins with s3://, gs://, gcs://, abfs://, abfss://, hdfs:// or viewfs://.
bool is_object_uri(std::string_view path);

}  // namespace rtrain
