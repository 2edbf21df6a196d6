-- rtrain/launch/submit/script.lua: parts that the shell scripts of several launchers share.

local script = {}

---Returns lines that create the key by which the nodes authenticate each other, in a file that only the user can read,
---and remove it at the end. The key never appears on a command line.
---@param job string identifies the job, for the shell: '$SLURM_JOB_ID'
---@return string lines
function script.secret(job)
  return ([[
# With this key the nodes prove to each other that they belong to the job. Only you can read the file; it has to be in
# a folder that all nodes share, and is removed at the end.
export RTRAIN_SECRET_FILE="${XDG_STATE_HOME:-$HOME/.local/state}/rtrain/secrets/%s"
trap 'rm -f "$RTRAIN_SECRET_FILE"' EXIT
(umask 077 && mkdir -p "${RTRAIN_SECRET_FILE%%/*}" &&
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$RTRAIN_SECRET_FILE") || exit 4
]]):format(job)
end

return script
