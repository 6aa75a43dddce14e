#include "volunteer/agent/guest_events.h"

#include <utility>
#include <variant>

#include "core/log.h"

namespace remotist::volunteer {
namespace {

class Handler {
 public:
  Handler(Attempts& attempts, const protocol::AttemptName& name, Time now)
      : attempts_(attempts), name_(name), now_(now) {}

  void operator()(Progress& progress) const {
    attempts_.on_progress(name_, progress.fraction, std::move(progress.message));
  }
  void operator()(GuestRecord& record) const { attempts_.on_watched_record(name_, std::move(record), now_); }
  // The protocol has no message for checkpoints yet.
  void operator()(const Resumed&) const {}
  void operator()(const NotResumable&) const {}
  void operator()(const CheckpointRefused&) const {}
  void operator()(const CheckpointTaken& checkpoint) const {
    log::info("checkpoint_ignored",
              {{"job", name_.job.text()}, {"attempt", name_.number}, {"bytes", checkpoint.bytes}});
  }
  void operator()(Ended& ended) const { attempts_.on_run_ended(name_, std::move(ended.verdict), now_); }

 private:
  Attempts& attempts_;
  const protocol::AttemptName& name_;
  Time now_;
};

}  // namespace

void handle_guest_event(Attempts& attempts, const protocol::AttemptName& name, Event event, Time now) {
  std::visit(Handler{attempts, name, now}, event.what);
}

}  // namespace remotist::volunteer
