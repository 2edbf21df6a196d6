// host/wire/rendezvous.h: how the processes of a job find each other without a secret of their own:
// a file in a folder that all nodes share. Node 0 writes there where it listens, and a fresh
// secret; the others read it.
#pragma once

#include <optional>
#include <string>

#include "host/wire/contact.h"

namespace rtrain::wire {

class Rendezvous {
 public:
  // $RTRAIN_RENDEZVOUS, else ~/.local/state/rtrain/jobs/<job id>. Throws Error(kEnvironment)
  // without a home.
  static std::string path_for(const std::string& job_id);

  // `start`: which start of the job this is, the same text on all nodes: a file of another start is
  // not followed.
  Rendezvous(const std::string& path, std::string start);
  // Removes the file that publish() wrote, unless another process has replaced it.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // For node 0. Throws Error(kEnvironment).
  void publish(const WireContact& contact);
  // For the others, as WireClientOptions::find: nothing until node 0 has published; `why` then says
  // where it is expected.
  std::optional<WireContact> find(std::string& why) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string start_;
  std::string nonce_;  // of what this process has published
};

}  // namespace rtrain::wire
