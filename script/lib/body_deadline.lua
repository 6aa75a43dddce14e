-- A request body has so many seconds to arrive as a whole. haproxy's own times end with the first 15 KiB or count only pauses, so
-- that a client who sends a byte now and then would keep its connection, and one of the market's, for days.
-- Loaded by haproxy with the seconds as its argument: see script/lib/proxy.sh.
local seconds_max = tonumber(...)

local BodyDeadline = { id = "body_deadline", flags = filter.FLT_CFG_FL_HTX }
BodyDeadline.__index = BodyDeadline

function BodyDeadline:new()
  return setmetatable({}, BodyDeadline)
end

function BodyDeadline:start_analyze(_, channel)
  if channel:is_resp() then return end
  self.began = core.now().sec
  filter.register_data_filter(self, channel)
end

function BodyDeadline:http_payload(txn, message)
  if not message.channel:is_resp() and core.now().sec - self.began > seconds_max then txn:done() end
end

core.register_filter("body_deadline", BodyDeadline, function(class) return class end)
