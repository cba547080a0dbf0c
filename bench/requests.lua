-- Requests for wrk, and its result as JSON.
-- Arguments: a file with one header a line, which requests use in turn; a path, in which {user} is the number of the
-- header; "get" and an If-None-Match or "", or "post" and a body, in which {n} is the number of the request.

local names, values, count = {}, {}, 0
local path, kind, extra

function init(args)
  for line in io.lines(args[1]) do
    names[#names + 1], values[#values + 1] = line:match("^(.-): (.*)$")
  end
  path, kind, extra = args[2], args[3], args[4] or ""
end

function request()
  local one = count % #names + 1
  count = count + 1
  local headers = { ["User-Agent"] = "bench/1.0", [names[one]] = values[one] }
  local to = path:gsub("{user}", one - 1)
  if kind == "post" then
    headers["Content-Type"] = "application/json"
    return wrk.format("POST", to, headers, (extra:gsub("{n}", count)))
  end
  if extra ~= "" then
    headers["If-None-Match"] = extra
  end
  return wrk.format("GET", to, headers)
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
