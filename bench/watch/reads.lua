-- What wrk sends:  wrk -t 1 … -s reads.lua URL -- job|partial TARGETS
-- TARGETS has a line "token job" for each account.

local requests = {}

function init(arguments)
  local kind, targets = arguments[1], arguments[2]
  for line in io.lines(targets) do
    local token, job = line:match("^(%S+) (%S+)$")
    local path = "/job/" .. job .. (kind == "partial" and "/partialResults/fit%24loss" or "")
    requests[#requests + 1] = wrk.format("GET", path, { ["Authorization"] = "Bearer " .. token })
  end
  math.randomseed(os.time())
end

function request()
  return requests[math.random(#requests)]
end

-- One line: requests a second, p50 and p99 in milliseconds, answers, failures.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("figures %.1f %.3f %.3f %d %d\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, summary.requests,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
