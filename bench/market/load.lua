-- What wrk sends:  wrk … -s load.lua URL -- healthz | get TARGETS | put TARGETS BODY
-- TARGETS has a line "token job" for each account. Requests are made beforehand, so that wrk costs little.

local requests = {}

local function contents_of(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

function init(arguments)
  local kind, targets, body = arguments[1], arguments[2], arguments[3]
  if kind == "healthz" then
    requests[1] = wrk.format("GET", "/healthz")
    return
  end
  body = body and contents_of(body)
  for line in io.lines(targets) do
    local token, job = line:match("^(%S+) (%S+)$")
    local headers = {["Authorization"] = "Bearer " .. token, ["Content-Type"] = body and "application/json"}
    requests[#requests + 1] = wrk.format(body and "PUT" or "GET", "/job/" .. (body and "" or job), headers, body)
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
