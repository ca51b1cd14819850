-- Slurm's cli_filter hook: runs in the user's own srun, where alone the whole command line of an interactive step can be
-- seen. A user can get around it (it runs with their rights); job_submit.lua runs in the controller.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "/etc/slurm/"
local flightplan = dofile(folder .. "flightplan.lua").load(folder).on_users_terminal()

local FIELDS = {"gpus", "gpus-per-node", "gpus-per-task", "gres", "constraint"}
-- Of srun's own, these say how many processes start.
local LAUNCHER = {{"nodes", "--nodes"}, {"ntasks", "--ntasks"}, {"ntasks-per-node", "--ntasks-per-node"}}

local function set(value)
  return type(value) == "string" and value ~= "" and value ~= "0" and value ~= "-2"
end

-- The step as one line of shell: srun with its sizes, then the words of the user, each quoted.
local function line_of(options)
  local words = {"srun"}
  for _, row in ipairs(LAUNCHER) do
    if set(options[row[1]]) then
      words[#words + 1] = row[2] .. "=" .. flightplan.quote((options[row[1]]:gsub("^(%d+)%-%1$", "%1")))
    end
  end
  for _, word in ipairs(options["argv"] or {}) do words[#words + 1] = flightplan.quote(word) end
  return table.concat(words, " ") .. "\n"
end

function slurm_cli_setup_defaults(options, early_pass) -- luacheck: ignore
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, pack_offset) -- luacheck: ignore
  -- sbatch and salloc go through job_submit; a step inside a batch job was judged with its script.
  if options["type"] ~= "srun" or os.getenv("SLURM_PROCID") ~= nil then return slurm.SUCCESS end
  if type(options["argv"]) ~= "table" then return slurm.SUCCESS end
  local fields = {}
  for _, name in ipairs(FIELDS) do
    if set(options[name]) then fields[name] = options[name] end
  end
  if set(options["nodes"]) then fields["nodes"] = options["nodes"] end
  if set(options["ntasks"]) then fields["ntasks"] = options["ntasks"] end
  local ok, allowed = pcall(flightplan.review, "srun", line_of(options), fields, os.getenv)
  if not ok then allowed = flightplan.unchecked("srun", "a fault of the hook: " .. tostring(allowed)) end
  return allowed and slurm.SUCCESS or slurm.ERROR
end

function slurm_cli_post_submit(offset, job_id, step_id) -- luacheck: ignore
  return slurm.SUCCESS
end

return slurm.SUCCESS
