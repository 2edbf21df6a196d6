-- rtrain/launch/submit/kubernetes_manifest.lua: the manifests of `rtrain submit k8s`: an Indexed Job with its service, or a
-- JobSet.

local duration = require 'rtrain.launch.submit.duration'
local errors = require 'base.errors'
local quoted = require 'rtrain.launch.submit.quoted'
local system = require 'base._system'

local manifest = {}

local LONGEST_NAME = 40  -- names of pods and hosts are a few characters longer, and limited to 63
local RESTARTS = 3
local RESULTS = '/results'

---Returns the name of the job, a label of DNS. The default is the script's name.
---@param spec SubmitSpec
---@return string name
---Errors: 'config' for a name that Kubernetes does not accept.
function manifest.name_of(spec)
  if spec.name == nil then
    local name = spec.job_name:lower():gsub('[^a-z0-9]+', '-'):gsub('^[^a-z]+', ''):sub(1, LONGEST_NAME):gsub('%-+$', '')
    return name == '' and 'rtrain' or name
  end
  local is_label = spec.name:find '^[a-z][a-z0-9-]*$' and spec.name:sub(-1) ~= '-'
  if is_label and #spec.name <= LONGEST_NAME then return spec.name end
  errors.raise('config', ('--name %s: in Kubernetes a name has lower-case letters, digits and -, begins with a letter and '
    .. 'has at most %d characters'):format(spec.name, LONGEST_NAME))
end

local function indented(text, columns)
  return (text:gsub('[^\n]+', function(line) return (' '):rep(columns) .. line end))
end

-- Kubernetes expands $(NAME) also in a command; $$ stands for a dollar sign.
local function argument(word) return quoted((word:gsub('%$', '$$'))) end

local function command_of(spec, name)
  local words = {}
  for i, word in ipairs(spec.words) do words[i] = argument(word) end
  local options = spec.name and {'--resume', 'auto'} or {'--name', name, '--resume', 'auto'}
  if spec.storage == nil and spec.claim then options[#options + 1], options[#options + 2] = '--storage', RESULTS end
  for i, option in ipairs(options) do table.insert(words, 3 + i, quoted(option)) end
  return '[' .. table.concat(words, ', ') .. ']'
end

local function resources_of(spec)
  local lines = {}
  if spec.cpus_per_task then lines[#lines + 1] = ('  cpu: %d'):format(spec.cpus_per_task) end
  if spec.gpus_per_node then lines[#lines + 1] = ('  nvidia.com/gpu: %d'):format(spec.gpus_per_node) end
  return #lines > 0 and ('resources:\n  limits:\n  %s\n'):format(table.concat(lines, '\n  ')) or ''
end

local function volumes_of(spec, name)
  local mounts = '- name: key\n  mountPath: /etc/rtrain\n  readOnly: true\n- name: shm\n  mountPath: /dev/shm\n'
  local volumes = ('- name: key\n  secret:\n    secretName: %s-key\n    defaultMode: 0400\n'):format(name)
    .. '# A container\'s own /dev/shm has 64 MB, and the workers of a pod exchange gradients there.\n'
    .. '- name: shm\n  emptyDir:\n    medium: Memory\n'
  if spec.claim then
    mounts = mounts .. ('- name: results\n  mountPath: %s\n'):format(quoted(spec.storage or RESULTS))
    volumes = volumes .. ('- name: results\n  persistentVolumeClaim:\n    claimName: %s\n'):format(quoted(spec.claim))
  end
  return mounts, volumes
end

local CONTAINER = [[
- name: rtrain
  image: %s
  # Every pod runs the same: pod 0 runs the script and the controller, the others start workers for
  # it. A pod that starts again goes on with the run (--resume auto).
  command: %s
  env:
  - name: RTRAIN_NNODES
    value: "%d"
  - name: RTRAIN_MASTER_ADDR
    value: %s
  - name: RTRAIN_JOB_ID
    value: %s
  - name: RTRAIN_SECRET_FILE
    value: /etc/rtrain/key
]]

local POD = [[
restartPolicy: Never
%s# A pod that is evicted has this long to save a checkpoint.
terminationGracePeriodSeconds: 60
containers:
]]

local function credentials_of(spec)
  return spec.credentials and ('  envFrom:\n  - secretRef:\n      name: %s\n'):format(quoted(spec.credentials)) or ''
end

-- A JobSet sets the subdomain itself.
local function pod_of(spec, name, master)
  local mounts, volumes = volumes_of(spec, name)
  local container = CONTAINER:format(quoted(spec.image), command_of(spec, name), spec.nodes, master, name)
  local subdomain = spec.jobset and '' or ('subdomain: %s\n'):format(name)
  return POD:format(subdomain) .. container .. credentials_of(spec) .. indented(resources_of(spec), 2) .. '  volumeMounts:\n'
    .. indented(mounts, 2) .. 'volumes:\n' .. volumes
end

-- The policy for the end of a pod, for both kinds.
local POLICY = [[
completionMode: Indexed
completions: %d
parallelism: %d
# Never two pods of one number at the same time.
podReplacementPolicy: Failed
podFailurePolicy:
  rules:
  # The node was drained, preempted or lost: another pod, which does not count.
  - action: Ignore
    onPodConditions:
    - type: DisruptionTarget
      status: "True"
  # A checkpoint is saved, please start again.
  - action: Ignore
    onExitCodes:
      containerName: rtrain
      operator: In
      values: [75]
  # An error of the script, of the command or of the configuration: another pod would fail too.
  - action: FailJob
    onExitCodes:
      containerName: rtrain
      operator: In
      values: [1, 2, 3]
]]

local function job_of(spec, name, master, backoff)
  local deadline = spec.time and ('activeDeadlineSeconds: %d\n'):format(duration.seconds(spec.time)) or ''
  local labels = ('metadata:\n  labels:\n    rtrain/run: %s\n'):format(name)
  return POLICY:format(spec.nodes, spec.nodes) .. backoff .. deadline .. 'template:\n'
    .. indented(labels .. 'spec:\n' .. indented(pod_of(spec, name, master), 2), 2)
end

local function metadata_of(spec, name, run)
  local namespace = spec.namespace and ('  namespace: %s\n'):format(quoted(spec.namespace)) or ''
  return ('metadata:\n  name: %s\n%s  labels:\n    rtrain/run: %s\n'):format(name, namespace, run or name)
end

local HEADER = [[
# Written by `rtrain submit k8s`, which makes the secret %s-key, and without --name puts random
# characters behind the name, so that each submission is a run of its own. By hand:
#   od -An -N32 -tx1 /dev/urandom | tr -d ' \n' | kubectl create secret generic %s-key --from-file=key=/dev/stdin
#   kubectl create -f FILE
]]

local SERVICE = [[
# The pods find each other by names of this service: %s-0.%s, %s-1.%s, …
apiVersion: v1
kind: Service
%sspec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    batch.kubernetes.io/job-name: %s
---
]]

local BACKOFF = [[
# How many pods may fail: all pods of a start count. Not backoffLimitPerIndex: a run needs all of
# its pods, and one that is given up would leave the others waiting.
backoffLimit: %d
]]

local JOBSET = [[
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
%sspec:
  # The pods find each other by %s-node-0-0.%s, %s-node-0-1.%s, …
  network:
    enableDNSHostnames: true
    publishNotReadyAddresses: true
  # When a pod fails all of them start again, up to this often; not after an error that would only come again.
  failurePolicy:
    maxRestarts: %d
    rules:
    - action: FailJobSet
      onJobFailureReasons: [PodFailurePolicy]
  replicatedJobs:
  - name: node
    replicas: 1
    template:
      spec:
]]

local function render_jobset(spec, name)
  local master = ('%s-node-0-0.%s'):format(name, name)
  local head = JOBSET:format(metadata_of(spec, name), name, name, name, name, RESTARTS)
  return head .. indented(job_of(spec, name, master, 'backoffLimit: 0\n'), 8)
end

local function render_job(spec, name)
  local master = ('%s-0.%s'):format(name, name)
  local job = job_of(spec, name, master, BACKOFF:format(RESTARTS * spec.nodes))
  return SERVICE:format(name, name, name, name, metadata_of(spec, name), name) .. 'apiVersion: batch/v1\nkind: Job\n'
    .. metadata_of(spec, name) .. 'spec:\n' .. indented(job, 2)
end

local function is_in_object_store(spec) return spec.storage ~= nil and system.is_object_uri(spec.storage) end

-- Checks that all pods can reach the results.
local function check_storage(spec)
  if is_in_object_store(spec) then
    if spec.claim == nil then return end
    errors.raise('usage', ('submit k8s: --claim %s is mounted where --storage is, and %s is an object store: give one of '
      .. 'the two'):format(spec.claim, spec.storage))
  end
  if spec.credentials then
    errors.raise('usage', 'submit k8s: --credentials is for results in an object store: --storage s3://bucket/folder')
  end
  if spec.nodes > 1 and spec.claim == nil then
    errors.raise('usage', ('submit k8s: %d pods share no folder: give --claim NAME, a volume that all of them can mount '
      .. '(ReadWriteMany), or --storage s3://bucket/folder'):format(spec.nodes))
  end
end

---Returns notes for the user who submits.
---@param spec SubmitSpec
---@return string? notice
function manifest.notice(spec)
  if is_in_object_store(spec) then
    return spec.credentials == nil and ('the pods need credentials for %s: a service account that has them, or --credentials '
      .. 'SECRET, a secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'):format(spec.storage) or nil
  end
  return spec.claim == nil and 'the results are in the pod, and go with it: --claim NAME or --storage s3://bucket/folder keeps '
    .. 'them' or nil
end

---@param spec SubmitSpec
---@param name? string name of the job; default manifest.name_of(spec)
---@return string text
---Errors: 'usage' without an image, or for storage that the pods do not share, 'config' for a wrong name or time.
function manifest.render(spec, name)
  if spec.image == nil then errors.raise('usage', 'submit k8s: --image IMAGE is needed: it holds rtrain and the script') end
  check_storage(spec)
  name = name or manifest.name_of(spec)
  return HEADER:format(name, name) .. (spec.jobset and render_jobset or render_job)(spec, name)
end

---Returns the secret of the pods, whose key never appears on a command line.
---@param spec SubmitSpec
---@param name string name of the job
---@param key string
---@return string text
function manifest.secret(spec, name, key)
  return ('apiVersion: v1\nkind: Secret\n%stype: Opaque\nstringData:\n  key: %s\n---\n'):format(
    metadata_of(spec, name .. '-key', name), key)
end

return manifest
