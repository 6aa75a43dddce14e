# shellcheck shell=bash
# Lists the sources that the checks look at. Sourced with the repository's root as the working folder.

code_folders=(core market worker volunteer client-r tests bench)

# Every file below the given paths that git tracks or would track and that still exists; without git's folder, or where git refuses it
# because it belongs to another user, every file but those that scripts write.
sources() {
  local file
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard -- "$@"
  else
    find "$@" \( -name .git -o -name 'build*' -type d -o -name '.stack*' -o -name '*.Rcheck' \) -prune -o -type f -printf '%p\0'
  fi | while IFS= read -r -d '' file; do
    [[ ! -f $file ]] || printf '%s\n' "${file#./}"
  done
}

cpp_sources() { sources "${code_folders[@]}" | grep -E '\.(cc|h)$' || true; }

shell_scripts() {
  local file line
  sources script .ci tests bench | while IFS= read -r file; do
    IFS= read -r line <"$file" || true
    [[ $line != '#!/usr/bin/env bash' ]] || printf '%s\n' "$file"
  done 2>/dev/null
}
