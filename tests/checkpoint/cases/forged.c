// Says to the host, as if it were the runner, that checkpoints were taken: in halves, in odd orders, with odd files.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
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

static void say(int fd, const char* format, unsigned long long number) {
  char head[512];
  snprintf(head, sizeof head, format, number);
  const uint32_t lengths[2] = {(uint32_t)strlen(head), 0};
  if (write(fd, lengths, sizeof lengths) != sizeof lengths) return;
  if (write(fd, head, lengths[0]) != (ssize_t)lengths[0]) return;
}

static const char kBegun[] = "{\"type\":\"checkpoint_begun\",\"number\":%llu}";
static const char kMarks[] =
    "{\"type\":\"watched_marks\",\"number\":%llu,\"records\":[999],\"kinds\":[\"value\"],\"hashes\":[\"00\"]}";
static const char kDone[] =
    "{\"type\":\"checkpointed\",\"number\":%llu,\"pause_ms\":1,\"child_cpu_ms\":1}";

void forge(void) {
  const int fd = frames_socket();
  char path[64];
  // Without a file, without a beginning, without a marker in the output, twice, backwards.
  for (unsigned long long number = 100; number < 130; ++number) {
    say(fd, kDone, number);
    say(fd, kMarks, number);
    say(fd, kBegun, number);
    say(fd, kBegun, number);
    say(fd, kMarks, number);
    snprintf(path, sizeof path, "/out/checkpoint-%llu", number);
    switch (number % 5) {
      case 0: symlink("/etc/passwd", path); break;
      case 1: mkdir(path, 0755); break;
      case 2: mkfifo(path, 0644); break;
      case 3: close(open(path, O_CREAT | O_WRONLY, 0644)); link(path, "/out/second_name"); break;
      default: close(open(path, O_CREAT | O_WRONLY, 0644));
    }
    say(fd, kDone, number);
    say(fd, kDone, number);
  }
  say(fd, kBegun, 9007199254740991ULL);
  say(fd, "{\"type\":\"resumed\"}%.0llu", 0);
  say(fd, "{\"type\":\"resume_failed\",\"reason\":\"forged\"}%.0llu", 0);
  for (int i = 0; i < 20; ++i) say(fd, "{\"type\":\"checkpoint_refused\",\"reason\":\"forged\"}%.0llu", 0);
}
