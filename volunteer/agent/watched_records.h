// The records of one attempt's watched variables that are to be sent to the market. A record is kept until it
// is acknowledged. When the queue is full, the newest record of a variable replaces the one before it.
//
// The records of one variable are sent in their order, and one message of the attempt at a time is
// unacknowledged, so that a rejected message can be sent again before the next one. A record that was sent
// once is never changed: the market may have it. A large value is uploaded before its record is sent; while
// it waits for that, a newer value of the variable replaces it.
//
// Has no connection or file. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/watched_record.h"
#include "volunteer/connection/clock.h"
#include "volunteer/sandbox/guest_record.h"

namespace remotist::volunteer {

// A value that is too large for a record, in a file that the guest wrote.
struct LargeValue {
  std::size_t variable;
  std::int64_t number;
  std::string file;
};

class WatchedRecordQueue {
 public:
  // The queue is full when it has reached either limit.
  static constexpr std::size_t kRecordsMax = 8192;
  static constexpr std::size_t kBytesMax = 4 << 20;
  static constexpr std::size_t kRecordBytes = 256;  // counted for a record in addition to its value
  static constexpr std::size_t kUploadsMax = 2;     // at the same time
  static constexpr std::size_t kGapsMax = 16;       // of a variable, that are remembered

  // In the order of GuestSpec::watched_variables.
  explicit WatchedRecordQueue(std::vector<std::string> variables);

  // Queues a change of a variable. Returns the file of a value that will not be uploaded any more, or "".
  [[nodiscard]] std::string add(GuestRecord given, Time now);

  // --- large values

  // The next value to upload; uploaded(), retry_upload() or upload_failed() must follow.
  std::optional<LargeValue> next_upload(Time now);
  void uploaded(const LargeValue& value, std::vector<std::string> chunks, std::int64_t size);
  void retry_upload(const LargeValue& value, Time at);
  // The record is sent without its value; `why` is for people.
  void upload_failed(const LargeValue& value, std::string why);

  // --- messages

  // The records of the next message, which has so many bytes of room; they count as sent. Empty when nothing
  // can be sent now.
  std::vector<WatchedRecord> take(std::size_t bytes_max, Time now);
  // The records that were taken last are committed …
  void acknowledged();
  // … or are to be sent again at that time …
  void retry_all(Time at);
  // … or are dropped, because the market does not accept them.
  void rejected();
  // The records that were taken last are to be sent again on the next connection.
  void connection_lost() { in_flight_ = 0; }

  // Whether no record of the variable up to that number is still to be acknowledged.
  bool is_settled(std::size_t variable, std::int64_t number) const;
  // Of a settled one: whether the market has its value. It lacks those that newer ones replaced here, those
  // that it rejected, and values that could not be uploaded. May be false of a record from long ago.
  bool is_recorded(std::size_t variable, std::int64_t number) const;

  bool empty() const { return records_ == 0; }
  std::size_t records() const { return records_; }
  std::size_t bytes() const { return bytes_; }
  // When to call wake() for the next retry. Never: Time::max().
  Time due() const;
  void wake(Time now);

 private:
  struct Queued {
    WatchedRecord record;
    Time changed_at{};
    std::string file{};  // of a value that is not uploaded
    bool uploading = false;
    bool sent = false;
    Time upload_not_before{};
    bool can_be_sent() const { return file.empty(); }
  };
  // Numbers of records whose values the market does not have.
  struct Gap {
    std::int64_t first;
    std::int64_t last;
  };
  struct Variable {
    std::string name;
    std::deque<Queued> queue{};
    std::size_t in_flight = 0;  // how many of the queue's first records are in the unacknowledged message
    // The changes that rejected records stood for: they are added to the next record.
    std::optional<std::int64_t> dropped_changes{};
    std::vector<Gap> gaps{};  // at most kGapsMax
    void add_gap(std::int64_t number);
  };

  static std::size_t memory_bytes(const Queued& queued);
  static std::size_t message_bytes(const Queued& queued);
  Queued make_record(Variable& variable, GuestRecord& given, Time now);
  Queued* end_upload(const LargeValue& value);
  // Calls change(), which changes the record, and keeps bytes_ right.
  void update(Queued& queued, auto change);

  std::vector<Variable> variables_;
  std::optional<Time> run_began_;  // estimated
  std::size_t records_ = 0;
  std::size_t bytes_ = 0;
  std::size_t uploads_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t first_ = 0;  // the variable whose records come first in the next message
  Time retry_at_{};
};

}  // namespace remotist::volunteer
