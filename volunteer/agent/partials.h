// The records of one attempt's watched variables on their way to the market: kept until they are
// acknowledged, exactly as long as there is room for that, and put together when there is not.
//
// Of one variable they are said in their order; one message of the attempt is on its way at a time, so that
// one that was refused can be said again before the next. What was said once stays as it is: the market may
// have it. A large value is uploaded first, and one that waits for that gives way to a newer one.
//
// Knows nothing of connections or files. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/partial_record.h"
#include "volunteer/connection/window.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// A value that is too large for its record, in a file of the guest's.
struct LargeValue {
  std::size_t variable;
  std::int64_t number;
  std::string file;
};

class Partials {
 public:
  // Up to these all records are kept; beyond either of them a variable's newest takes the place of the one
  // before it.
  static constexpr std::size_t kRecordsMax = 8192;
  static constexpr std::size_t kBytesMax = 4 << 20;
  static constexpr std::size_t kRecordBytes = 256;  // that a record weighs beside its value
  static constexpr std::size_t kUploadsMax = 2;     // at once

  // As GuestSpec::watched has them.
  explicit Partials(std::vector<std::string> variables);

  // A variable has changed. Gives the file of a value that nobody will ask for any more, else nothing.
  [[nodiscard]] std::string add(PartialValue value, Time now);

  // --- large values

  // One to be uploaded now; uploaded() or not_uploaded() follows.
  std::optional<LargeValue> next_upload(Time now);
  void uploaded(const LargeValue& value, std::vector<std::string> chunks, std::int64_t size);
  // It is to be tried again, at that time; or never, and `words` say why.
  void upload_again(const LargeValue& value, Time at);
  void not_uploaded(const LargeValue& value, std::string words);

  // --- what is said

  // What fits into a message with so many bytes of room; they count as said. Empty when nothing can be said.
  std::vector<PartialRecord> take(std::size_t bytes_max, Time now);
  // What was taken last is committed; or was not done, and is to be said again at that time, or never.
  void acknowledged();
  void say_again(Time at);
  void refused();
  // The connection is gone: what was taken is to be said again.
  void unsaid() { in_flight_ = 0; }

  bool empty() const { return records_ == 0; }
  std::size_t records() const { return records_; }
  std::size_t bytes() const { return bytes_; }
  // When to call wake(): something that failed may be tried again then. Never: Time::max().
  Time due() const;
  void wake(Time now);

 private:
  struct Held {
    PartialRecord record;
    Time at{};           // it changed
    std::string file{};  // of a value that is not uploaded
    bool uploading = false;
    bool said = false;
    Time not_before{};  // to upload
    bool ready() const { return file.empty(); }
  };
  struct Variable {
    std::string name;
    std::deque<Held> queue{};
    std::size_t in_flight = 0;           // of the queue's first
    std::optional<std::int64_t> owed{};  // changes of what was refused: the next record stands for them too
  };

  static std::size_t weight_of(const Held& held);
  static std::size_t wire_bytes_of(const Held& held);
  Held held_of(Variable& variable, PartialValue& value, Time now);
  Held* find(const LargeValue& value);
  void weigh(Held& held, auto change);

  std::vector<Variable> variables_;
  std::optional<Time> began_;  // the run, as far as can be told
  std::size_t records_ = 0;
  std::size_t bytes_ = 0;
  std::size_t uploads_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t first_ = 0;  // whose turn it is to be said first
  Time again_at_{};
};

}  // namespace remotist::volunteer
