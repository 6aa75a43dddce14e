# shellcheck shell=bash
# Rules of the tree that no compiler checks. Sourced after sources.sh; each prints what breaks it.

line_max=450

# Layers that must compile without the libraries of the layer above or below them. In store/ only what its sources share
# among themselves (…_row.h, …_params.h) may show libpqxx.
layout_includes() {
  local file
  cpp_sources | grep -E '^[a-z]+/(service|matching)/|^[a-z]+/store/.*\.h$' | grep -vE '/store/.*_(row|params)\.h$' | while IFS= read -r file; do
    grep -HnE '^#include [<"](drogon|pqxx|amqp|rabbitmq)' "$file" | sed 's/$/   (this layer may not know that library)/' || true
  done || true
}

layout_names() {
  sources "${code_folders[@]}" sql script docs |
    grep -iE '(^|[/_.-])(util|utils|common|helper|helpers|manager|misc)([/_.-]|$)' |
    sed 's/$/: name it after the thing it is/' || true
}

layout_binaries() {
  local binary file
  for binary in market worker volunteer; do
    cpp_sources | grep "^$binary/" | while IFS= read -r file; do
      grep -HnE '^#include "(market|worker|volunteer)/' "$file" | grep -vE "#include \"$binary/" | sed 's/$/   (binaries do not include each other)/' || true
    done || true
  done
}

layout_length() {
  local file lines
  sources "${code_folders[@]}" | grep -E '\.(cc|h|R)$' | while IFS= read -r file; do
    lines=$(wc -l <"$file")
    ((lines <= line_max)) || echo "$file: $lines lines, more than $line_max: cut it where the idea changes"
  done || true
}

layout_problems() { layout_includes; layout_names; layout_binaries; layout_length; }
