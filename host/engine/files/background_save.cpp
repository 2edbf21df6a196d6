#include "host/engine/files/background_save.h"

#include <pthread.h>

#include "host/base/text/text.h"

namespace rtrain::engine {

bool BackgroundSave::is_done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void BackgroundSave::wait(std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [this] { return done_; })) {
    throw Error(Code::kTimeout, cat("'", path_, "' is not written after ", timeout.count() / 1000.0,
                                    " s (timeout_s)"));
  }
  if (error_) throw *error_;
}

void BackgroundSave::finish(std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    done_ = true;
  }
  changed_.notify_all();
}

BackgroundSaver::~BackgroundSaver() { join(); }

void BackgroundSaver::join() {
  if (writer_.joinable()) writer_.join();
}

std::shared_ptr<BackgroundSave> BackgroundSaver::start(BackgroundContent content,
                                                       const std::string& path) {
  join();
  content.storages = memory_.take(content.storages);
  auto save = std::make_shared<BackgroundSave>(path);
  if (host_.write_begun != nullptr) host_.write_begun(path);
  writer_ = std::thread([this, save, content = std::move(content)]() mutable {
    pthread_setname_np(pthread_self(), "rtrain-save");
    if (host_.enter_background != nullptr) host_.enter_background();
    write(std::move(content), *save);
  });
  return save;
}

void BackgroundSaver::write(BackgroundContent content, BackgroundSave& save) {
  std::optional<Error> error;
  try {
    content.write(std::move(content.storages), save.path());
  } catch (const Error& e) {
    error = e;
  } catch (const std::exception& e) {
    error = Error(Code::kInternal, e.what());
  }
  if (host_.write_ended != nullptr) host_.write_ended(save.path(), error);
  save.finish(std::move(error));
}

}  // namespace rtrain::engine
