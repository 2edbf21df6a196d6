// host/arrow/objects/object_store.h: files in object stores, by URI: s3://, gs://, abfs://,
// hdfs://.
//
// Through Arrow's file systems, which are made once for each bucket and never go. Credentials,
// regions and endpoints come from the usual variables and files of each store. Calls block, on any
// thread. Requests that failed for a reason that may pass are repeated (request_retries.h).
#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>
#include <vector>

namespace rtrain {

enum class ObjectKind { kNothing, kFile, kFolder };

// Each throws Error(kNotFound) for an object or a bucket that is not there, Error(kEnvironment)
// where the store refuses or does not answer.
ObjectKind object_kind(const std::string& uri);
// All files below the folder, sorted by their URIs.
std::vector<std::string> list_objects(const std::string& uri);
// None where there is no such folder; its bucket has to be there.
std::vector<std::string> list_objects_if_any(const std::string& uri);
std::shared_ptr<arrow::io::RandomAccessFile> open_object(const std::string& uri);
// The object appears whole at Close(); without, and after Abort(), there is none.
std::shared_ptr<arrow::io::OutputStream> create_object(const std::string& uri);
void remove_object(const std::string& uri);
void remove_object_folder(const std::string& uri);

}  // namespace rtrain
