#include "volunteer/runner/console.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unistd.h>

#include "volunteer/runner/r.h"
#include "volunteer/runner/watch/watch.h"
#include "volunteer/runner/write_all.h"

namespace remotist::volunteer {

namespace {

std::string script;
std::size_t script_at = 0;
bool evaluating = false;

// Gives the script's next line to R's reader of expressions. Other readers (stdin(), browser()) get the end
// of the input. A line longer than R's buffer is split; R continues an incomplete expression.
int read_console(const char* prompt, unsigned char* buffer, int size, int) {
  if (evaluating || std::string_view(prompt).starts_with("Browse") || script_at >= script.size()) return 0;
  const std::size_t space = static_cast<std::size_t>(size) - 2;
  std::size_t end = script.find('\n', script_at);
  end = end == std::string::npos ? script.size() : end + 1;
  const std::size_t count = std::min(end - script_at, space);
  std::memcpy(buffer, script.data() + script_at, count);
  script_at += count;
  buffer[count] = '\0';
  return 1;
}

void write_console(const char* text, int length, int is_error) {
  write_all(is_error != 0 ? STDERR_FILENO : STDOUT_FILENO,
            std::string_view(text, static_cast<std::size_t>(length)));
}

void busy(int yes) {
  evaluating = yes != 0;
  if (yes == 0) watch_between_expressions();
}

void show_message(const char* text) {
  write_all(STDERR_FILENO, text);
  write_all(STDERR_FILENO, "\n");
}

void do_nothing() {}

}  // namespace

void install_console_hooks() {
  R_Outputfile = nullptr;
  R_Consolefile = nullptr;
  ptr_R_WriteConsole = nullptr;
  ptr_R_WriteConsoleEx = write_console;
  ptr_R_ReadConsole = read_console;
  ptr_R_Busy = busy;
  ptr_R_ShowMessage = show_message;
  ptr_R_ResetConsole = do_nothing;
  ptr_R_FlushConsole = do_nothing;
  ptr_R_ClearerrConsole = do_nothing;
}

void set_script(std::string text) {
  // Windows line ends become plain ones, as when R reads a file.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    text[kept++] = text[i];
  }
  text.resize(kept);
  if (!text.empty() && text.back() != '\n') text += '\n';
  script = std::move(text);
  script_at = 0;
  evaluating = false;
}

}  // namespace remotist::volunteer
