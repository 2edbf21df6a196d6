// host/arrow/objects/request_retries.h: how long requests to an S3 store are repeated.
//
// AWS's client gives up one attempt that brings no byte for some seconds, and by itself makes ten
// of them: with a server that accepts and is silent one request took 99 s.
#pragma once

#include <arrow/filesystem/filesystem.h>

#include <chrono>

namespace rtrain {

// How long a store that does not answer is asked again: RTRAIN_STORE_PATIENCE_S, else 60 s.
std::chrono::duration<double> store_patience();

// For FileSystemFromUriAndOptions of s3://: a request that fails for a reason that may pass is
// repeated while another attempt can end within store_patience() after the first one.
arrow::fs::FileSystemFactoryOptions s3_request_options();

}  // namespace rtrain
