// host/wire/secret_source.h: where a secret comes from: the environment, or a file that only the
// user can read.
#pragma once

#include <optional>
#include <string>

#include "host/wire/secret.h"

namespace rtrain::wire {

// The secret that RTRAIN_SECRET holds, or the file that RTRAIN_SECRET_FILE names; nothing without
// both. Both variables leave the environment, and the secret this process's own copy of it, so that
// no child inherits them: call it before there are other threads. Throws Error(kConfig) when both
// are set, and for what is too short; Error(kEnvironment) for a file that cannot be read, or that
// others than the user can read.
std::optional<Secret> take_secret_from_environment();

// The secret in that file, without the end of its last line. Throws as above.
Secret read_secret(const std::string& path);

}  // namespace rtrain::wire
