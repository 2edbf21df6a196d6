#include "host/wire/rendezvous.h"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"

namespace rtrain::wire {
namespace {

constexpr int kNonceDigits = 16;

// A job's id as a file's name. Some launchers use slashes and colons in ids.
std::string file_name(const std::string& job_id) {
  std::string out = job_id;
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.')
      c = '_';
  }
  return out.starts_with('.') || out.empty() ? cat("_", out) : out;
}

}  // namespace

std::string Rendezvous::path_for(const std::string& job_id) {
  const char* own = std::getenv("RTRAIN_RENDEZVOUS");
  if (own != nullptr && *own != '\0') return own;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    throw Error(Code::kEnvironment,
                "no place for the nodes to find each other: HOME is not set; set RTRAIN_RENDEZVOUS "
                "to a path that all nodes share");
  }
  return cat(home, "/.local/state/rtrain/jobs/", file_name(job_id));
}

Rendezvous::Rendezvous(const std::string& path, std::string start)
    : path_(std::filesystem::absolute(path)), start_(std::move(start)) {}

Rendezvous::~Rendezvous() {
  if (nonce_.empty()) return;
  try {
    const auto file = ContactFile::read(path_);
    if (file && file->nonce == nonce_) ::unlink(path_.c_str());
  } catch (const Error&) {
    // The file cannot be read: it is another user's by now.
  }
}

void Rendezvous::publish(const WireContact& contact) {
  nonce_ = random_hex(kNonceDigits);
  ContactFile{.contact = contact, .start = start_, .host = machine::hostname(), .nonce = nonce_}
      .write(path_);
}

std::optional<WireContact> Rendezvous::find(std::string& why) const {
  auto file = ContactFile::read(path_);
  if (file && file->start == start_) {
    file->contact.may_change = true;
    return file->contact;
  }
  const std::string what = file ? cat("is of another start of the job ('", file->start,
                                      "' on node ", file->host, ", not '", start_, "')")
                                : "is not there";
  why = cat("on node ", machine::hostname(), " the file ", path_, " ", what,
            ": node 0 writes it there; set RTRAIN_RENDEZVOUS to a path that all nodes share, or "
            "RTRAIN_SECRET_FILE");
  return std::nullopt;
}

}  // namespace rtrain::wire
