-- What every benchmark with wrk has: a random one of `requests` each time, and a line of figures at the end.

requests = {}

-- Calls each(token, job) for the lines "token job" of a file, one for each account, and adds the request that it returns.
function read_targets(path, each)
  for line in io.lines(path) do
    requests[#requests + 1] = each(line:match("^(%S+) (%S+)$"))
  end
  math.randomseed(os.time())
end

function request()
  return requests[math.random(#requests)]
end

-- One line: requests a second, p50 and p99 in milliseconds, answers, answers that were errors, broken connections.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("figures %.1f %.3f %.3f %d %d %d\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
