-- Beside front.cfg, what HAProxy 2.6 does not do by itself.
--
-- Looks at the front's certificate each second, as the server does at its own: who replaces the file, and the key's, needs no
-- restart, and open connections stay. What is no certificate is logged, and the one before stays in use; with a key that is not
-- its own handshakes fail until it is. The authority of client certificates is read at the start alone.
local path = os.getenv("FLIGHTPLAN_FRONT_CERT")
local key_path = path and path:gsub("%.crt$", "") .. ".key"

local function content(name)
  local file = name and io.open(name, "rb")
  local text = file and file:read("a")
  if file then file:close() end
  return text
end

-- Both in one text: HAProxy 2.6 takes them by one name or, after a pair that did not fit, never again.
local function pair()
  local certificate = content(path)
  return certificate and certificate .. (content(key_path) or "")
end

core.register_task(function()
  local in_use = pair()
  local seen = in_use
  while path do
    core.sleep(1)
    local now = pair()
    -- Twice the same: nobody is halfway through replacing two files.
    if now and now ~= in_use and now == seen then
      in_use = now
      local taken, why = pcall(CertCache.set, {filename = path, crt = now})
      if taken then
        core.Info("certificate replaced: " .. path)
      else
        core.Alert("certificate refused: " .. path .. ": " .. tostring(why))
      end
    end
    seen = now
  end
end)

-- A server that drains answers what comes, for drain_delay, and is gone then. Callers hold connections to the front, not to it,
-- and HAProxy 2.6 sends them away (GOAWAY) only where it stops itself.
local leaves = tonumber(os.getenv("FLIGHTPLAN_FRONT_LEAVES"))

-- "L7OK" is SERVING, "L7RSP" is NOT_SERVING, "L4..." is nobody there.
local function health()
  return core.proxies.draining.servers.a:get_stats().check_status
end

-- Calls that the server has not answered.
local function in_hand()
  return tonumber(core.proxies.server:get_stats().scur) + tonumber(core.proxies.large:get_stats().scur)
end

core.register_task(function()
  while leaves do
    core.msleep(200)
    if health() == "L7RSP" then
      core.sleep(leaves)
      core.Info("the server drains: no new connections")
      core.proxies.grpc:stop()
      while health() == "L7RSP" do core.msleep(200) end
      -- What it still answers ends within its drain_timeout.
      while in_hand() > 0 do core.msleep(200) end
      os.exit(0)
    end
  end
end)
