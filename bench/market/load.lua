-- What wrk sends:  wrk … -s load.lua URL -- healthz | get TARGETS | put TARGETS BODY
-- TARGETS has a line "token job" for each account. Requests are made beforehand, so that wrk costs little.

dofile("bench/lib/wrk.lua")

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
  read_targets(targets, function(token, job)
    local headers = {["Authorization"] = "Bearer " .. token, ["Content-Type"] = body and "application/json"}
    return wrk.format(body and "PUT" or "GET", "/job/" .. (body and "" or job), headers, body)
  end)
end
