# Watched variables: scripts in a real guesthouse.
add_library(watched_run STATIC tests/watch/watched_run.cc)
target_link_libraries(watched_run PUBLIC volunteer_sandbox PRIVATE warnings)
add_executable(watch_show tests/watch/show.cc)
target_link_libraries(watch_show PRIVATE watched_run warnings)
add_dependencies(watch_show remotist-runner)
