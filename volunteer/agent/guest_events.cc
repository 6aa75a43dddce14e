#include "volunteer/agent/guest_events.h"

#include <utility>
#include <variant>

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
  void operator()(const Resumed&) const { attempts_.on_resumed(name_, now_); }
  void operator()(const NotResumable& it) const { attempts_.on_not_resumable(name_, it.reason, now_); }
  void operator()(const CheckpointRefused& it) const {
    attempts_.on_checkpoint_refused(name_, it.reason, now_);
  }
  void operator()(CheckpointTaken& taken) const {
    attempts_.on_checkpoint_taken(name_, std::move(taken), now_);
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
