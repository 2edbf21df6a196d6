// host/wire/secret_source.h: reads a secret from the environment, or from a file that only the user
// can read.
#pragma once

#include <optional>
#include <string>

#include "host/wire/secret.h"

namespace rtrain::wire {

// Returns the secret in RTRAIN_SECRET, or in the file that RTRAIN_SECRET_FILE names; nullopt
// without either. Removes both variables from the environment, and wipes the secret in this
// process's copy of it, so that no child inherits them: call it before there are other threads.
// Throws Error(kConfig) when both are set, and for a secret that is too short; Error(kEnvironment)
// for a file that cannot be read, or that other users can read.
std::optional<Secret> take_secret_from_environment();

// Returns the secret in this file, without the newline at its end. Throws as above.
Secret read_secret(const std::string& path);

}  // namespace rtrain::wire
