// Says to the host, as if it were the runner, that watched variables changed: first what no runner says, then
// one thing that could be true, then, if asked to, a flood.
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int frames_socket(void) {
  for (int fd = 3; fd < 1024; ++fd) {
    struct stat is;
    int type = 0;
    socklen_t length = sizeof type;
    if (fstat(fd, &is) == 0 && S_ISSOCK(is.st_mode) && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
        type == SOCK_STREAM)
      return fd;
  }
  return -1;
}

static int say(int fd, const char* head, const char* body, uint32_t body_size) {
  const uint32_t lengths[2] = {(uint32_t)strlen(head), body_size};
  if (write(fd, lengths, sizeof lengths) != sizeof lengths) return -1;
  if (write(fd, head, lengths[0]) != (ssize_t)lengths[0]) return -1;
  return write(fd, body, body_size) == (ssize_t)body_size ? 0 : -1;
}

static int change(int fd, const char* variable, const char* number, const char* kind, const char* file, const char* words,
                  const char* body, uint32_t body_size) {
  char head[2048];
  snprintf(head, sizeof head,
           "{\"type\":\"watched_record\",\"variable\":%s,\"number\":%s,\"changes\":1,\"at_us\":5,\"kind\":\"%s\",\"file\":\"%s\","
           "\"words\":\"%s\"}",
           variable, number, kind, file, words);
  return say(fd, head, body, body_size);
}

void forge(int* flood) {
  const int fd = frames_socket();
  signal(SIGPIPE, SIG_IGN);
  char* large = calloc(1, 70000);
  symlink("/etc/passwd", "/out/watched-91");
  link("/out/watched-91", "/out/watched-92");
  mkdir("/out/watched-93", 0700);
  mkfifo("/out/watched-94", 0600);
  change(fd, "1", "1", "value", "", "", "x", 1);                     // nobody watches it
  change(fd, "18446744073709551615", "1", "value", "", "", "x", 1);  // nor that
  change(fd, "-1", "1", "value", "", "", "x", 1);
  change(fd, "0.5", "1", "value", "", "", "x", 1);
  change(fd, "0", "0", "value", "", "", "x", 1);  // out of turn
  change(fd, "0", "2", "value", "", "", "x", 1);
  change(fd, "0", "99999999999999999999", "value", "", "", "x", 1);
  change(fd, "0", "1", "value", "", "", "", 0);           // no value
  change(fd, "0", "1", "value", "", "", large, 65537);    // too large for a record
  change(fd, "0", "1", "value", "watched-1", "", "x", 1); // both
  change(fd, "0", "1", "value", "watched-77", "", "", 0); // no such file
  change(fd, "0", "1", "value", "../work/main.R", "", "", 0);
  change(fd, "0", "1", "value", "result.rds", "", "", 0);
  change(fd, "0", "1", "value", "watched-91", "", "", 0);
  change(fd, "0", "1", "value", "watched-92", "", "", 0);
  change(fd, "0", "1", "value", "watched-93", "", "", 0);
  change(fd, "0", "1", "value", "watched-94", "", "", 0);
  change(fd, "0", "1", "gone", "", "", "", 0);
  change(fd, "0", "1", "removed", "", "", "x", 1);
  change(fd, "0", "1", "removed", "", "words", "", 0);
  change(fd, "0", "1", "problem", "", "", "", 0);
  change(fd, "0", "1", "problem", "", "it is forged", "", 0);  // as good as true
  for (long i = 2; *flood != 0 && i < 200000; ++i) {
    char number[32];
    snprintf(number, sizeof number, "%ld", i);
    if (change(fd, "0", number, "value", "", "", "x", 1) != 0) break;
  }
}
