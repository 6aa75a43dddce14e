// Says to its host, over the socket that only the runner should use, what a market does not accept: see hostile_job.sh.
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static void say(const char* head, const char* body, uint32_t body_bytes) {
  const uint32_t lengths[2] = {(uint32_t)strlen(head), body_bytes};
  const int host = 3;
  if (write(host, lengths, sizeof lengths) < 0 || write(host, head, lengths[0]) < 0 || write(host, body, body_bytes) < 0)
    _exit(3);
}

void misbehave(void) {
  say("{\"type\":\"progress\",\"fraction\":0.5,\"message\":\"zero \\u0000 byte\"}", "", 0);
  // A variable that changed at the end of time, and then at its beginning: a record's age is the difference.
  say("{\"type\":\"watched_record\",\"variable\":0,\"number\":1,\"changes\":9007199254740991,\"at_us\":9007199254740991,"
      "\"kind\":\"value\",\"file\":\"\",\"words\":\"\"}", "x", 1);
  say("{\"type\":\"watched_record\",\"variable\":0,\"number\":2,\"changes\":9007199254740991,\"at_us\":0,"
      "\"kind\":\"value\",\"file\":\"\",\"words\":\"\"}", "x", 1);
  say("{\"type\":\"watched_record\",\"variable\":1,\"number\":1,\"changes\":1,\"at_us\":0,"
      "\"kind\":\"problem\",\"file\":\"\",\"words\":\"zero \\u0000 byte\"}", "", 0);
  say("{\"type\":\"r_error\",\"message\":\"zero \\u0000 byte\",\"call\":\"\",\"traceback\":[]}", "", 0);
  _exit(1);
}
