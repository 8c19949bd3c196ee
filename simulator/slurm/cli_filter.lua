-- Slurm's cli_filter/lua: --ipus=N of the SPANK plugin "ipus" becomes a request for gres/ipu:N.
-- Runs inside srun, sbatch and salloc; an option in a script's #SBATCH lines counts, too.

local INHERITED = "SLURM_SPANK__SLURM_SPANK_OPTION_ipus_ipus" -- --ipus of the sbatch or salloc that srun runs in

-- Whether a list such as "ipu:4,nic:1" decides how many IPUs there are.
local function counts_ipus(gres)
    for entry in string.gmatch(gres, "[^,]+") do
        if entry == "ipu" or entry == "none" or string.sub(entry, 1, 4) == "ipu:" then
            return true
        end
    end
    return false
end

function slurm_cli_setup_defaults(options, early)
    return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
    local plugin = options["spank"] and options["spank"]["ipus"]
    local ipus = plugin and plugin["ipus"]
    if not ipus then
        return slurm.SUCCESS
    end
    local gres = string.gsub(options["gres"] or "", "gres[:/]", "") -- Slurm's own form is gres:ipu:4
    if counts_ipus(gres) then
        if ipus == os.getenv(INHERITED) then
            return slurm.SUCCESS -- the step says itself what it takes of its job
        end
        slurm.log_error("--ipus=%s and --gres=%s both say how many IPUs; give one of them.", ipus, gres)
        return slurm.ERROR
    end
    options["gres"] = (gres ~= "" and gres .. "," or "") .. "ipu:" .. ipus
    return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
    return slurm.SUCCESS
end
