-- Slurm's job_submit hook: runs in slurmctld for every submission. A site that has a hook already keeps it and calls
-- flightplan.job_submit(job_desc, submit_uid) from there.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "/etc/slurm/"
local flightplan = dofile(folder .. "flightplan.lua").load(folder)

-- Numbers that Slurm uses for "not set", of 16, 32 and 64 bits.
local UNSET = {[65534] = true, [65535] = true, [4294967294] = true, [4294967295] = true}

local NUMBERS = {"min_nodes", "max_nodes", "num_tasks", "ntasks_per_node"}
local TEXTS = {"tres_per_job", "tres_per_node", "tres_per_task", "features"}

local function fields_of(job_desc)
  local fields = {}
  for _, name in ipairs(NUMBERS) do
    local value = job_desc[name]
    if type(value) == "number" and value > 0 and not UNSET[value] then fields[name] = string.format("%d", value) end
  end
  -- One node is what a job without a word on nodes gets; then the tasks decide.
  if fields.min_nodes == "1" and fields.max_nodes == nil and fields.num_tasks ~= nil then fields.min_nodes = nil end
  for _, name in ipairs(TEXTS) do
    if type(job_desc[name]) == "string" and job_desc[name] ~= "" then fields[name] = job_desc[name] end
  end
  return fields
end

-- `submit_uid`: the user who submits, as slurm_job_submit has it; a hook that leaves it away has the job's own.
function flightplan.job_submit(job_desc, submit_uid)
  if job_desc.partition ~= nil and flightplan.conf.skip_partitions[job_desc.partition] then return slurm.SUCCESS end
  local environment = job_desc.environment
  local function value_of(name)
    local ok, value = pcall(function() return environment[name] end)
    return ok and value or nil
  end
  -- A fault of ours must not stop a cluster that did not ask for that.
  local ok, allowed, id = pcall(flightplan.review, "job " .. tostring(job_desc.name), job_desc.script, fields_of(job_desc),
                                value_of, submit_uid or job_desc.user_id)
  if not ok then
    allowed = flightplan.unchecked("job " .. flightplan.printable(job_desc.name), "a fault of the hook: " .. tostring(allowed))
    id = nil
  end
  if not allowed then return slurm.ERROR end
  if id ~= nil and flightplan.conf.comment then
    local comment = job_desc.comment
    local mark = "flightplan=" .. id
    job_desc.comment = (comment == nil or comment == "") and mark or (comment .. " " .. mark)
  end
  return slurm.SUCCESS
end

function slurm_job_submit(job_desc, part_list, submit_uid) -- luacheck: ignore
  return flightplan.job_submit(job_desc, submit_uid)
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid) -- luacheck: ignore
  return slurm.SUCCESS
end

return slurm.SUCCESS
