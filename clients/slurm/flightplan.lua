-- What the two hooks share: settings, one call of the checker with a hard time-out, and what follows from its answer.
-- Everything that came from a user is quoted for the shell and is never run.

local M = {}

-- Settings, overridden by flightplan_conf.lua beside this file (see README.md).
M.conf = {
  mode = "shadow",              -- shadow: log only; warn: tell the user; enforce: refuse what would fail
  program = "flightplan",       -- an absolute path is safer: slurmctld's PATH is short
  server = "unix:/run/flightplan/flightplan.sock",
  seconds = 0.5,                -- of one review; slurmctld takes no other submission meanwhile
  failures = 3,                 -- reviews in a row without an answer after which none is asked for a while ...
  pause = 60,                   -- ... and for how many seconds
  hold = 5,                     -- of each `pause` seconds, reviews may take so many; then none is asked for the rest
  user_hold = 1,                -- the same of one user's reviews: then none of theirs
  fail_closed = false,          -- true: enforce refuses what could not be checked
  releases = {},                -- {"megatron-lm@0.17", "megatron-bridge@0.5"}; others: the newest
  flags = {},                   -- further flags of `flightplan validate`: {"--te", "2.9", "--gpu", "h100-sxm"}
  skip_partitions = {},         -- {debug = true}
  comment = true,               -- put the decision's id into the job's comment
}

-- Where words go. In the controller the log is the administrators' and log_user the user's terminal; in a user's own srun
-- there is only the terminal, which hears of reviews when it asks (srun -v).
M.note, M.fault = slurm.log_info, slurm.log_error
M.tell = slurm.log_user

function M.on_users_terminal()
  M.note, M.fault = slurm.log_verbose, slurm.log_verbose
  M.tell = function(format, ...) io.stderr:write((string.format(format, ...):gsub("\n*$", "\n"))) end
  return M
end

local MAX_SCRIPT = 4 * 1024 * 1024 -- beyond it the script is not even handed over
local MAX_ANSWER = 64 * 1024
local MAX_VARIABLES = 200
local MAX_VALUE = 4096

-- What a number may be. (A time limit of 0 would be none at all: see timeout(1).)
local RANGES = {seconds = {0.05, 10}, failures = {1, 1000}, pause = {1, 86400}, hold = {0.05, 86400},
                user_hold = {0.05, 86400}}

function M.load(folder)
  local chunk = loadfile(folder .. "flightplan_conf.lua")
  if chunk == nil then return M end
  local ok, conf = pcall(chunk)
  if not ok or type(conf) ~= "table" then
    slurm.log_error("flightplan: flightplan_conf.lua is no table of settings: " .. tostring(conf))
    return M
  end
  for key, value in pairs(conf) do
    if M.conf[key] == nil then
      slurm.log_error("flightplan: flightplan_conf.lua: no setting is called " .. tostring(key))
    elseif type(value) ~= type(M.conf[key]) then
      slurm.log_error("flightplan: flightplan_conf.lua: " .. key .. " must be a " .. type(M.conf[key]))
    elseif RANGES[key] and not (value >= RANGES[key][1] and value <= RANGES[key][2]) then
      slurm.log_error(string.format("flightplan: flightplan_conf.lua: %s must be from %g to %g, not %s", key,
                                    RANGES[key][1], RANGES[key][2], tostring(value)))
    else
      M.conf[key] = value
    end
  end
  if not ({shadow = true, warn = true, enforce = true})[M.conf.mode] then
    slurm.log_error("flightplan: mode must be shadow, warn or enforce, not " .. tostring(M.conf.mode))
    M.conf.mode = "shadow"
  end
  return M
end

-- One word for a POSIX shell, whatever it holds.
function M.quote(text)
  return "'" .. tostring(text):gsub("%z", ""):gsub("'", "'\\''") .. "'"
end

-- A user's words for one line of a log: what could end the line or drive a terminal is escaped.
function M.printable(text, most)
  text = tostring(text)
  if #text > (most or 128) then text = text:sub(1, most or 128) .. "..." end
  text = text:gsub("[%c\127\\]", function(c)
    return ({["\n"] = "\\n", ["\t"] = "\\t", ["\\"] = "\\\\"})[c] or string.format("\\x%02x", c:byte())
  end)
  -- U+009B is ESC [ to some terminals.
  return (text:gsub("\194([\128-\159])", function(c) return string.format("\\u00%02x", c:byte()) end))
end

-- Could it launch a training at all? Saves the call for most jobs of most clusters.
local function may_launch(script)
  return script:find(".py", 1, true) ~= nil
end

local SECRET = {"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"}

local function is_secret(name)
  for _, word in ipairs(SECRET) do
    if name:upper():find(word, 1, true) then return true end
  end
  return false
end

-- --env flags for the variables that the script refers to and the job will have. `value_of(name)`: nil where unset.
function M.variables(script, value_of)
  local flags, seen, count = {}, {}, 0
  local function take(name)
    if seen[name] or count >= MAX_VARIABLES or is_secret(name) then return end
    seen[name] = true
    local value = value_of(name)
    if type(value) == "string" and #value <= MAX_VALUE and not value:find("%c") then
      flags[#flags + 1] = "--env"
      flags[#flags + 1] = M.quote(name .. "=" .. value)
      count = count + 1
    end
  end
  for name in script:gmatch("%$%{?([%a_][%w_]*)") do take(name) end
  take("CUDA_DEVICE_MAX_CONNECTIONS")
  return flags
end

-- Calls the checker. Returns verdict, decision id, text for the user; a nil verdict: it gave no answer, and why.
local function ask(script, fields, variables)
  local conf = M.conf
  local path = os.tmpname() -- made here with mode 0600
  local file = io.open(path, "wb")
  if file == nil then return nil, nil, "cannot write " .. path end
  local written = file:write(script)
  if not file:close() or not written then -- a part of a script is another script
    os.remove(path)
    return nil, nil, "cannot write " .. path
  end
  local words = {"timeout", "-k", "0.1", tostring(conf.seconds), M.quote(conf.program), "validate", "--slurm-script",
                 M.quote(path), "--door-mode", conf.mode}
  if conf.server ~= "" then
    words[#words + 1] = "--server"
    words[#words + 1] = M.quote(conf.server)
  end
  if #conf.releases > 0 then
    words[#words + 1] = "--release"
    words[#words + 1] = M.quote(table.concat(conf.releases, ","))
  end
  for _, flag in ipairs(conf.flags) do words[#words + 1] = M.quote(flag) end
  for key, value in pairs(fields) do
    words[#words + 1] = "--job"
    words[#words + 1] = M.quote(key .. "=" .. tostring(value))
  end
  for _, word in ipairs(variables) do words[#words + 1] = word end
  -- The exit code comes as text: popen's own is not to be had in every Lua.
  local pipe = io.popen(table.concat(words, " ") .. " </dev/null 2>&1; echo \"exit $?\"", "r")
  if pipe == nil then
    os.remove(path)
    return nil, nil, "cannot start a shell"
  end
  local text = pipe:read(MAX_ANSWER) or "" -- who writes more is ended by the closed pipe
  pipe:close()
  os.remove(path)
  local body, code = text:match("^(.-)exit (%d+)\n$")
  if code == "124" or code == "137" then return nil, nil, "no answer within " .. conf.seconds .. " s" end
  if code ~= "0" and code ~= "1" then return nil, nil, (body or text):gsub("%s+$", "") end
  local verdict, id, rest = body:match("^(%l[%l_]*) (%S+)\n(.*)$")
  if verdict == nil then return nil, nil, "an answer that cannot be read" end
  return verdict, id, rest
end

-- Seconds on a clock that nobody sets.
local function now()
  local file = io.open("/proc/uptime")
  local seconds = file and file:read("*n")
  if file then file:close() end
  return seconds or os.time()
end

-- The circuit breakers: one for everybody, one for each user. slurmctld runs the hook in one thread and under a lock, so
-- what a review takes, everybody waits. Of each `pause` seconds reviews take at most `hold` and one review more, one user's
-- at most `user_hold` and one. `failures` reviews in a row without an answer stop a user's reviews; where they are of more
-- than one user, it is not the user who is to blame, and everybody's stop.
local function new_breaker(whose)
  return {whose = whose, failed = 0, resume = 0, unasked = 0, window = -math.huge, held = 0}
end
local everybody, users, user_count = new_breaker(""), {}, 0
local MAX_USERS = 10000 -- that are told apart at a time

-- `who`: a user's id. Nil where it is not known: then there is everybody's alone.
local function breaker_of(who)
  if who == nil then return nil end
  if users[who] == nil then
    if user_count >= MAX_USERS then -- forgets those of whom there is nothing to remember
      local time = now()
      for id, user in pairs(users) do
        if user.resume < time and time - user.window >= M.conf.pause then users[id], user_count = nil, user_count - 1 end
      end
      if user_count >= MAX_USERS then return nil end
    end
    users[who], user_count = new_breaker("user " .. tostring(who) .. ": "), user_count + 1
  end
  return users[who]
end

local function pause_from(breaker, time, seconds, why)
  breaker.resume = time + seconds
  M.fault("flightplan: %s%s: no review for %d s, jobs are %s", breaker.whose, why, math.ceil(seconds),
          (M.conf.fail_closed and M.conf.mode == "enforce") and "refused" or "let through unchecked")
end

-- Whether none is to be asked now.
local function is_paused(breaker)
  if breaker.resume > now() then
    breaker.unasked = breaker.unasked + 1
    return true
  end
  if breaker.unasked > 0 then
    M.fault("flightplan: %sreviews again; %d jobs were not reviewed", breaker.whose, breaker.unasked)
  end
  breaker.unasked = 0
  return false
end

-- Of a review that began at `start`. `share`: the seconds of each pause that may be held. `blamed`: whether failures in a
-- row are this breaker's.
local function account(breaker, start, answered, share, blamed)
  local conf, time = M.conf, now()
  if start - breaker.window >= conf.pause then breaker.window, breaker.held = start, 0 end
  breaker.held = breaker.held + (time - start)
  breaker.failed = answered and 0 or breaker.failed + 1
  if breaker.failed >= conf.failures and blamed then
    breaker.failed = conf.failures - 1 -- after the pause one more is enough
    pause_from(breaker, time, conf.pause, string.format("%g reviews in a row failed", conf.failures))
  elseif breaker.held >= share then
    pause_from(breaker, time, breaker.window + conf.pause - time,
               string.format("reviews took %.1f s of %g s", breaker.held, conf.pause))
  end
end

-- Of everybody's failures in a row: the one user whose they are, or false where they are of more than one.
local only_user = nil

local function account_all(who, start, answered)
  local user = breaker_of(who)
  if answered then
    only_user = nil
  elseif user == nil or (only_user ~= nil and only_user ~= who) then
    only_user = false
  else
    only_user = who
  end
  account(everybody, start, answered, M.conf.hold, only_user == false)
  if user ~= nil then account(user, start, answered, M.conf.user_hold, true) end
end

-- Whether a job that could not be checked goes through, as with the Kubernetes door's webhook_fail_closed.
function M.unchecked(job, why)
  local conf = M.conf
  local refused = conf.fail_closed and conf.mode == "enforce"
  if why ~= nil then
    M.fault("flightplan: %s: failed (%s), %s", job, M.printable(why, 300), refused and "refused" or "let through")
  end
  if refused then
    M.tell("flightplan: this job could not be checked (%s); try again or ask your administrator",
           M.printable(why or "reviews are paused", 300))
  elseif conf.mode ~= "shadow" and why ~= nil then
    M.tell("flightplan: this job could not be checked (%s)", M.printable(why, 300))
  end
  return not refused, nil
end

-- What both hooks do. `job`: name for the log. `who`: the id of the user who submits, nil where it is not known. Returns
-- true to let it through, and the decision's id, if any.
function M.review(job, script, fields, value_of, who)
  if script == nil or script == "" or not may_launch(script) then return true, nil end
  job = M.printable(job)
  if #script > MAX_SCRIPT then return M.unchecked(job, string.format("a script of %d bytes", #script)) end
  local conf = M.conf
  local user = breaker_of(who)
  if is_paused(everybody) or (user ~= nil and is_paused(user)) then
    return M.unchecked(job, nil) -- the log has it once, not for every job
  end
  local start = now()
  local verdict, id, text = ask(script, fields, M.variables(script, value_of))
  account_all(who, start, verdict ~= nil)
  if verdict == nil then return M.unchecked(job, text) end
  if id == "unread" then -- it may be a training; others that are not judged are none that is known
    return M.unchecked(job, (text:gsub("^flightplan: ", ""):gsub("%s+$", "")))
  end
  M.note("flightplan: %s: %s %s in mode %s", job, verdict, id, conf.mode)
  if conf.mode ~= "shadow" and (verdict == "refused" or verdict == "warned") then M.tell("%s", text) end
  if verdict == "refused" and conf.mode == "enforce" then return false, id end
  return true, id ~= "-" and id or nil
end

return M
