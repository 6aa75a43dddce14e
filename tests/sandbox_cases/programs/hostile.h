// Common functions of the hostile programs. A program is a shared object that an R script loads; its one
// function, misbehave(), prints lines to standard output:
//   trying: what it is about to do    (without this line the case counts as not tried)
//   escaped: what it achieved
//   contained: what stopped it
// Its targets are in the file `target` of its working directory, one "key value" a line.
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char* word, const char* format, va_list arguments) {
  char line[1024];
  int length = snprintf(line, sizeof line, "%s: ", word);
  length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
  if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
  line[length++] = '\n';
  if (write(STDOUT_FILENO, line, (size_t)length) < 0) _exit(3);
}

__attribute__((unused, format(printf, 1, 2))) static void trying(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say("trying", format, arguments);
  va_end(arguments);
}

__attribute__((unused, format(printf, 1, 2))) static void escaped(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say("escaped", format, arguments);
  va_end(arguments);
}

__attribute__((unused, format(printf, 1, 2))) static void contained(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say("contained", format, arguments);
  va_end(arguments);
}

// Reports one attempt: a system call that returned a negative value was refused.
__attribute__((unused)) static long judged(const char* what, long result) {
  if (result < 0) {
    contained("%s: %s", what, strerror(errno));
  } else {
    escaped("%s", what);
  }
  return result;
}

// The value is valid until the next call; "" when there is none.
__attribute__((unused)) static const char* target(const char* key) {
  static char value[512];
  char line[512];
  const size_t length = strlen(key);
  FILE* const file = fopen("target", "re");
  value[0] = '\0';
  if (file == NULL) return value;
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, key, length) == 0 && line[length] == ' ') strcpy(value, line + length + 1);
  }
  fclose(file);
  return value;
}

__attribute__((unused)) static long target_number(const char* key) {
  return strtol(target(key), NULL, 10);
}

// Memory that is really written: a compiler may omit writes that are never read.
__attribute__((unused)) static char* filled_memory(size_t bytes) {
  volatile char* const memory = malloc(bytes);
  for (size_t i = 0; memory != NULL && i < bytes; i += 1024) memory[i] = 1;
  return (char*)memory;
}

void misbehave(void);
