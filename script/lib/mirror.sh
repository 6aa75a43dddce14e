# shellcheck shell=bash
# Where this machine takes its Debian packages from. Sourced.

# mirror_of SUITE: prints the address from which apt has that suite, whatever form its sources have; nothing if it has none.
mirror_of() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk -v suite="$1" '$2 == suite && !found { print $1; found = 1 }'
}
