#include "volunteer/sandbox/frames.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace remotist::volunteer;

TEST_CASE("frames are read complete, in whatever pieces they arrive") {
  const std::string bytes = frame_bytes("{\"a\":1}", std::string("raw\0bytes", 9)) + frame_bytes("{}");
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      while (auto frame = reader.next()) frames.push_back(std::move(*frame));
    }
    REQUIRE(frames.size() == 2);
    CHECK(frames[0].head == "{\"a\":1}");
    CHECK(frames[0].body == std::string("raw\0bytes", 9));
    CHECK(frames[1].head == "{}");
    CHECK(frames[1].body.empty());
  }
}

TEST_CASE("a torn frame is no frame and does no harm") {
  FrameReader reader;
  const auto bytes = frame_bytes("{\"type\":\"completed\"}");
  reader.feed(std::string_view(bytes).substr(0, bytes.size() - 1));
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.broken());
}

TEST_CASE("a frame of the greatest size is read, one past it breaks the reader for good") {
  FrameReader reader;
  reader.feed(frame_bytes(std::string(kFrameHeadBytesMax, 'h'), std::string(kFrameBodyBytesMax, 'b')));
  const auto frame = reader.next();
  REQUIRE(frame);
  CHECK(frame->head.size() == kFrameHeadBytesMax);
  CHECK(frame->body.size() == kFrameBodyBytesMax);

  reader.feed(frame_bytes(std::string(kFrameHeadBytesMax + 1, 'h')));
  CHECK_FALSE(reader.next());
  CHECK(reader.broken());
  reader.feed(frame_bytes("{}"));
  CHECK_FALSE(reader.next());
}

TEST_CASE("a body past its limit is refused before it has come") {
  FrameReader reader;
  reader.feed(std::string_view("\x02\0\0\0\xff\xff\xff\xff", 8));
  CHECK_FALSE(reader.next());
  CHECK(reader.broken());
}
