-- Requests for wrk, and its result as JSON.
-- Arguments: a file with one token a line; "get" or "add"; for "get" an If-None-Match or "", for "add" a prefix that no
-- other run uses in its feed URLs.

local tokens, count, kind, extra = {}, 0, nil, nil

function init(args)
  for token in io.lines(args[1]) do
    tokens[#tokens + 1] = token
  end
  kind, extra = args[2], args[3] or ""
end

function request()
  count = count + 1
  local headers = { Authorization = "Bearer " .. tokens[count % #tokens + 1] }
  if kind == "add" then
    headers["Content-Type"] = "application/json"
    local feed = "https://feeds.example.com/" .. extra .. "/" .. count .. ".xml"
    return wrk.format("POST", nil, headers, '{"subscriptions":[{"feed_url":"' .. feed .. '"}]}')
  end
  if extra ~= "" then
    headers["If-None-Match"] = extra
  end
  return wrk.format("GET", nil, headers)
end

-- wrk has latencies in microseconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"rate":%f,"p50":%f,"p99":%f,"failed":%d}\n',
    summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000,
    latency:percentile(99) / 1000,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout
  ))
end
