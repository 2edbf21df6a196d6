// host/arrow/objects/request_retries.h: how long requests to an S3 store are repeated.
//
// AWS's client ends an attempt that receives no byte for some seconds, and makes ten attempts by
// default: with a server that accepts connections but never answers, one request took 99 s.
#pragma once

#include <arrow/filesystem/filesystem.h>

#include <chrono>
#include <string>

namespace rtrain::arrow {

// How long requests to a store that does not answer are repeated: RTRAIN_STORE_PATIENCE_S, else
// 60 s.
std::chrono::duration<double> store_patience();

// Tells the user why a request takes long; once in 20 s. Any thread.
void tell_silence(const std::string& reason);

// Options for FileSystemFromUriAndOptions of s3://. A request with a temporary failure is repeated
// while another attempt can end within store_patience() of the first one.
::arrow::fs::FileSystemFactoryOptions s3_request_options();

}  // namespace rtrain::arrow
