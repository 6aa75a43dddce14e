-- What wrk sends:  wrk -t 1 … -s reads.lua URL -- job|partial TARGETS
-- TARGETS has a line "token job" for each account.

dofile("bench/lib/wrk.lua")

function init(arguments)
  local kind, targets = arguments[1], arguments[2]
  read_targets(targets, function(token, job)
    local path = "/job/" .. job .. (kind == "partial" and "/partialResults/fit%24loss" or "")
    return wrk.format("GET", path, { ["Authorization"] = "Bearer " .. token })
  end)
end
