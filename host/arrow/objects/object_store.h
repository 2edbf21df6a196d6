// host/arrow/objects/object_store.h: files in object stores, by URI: s3://, gs://, abfs://,
// hdfs://.
//
// Uses Arrow's file systems, one for each bucket, which are never destroyed. Credentials, regions
// and endpoints come from the usual variables and files of each store. Calls block; any thread.
// Requests with a temporary failure are repeated (request_retries.h).
#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>
#include <vector>

namespace rtrain::arrow {

enum class ObjectKind { kNothing, kFile, kFolder };

// Each throws Error(kNotFound) for an object or bucket that does not exist, and Error(kEnvironment)
// if the store refuses or does not answer.
ObjectKind object_kind(const std::string& uri);
// All files below the folder, sorted by their URIs.
std::vector<std::string> list_objects(const std::string& uri);
// Returns an empty list if the folder does not exist. The bucket must exist.
std::vector<std::string> list_objects_if_any(const std::string& uri);
std::shared_ptr<::arrow::io::RandomAccessFile> open_object(const std::string& uri);
// The object appears, complete, at Close(). Without Close(), or after Abort(), there is no object.
std::shared_ptr<::arrow::io::OutputStream> create_object(const std::string& uri);
void remove_object(const std::string& uri);
void remove_object_folder(const std::string& uri);

}  // namespace rtrain::arrow
