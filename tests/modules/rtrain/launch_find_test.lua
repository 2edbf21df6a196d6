-- rtrain.launch.find: which launcher started a process, and the meaning of its variables. The variables are those that
-- the launchers were observed to set: Slurm 22.05, Open MPI 4.1.4 and 5.0.11, MPICH 4.0.2; for the other launchers they
-- are taken from their documentation.

local lu = require 'luaunit'
local launch = require 'rtrain.launch'
local message_of = require('refusal').message_of

local function find(variables, options)
  options = options or {}
  options.parent = options.parent or function() return 4711 end
  return launch.find(function(name) return variables[name] end, options)
end

-- Returns a copy of `base` with changes; a change to false removes the variable.
local function with(base, changes)
  local out = {}
  for name, value in next, base do out[name] = value end
  for name, value in next, changes do out[name] = value or nil end
  return out
end

local NONE = {}  -- the field is absent

-- Compares the fields that `expected` has.
local function check(found, expected, case)
  for field, value in next, expected do
    if value == NONE then
      lu.assertNil(found[field], ('%s: %s'):format(case, field))
    else
      lu.assertEquals(found[field], value, ('%s: %s'):format(case, field))
    end
  end
end

local TORCHRUN = {
  RANK = '3', LOCAL_RANK = '1', WORLD_SIZE = '4', LOCAL_WORLD_SIZE = '2', GROUP_RANK = '1', GROUP_WORLD_SIZE = '2',
  MASTER_ADDR = '10.0.0.1', MASTER_PORT = '29500', TORCHELASTIC_RUN_ID = 'abc', TORCHELASTIC_RESTART_COUNT = '2',
}

-- srun -N2 --ntasks-per-node=1, in a batch script
local SLURM = {
  SLURM_JOB_ID = '7', SLURM_JOB_NAME = 'b.sh', SLURM_JOB_NODELIST = 'n[0-1]', SLURM_JOB_NUM_NODES = '2',
  SLURM_JOB_CPUS_PER_NODE = '4(x2)', SLURM_CPUS_ON_NODE = '4', SLURM_STEP_ID = '0', SLURM_STEP_NODELIST = 'n[0-1]',
  SLURM_STEP_NUM_NODES = '2', SLURM_STEP_NUM_TASKS = '2', SLURM_STEP_TASKS_PER_NODE = '1(x2)', SLURM_NNODES = '2',
  SLURM_NTASKS = '2', SLURM_NTASKS_PER_NODE = '1', SLURM_TASKS_PER_NODE = '1(x2)', SLURM_PROCID = '1',
    SLURM_LOCALID = '0',
  SLURM_NODEID = '1',
}

-- In the shell of salloc -N2.
local SALLOC = {
  SLURM_JOB_ID = '3', SLURM_JOB_NAME = 'interactive', SLURM_JOB_NODELIST = 'n[0-1]', SLURM_JOB_NUM_NODES = '2',
  SLURM_NNODES = '2', SLURM_TASKS_PER_NODE = '1(x2)', SLURM_JOB_CPUS_PER_NODE = '1(x2)',
}

local OPENMPI = {
  OMPI_COMM_WORLD_SIZE = '2', OMPI_COMM_WORLD_RANK = '1', OMPI_COMM_WORLD_LOCAL_SIZE = '1',
    OMPI_COMM_WORLD_LOCAL_RANK = '0',
  OMPI_COMM_WORLD_NODE_RANK = '0', OMPI_MCA_orte_num_nodes = '2', OMPI_MCA_ess_base_jobid = '90570753',
  PMIX_NAMESPACE = '90570753', PMIX_RANK = '1', PMIX_HOSTNAME = 'n1',
}

local MPICH = {PMI_RANK = '1', PMI_SIZE = '2', MPI_LOCALRANKID = '0', MPI_LOCALNRANKS = '1', RTRAIN_JOB_ID = 'mine'}

local KUBEFLOW = {
  PET_NNODES = '2', PET_NPROC_PER_NODE = '4', PET_NODE_RANK = '1', PET_MASTER_ADDR = 'job-node-0-0.job',
  PET_MASTER_PORT = '29400', JOB_COMPLETION_INDEX = '1',
}

local KUBERNETES = {JOB_COMPLETION_INDEX = '2', RTRAIN_NNODES = '3', RTRAIN_MASTER_ADDR = 'train-0.train',
  RTRAIN_JOB_ID = 'train'}

local SKYPILOT = {
  SKYPILOT_NODE_RANK = '1', SKYPILOT_NUM_NODES = '2', SKYPILOT_NODE_IPS = '10.1.0.4\n10.1.0.5\n',
  SKYPILOT_NUM_GPUS_PER_NODE = '8', SKYPILOT_TASK_ID = 'sky-2026-01-02_c_1',
}

local FLUX = {FLUX_TASK_RANK = '3', FLUX_TASK_LOCAL_ID = '1', FLUX_JOB_SIZE = '4', FLUX_JOB_NNODES = '2',
  FLUX_JOB_ID = 'f12'}

local RAY = {
  RTRAIN_LAUNCHER = 'ray', RTRAIN_NNODES = '2', RTRAIN_NODE_RANK = '1', RTRAIN_MASTER_ADDR = '10.2.0.1',
    RTRAIN_JOB_ID = 'r1',
  CUDA_VISIBLE_DEVICES = '0,1',
}

TestEngines = {}

-- Expected findings for each launcher's variables, and for variants of them.
local CASES = {
  {'torchrun on two nodes', TORCHRUN, {engine = 'torchrun', num_nodes = 2, node_rank = 1, rank = 3, world_size = 4,
    local_rank = 1, tasks_on_node = 2, is_rank = true, restart_count = 2, is_batch = false,
    master = {addr = '10.0.0.1', port = 29500}}},
  {'RANK without the number of groups', with(TORCHRUN, {GROUP_RANK = false, GROUP_WORLD_SIZE = false}),
    {num_nodes = 2, node_rank = 1}},
  {'RANK without LOCAL_RANK: one process a node', {RANK = '1', WORLD_SIZE = '2', MASTER_ADDR = 'a'},
    {engine = 'torchrun', num_nodes = 2, node_rank = 1, tasks_on_node = 1, is_rank = false}},
  {'torchrun in a step of Slurm', with(SLURM, with(TORCHRUN, {SLURM_RESTART_COUNT = '1'})),
    {engine = 'torchrun', job_id = '7', is_batch = true, restart_count = 2}},
  {"torchrun in Kubeflow's pod", with(KUBEFLOW, TORCHRUN), {engine = 'torchrun', rank = 3}},

  {'Kubeflow', KUBEFLOW, {engine = 'kubeflow', num_nodes = 2, node_rank = 1, workers_per_node = 4, port = 29400,
    master = {addr = 'job-node-0-0.job', port = 29400}, is_rank = false}},
  {"Kubeflow's RANK is a pod's", with(KUBEFLOW, {RANK = '1', WORLD_SIZE = '2', MASTER_ADDR = 'job-master-0',
    MASTER_PORT = '23456'}),
    {engine = 'kubeflow', num_nodes = 2, node_rank = 1}},
  {'PET_NPROC_PER_NODE=auto', with(KUBEFLOW, {PET_NPROC_PER_NODE = 'auto'}), {workers_per_node = NONE, num_nodes = 2}},
  {'Kubeflow, one pod', {PET_NNODES = '1'}, {engine = 'kubeflow', num_nodes = 1, node_rank = 0}},

  {'srun, one task a node', SLURM, {engine = 'slurm', num_nodes = 2, node_rank = 1, hosts = {'n0', 'n1'},
    world_size = 2, rank = 1,
    tasks_on_node = 1, local_rank = 0, is_rank = false, job_id = '7', step_id = '0', group = '7.0', restart_count = 0,
    is_batch = true, cores = 4, master = {addr = 'n0'}, warnings = {}}},
  {'srun, three tasks on two nodes', with(SLURM, {SLURM_STEP_NUM_TASKS = '3', SLURM_NTASKS = '3',
    SLURM_STEP_TASKS_PER_NODE = '2,1',
    SLURM_PROCID = '2'}), {tasks_on_node = 1, is_rank = true, world_size = 3, rank = 2}},
  {'srun on a part of the job', with(SLURM, {SLURM_JOB_NODELIST = 'n[0-3]', SLURM_JOB_NUM_NODES = '4',
    SLURM_STEP_NODELIST = 'n[2-3]'}), {num_nodes = 2, hosts = {'n2', 'n3'}, master = {addr = 'n2'}}},
  {'an older Slurm', with(SLURM, {SLURM_STEP_NUM_TASKS = false, SLURM_STEP_NUM_NODES = false,
    SLURM_STEP_TASKS_PER_NODE = false,
    SLURM_STEP_NODELIST = false}), {num_nodes = 2, world_size = 2, tasks_on_node = 1, hosts = {'n0', 'n1'}}},
  {'a requeued job', with(SLURM, {SLURM_RESTART_COUNT = '1'}), {restart_count = 1, is_batch = true, group = '7.0'}},
  {'a step with GPUs', with(SLURM, {SLURM_STEP_GPUS = '2,3', CUDA_VISIBLE_DEVICES = '0,1'}), {devices = {'0', '1'}}},
  {'devices that Slurm did not allot', with(SLURM, {CUDA_VISIBLE_DEVICES = '0,1'}), {devices = NONE, engine = 'slurm'}},
  {'srun under salloc', with(SLURM, {SLURM_JOB_NAME = 'interactive'}), {engine = 'slurm', num_nodes = 2}},
  {'srun bash -c …', with(SLURM, {SLURM_JOB_NAME = 'bash'}), {engine = 'slurm', num_nodes = 2}},
  {'srun in a shell of srun --pty', with(SLURM, {SLURM_JOB_NAME = 'bash', SLURM_PTY_PORT = '40549',
    SLURM_STEP_ID = '1'}),
    {engine = 'slurm', num_nodes = 2}},
  {'srun --mpi=pmi2', with(SLURM, {PMI_RANK = '1', PMI_SIZE = '2', PMI_JOBID = '12.2'}), {engine = 'slurm'}},
  {'srun --mpi=pmix', with(SLURM, {PMIX_RANK = '1', PMIX_NAMESPACE = 'slurm.pmix.7.0'}), {engine = 'slurm'}},

  {'mpirun of Open MPI 4', OPENMPI, {engine = 'openmpi', num_nodes = 2, node_rank = 1, rank = 1, world_size = 2,
    is_rank = false,
    job_id = '90570753', is_batch = false}},
  {'mpirun of Open MPI 5', with(OPENMPI, {OMPI_MCA_orte_num_nodes = false, OMPI_MCA_ess_base_jobid = false,
    PMIX_NAMESPACE = 'prterun-n0-22884@1'}), {engine = 'openmpi', num_nodes = 2, node_rank = 1,
      job_id = 'prterun-n0-22884@1'}},
  {'mpirun, three processes on two nodes', with(OPENMPI, {OMPI_COMM_WORLD_SIZE = '3', OMPI_COMM_WORLD_LOCAL_SIZE = '2',
    OMPI_COMM_WORLD_RANK = '2', OMPI_COMM_WORLD_LOCAL_RANK = '1'}),
    {num_nodes = 2, node_rank = NONE, tasks_on_node = 2, is_rank = true}},
  {'mpirun, the first of four processes on two nodes', with(OPENMPI, {OMPI_COMM_WORLD_SIZE = '4',
    OMPI_COMM_WORLD_LOCAL_SIZE = '2',
    OMPI_COMM_WORLD_RANK = '0'}), {num_nodes = 2, node_rank = 0, is_rank = true}},
  {'mpirun, four processes on one node', with(OPENMPI, {OMPI_COMM_WORLD_SIZE = '4', OMPI_COMM_WORLD_LOCAL_SIZE = '4',
    OMPI_COMM_WORLD_RANK = '3', OMPI_COMM_WORLD_LOCAL_RANK = '3', OMPI_MCA_orte_num_nodes = '1'}),
    {num_nodes = 1, node_rank = 0, local_rank = 3, is_rank = true}},
  -- On the second node srun has started mpirun's daemon as the only task of a step.
  {'mpirun in a job of Slurm, second node', with(with(SLURM, {SLURM_STEP_NUM_TASKS = '1', SLURM_NTASKS = '1',
    SLURM_STEP_NUM_NODES = '1',
    SLURM_NNODES = '1', SLURM_NODEID = '0', SLURM_PROCID = '0', SLURM_STEP_NODELIST = 'n1',
      SLURM_STEP_TASKS_PER_NODE = '1'}), OPENMPI),
    {engine = 'openmpi', num_nodes = 2, node_rank = 1, job_id = '7', group = '7.90570753', is_batch = true}},
  {'mpirun in a job of Slurm, first node', with(with(SLURM, {SLURM_STEP_ID = false}), with(OPENMPI,
    {OMPI_COMM_WORLD_RANK = '0'})),
    {engine = 'openmpi', num_nodes = 2, node_rank = 0, group = '7.90570753'}},

  {'mpiexec of MPICH', MPICH, {engine = 'mpich', num_nodes = 2, node_rank = 1, rank = 1, is_rank = false,
    job_id = 'mine'}},
  {'mpiexec of MPICH on one node', {PMI_RANK = '1', PMI_SIZE = '2', MPI_LOCALRANKID = '1', MPI_LOCALNRANKS = '2'},
    {num_nodes = 1, node_rank = 0, is_rank = true, job_id = 'parent-4711'}},
  {'mpiexec of MPICH in a job of Slurm', with(SLURM, with(MPICH, {RTRAIN_JOB_ID = false})), {engine = 'mpich',
    job_id = '7'}},
  {'a single process', {PMI_RANK = '0', PMI_SIZE = '1'}, {engine = 'mpich', num_nodes = 1, is_rank = false}},

  {'prterun', {PMIX_RANK = '1', PMIX_NAMESPACE = 'prterun-n0-1@1', RTRAIN_NNODES = '2'},
    {engine = 'pmix', num_nodes = 2, node_rank = 1, is_rank = false, job_id = 'prterun-n0-1@1'}},

  {'Indexed Job', KUBERNETES, {engine = 'kubernetes', num_nodes = 3, node_rank = 2, job_id = 'train', port = 29400,
    hosts = {'train-0.train', 'train-1.train', 'train-2.train'}, master = {addr = 'train-0.train', port = 29400},
      is_batch = true}},
  {'JobSet', with(KUBERNETES, {RTRAIN_MASTER_ADDR = 'train-node-0-0.train'}), {engine = 'kubernetes',
    hosts = {'train-node-0-0.train', 'train-node-0-1.train', 'train-node-0-2.train'}}},
  {'independent tasks of an Indexed Job', with(KUBERNETES, {RTRAIN_NNODES = false}), {engine = 'local', num_nodes = 1}},

  {'SkyPilot', SKYPILOT, {engine = 'skypilot', num_nodes = 2, node_rank = 1, hosts = {'10.1.0.4', '10.1.0.5'},
    master = {addr = '10.1.0.4'}, job_id = 'sky-2026-01-02_c_1', is_batch = true, restart_count = NONE}},
  {'Flux', FLUX, {engine = 'flux', num_nodes = 2, node_rank = 1, rank = 3, tasks_on_node = 2, local_rank = 1,
    is_rank = true,
    job_id = 'f12'}},
  {'Flux with GPUs', with(FLUX, {CUDA_VISIBLE_DEVICES = '1', CUDA_DEVICE_ORDER = 'PCI_BUS_ID'}), {devices = {'1'}}},
  {'a bundle of Ray', RAY, {engine = 'ray', rule = 'RTRAIN_LAUNCHER=ray', num_nodes = 2, node_rank = 1, job_id = 'r1',
    master = {addr = '10.2.0.1'}, devices = {'0', '1'}}},
  {'a bundle of Ray on a cluster that Slurm started', with(SLURM, RAY), {engine = 'ray'}},
  {'by hand', with(RAY, {RTRAIN_LAUNCHER = false}), {engine = 'ray', node_rank = 1}},

  {'nothing', {}, {engine = 'local', num_nodes = 1, node_rank = 0, is_rank = false, tasks_on_node = 1,
    is_batch = false, warnings = {}}},
  {'variables that are set to nothing', {RANK = '', WORLD_SIZE = '', MASTER_ADDR = '', SLURM_JOB_ID = '',
    SLURM_STEP_ID = ''},
    {engine = 'local', warnings = {}}},
  {'a batch script on one node', with(SLURM, {SLURM_STEP_ID = false, SLURM_JOB_NUM_NODES = '1', SLURM_NNODES = '1',
    SLURM_PROCID = '0'}),
    {engine = 'local', job_id = '7', is_batch = true, restart_count = 0, warnings = {}}},
}

function TestEngines.test_what_the_variables_say()
  for _, case in ipairs(CASES) do check(find(case[2]), case[3], case[1]) end
end

function TestEngines.test_each_value_has_its_origin()
  local origins = find(SLURM).origins
  lu.assertEquals(origins.num_nodes, 'SLURM_STEP_NUM_NODES=2')
  lu.assertEquals(origins.hosts, 'SLURM_STEP_NODELIST=n[0-1]')
  lu.assertEquals(find(SKYPILOT).origins.hosts, 'SKYPILOT_NODE_IPS=10.1.0.4 10.1.0.5 ')
  for _, case in ipairs(CASES) do
    local found = find(case[2])
    for field in next, found.origins do lu.assertNotNil(found[field], case[1] .. ': ' .. field) end
  end
end

function TestEngines.test_a_job_of_slurm_knows_its_commands()
  local found = find(SLURM)
  lu.assertEquals(found.time_left_command, 'squeue -h -j 7 -O TimeLeft')
  lu.assertEquals(found.requeue_command,
    'if [ "$(squeue -h -j 7 -o %T)" = RUNNING ]; then scontrol requeue 7; fi')
  lu.assertEquals(found.evict_command, 'scontrol update "NodeName=$host" "Reason=$reason"')
  lu.assertStrContains(find(with(SLURM, {SLURM_JOB_ID = "7; rm -rf ."})).time_left_command, "-j '7; rm -rf .' -O")
  lu.assertNil(find(TORCHRUN).time_left_command)
end

function TestEngines.test_the_port_is_of_job_and_step()
  local port = find(SLURM).port
  lu.assertTrue(port >= 20000 and port < 60000)
  lu.assertEquals(find(with(SLURM, {SLURM_NODEID = '0', SLURM_PROCID = '0', SLURM_RESTART_COUNT = '4'})).port, port)
  lu.assertNotEquals(find(with(SLURM, {SLURM_STEP_ID = '1'})).port, port)
  lu.assertNotEquals(find(with(SLURM, {SLURM_JOB_ID = '8'})).port, port)
end

TestShells = {}

-- Interactive shells, and scripts that srun has not started.
function TestShells.test_train_on_this_node_and_say_so()
  for case, variables in next, {
    ['salloc'] = SALLOC,
    ["salloc's shell on a node"] = with(SLURM, {SLURM_JOB_NAME = 'interactive', SLURM_STEP_ID = '4294967290'}),
    ['srun --pty bash'] = with(SLURM, {SLURM_JOB_NAME = 'bash', SLURM_PTY_PORT = '40549'}),
    ['srun --pty bash where srun speaks PMI'] = with(SLURM, {SLURM_JOB_NAME = 'bash', SLURM_PTY_PORT = '40549',
      PMI_RANK = '0',
      PMI_SIZE = '2', PMIX_RANK = '0'}),
    ['a batch script'] = with(SLURM, {SLURM_STEP_ID = false}),
  } do
    local found = find(variables)
    check(found, {engine = 'local', num_nodes = 1, is_rank = false, is_batch = case == 'a batch script'}, case)
    lu.assertStrContains(found.warnings[1], 'srun has not started this process: it trains on this node alone')
    lu.assertStrContains(found.warnings[1], 'srun -K --ntasks-per-node=1 rtrain run')
  end
  lu.assertStrContains(find(SALLOC).warnings[1], 'SLURM_JOB_ID=3 with 2 nodes')
end

function TestShells.test_mpirun_in_a_shell_is_mpirun()
  check(find(with(SALLOC, OPENMPI)), {engine = 'openmpi', is_batch = false}, 'salloc, mpirun')
  check(find(with(SALLOC, MPICH)), {engine = 'mpich', is_batch = false}, 'salloc, mpiexec')
end

function TestShells.test_nodes_with_different_numbers_of_tasks()
  local found = find(with(SLURM, {SLURM_STEP_NUM_TASKS = '3', SLURM_STEP_TASKS_PER_NODE = '2,1', SLURM_PROCID = '2'}))
  lu.assertStrContains(found.warnings[1],
    'SLURM_STEP_TASKS_PER_NODE=2,1: the nodes have different numbers of processes')
  lu.assertStrContains(found.warnings[1], '--ntasks-per-node')
end

TestRefusals = {}

-- Invalid values: the error names the variable and the value.
local WRONG = {
  {with(TORCHRUN, {RANK = 'two'}), "RANK = 'two': expected a whole number from 0 on"},
  {with(TORCHRUN, {RANK = '-1'}), "RANK = '-1': expected a whole number from 0 on"},
  {with(TORCHRUN, {RANK = '0x1'}), "RANK = '0x1': expected a whole number"},
  {with(TORCHRUN, {WORLD_SIZE = '99999999999'}), "WORLD_SIZE = '99999999999'"},
  {with(TORCHRUN, {RANK = '4'}), 'RANK = 4: with WORLD_SIZE = 4 the ranks are 0 to 3'},
  {with(TORCHRUN, {LOCAL_RANK = '2'}), 'LOCAL_RANK = 2: with LOCAL_WORLD_SIZE = 2 the local ranks are 0 to 1'},
  {with(TORCHRUN, {LOCAL_RANK = false}), 'launcher torchrun: LOCAL_RANK is not set'},
  {with(TORCHRUN, {LOCAL_WORLD_SIZE = '8', LOCAL_RANK = '1'}), 'LOCAL_WORLD_SIZE = 8 is more than WORLD_SIZE = 4'},
  {with(TORCHRUN, {WORLD_SIZE = '5', GROUP_WORLD_SIZE = false}),
    "WORLD_SIZE = '5': not a multiple of LOCAL_WORLD_SIZE = 2"},
  {with(TORCHRUN, {MASTER_PORT = 'http'}), "MASTER_PORT = 'http'"},
  {with(TORCHRUN, {WORLD_SIZE = '2000000000'}), 'WORLD_SIZE = 2000000000: a job has at most 100000 processes'},
  {with(KUBEFLOW, {PET_NNODES = '1:4'}), "PET_NNODES = '1:4': a job whose number of nodes changes is not supported"},
  {with(KUBEFLOW, {PET_NODE_RANK = '2'}), 'PET_NODE_RANK = 2: with PET_NNODES = 2 the nodes are 0 to 1'},
  {with(KUBEFLOW, {PET_MASTER_ADDR = false}), 'PET_MASTER_ADDR is not set'},
  {with(KUBEFLOW, {PET_NPROC_PER_NODE = 'many'}), "PET_NPROC_PER_NODE = 'many'"},
  {with(SLURM, {SLURM_PROCID = '2'}), 'SLURM_PROCID = 2: with SLURM_STEP_NUM_TASKS = 2 the ranks are 0 to 1'},
  {with(SLURM, {SLURM_NODEID = false}), 'launcher slurm: SLURM_NODEID is not set'},
  {with(SLURM, {SLURM_STEP_NODELIST = 'n[0-'}), "SLURM_STEP_NODELIST = 'n[0-': expected a list of nodes"},
  {with(SLURM, {SLURM_STEP_NODELIST = 'n[0-2]'}), 'SLURM_STEP_NODELIST = n[0-2] names 3 nodes, SLURM_STEP_NUM_NODES = 2'},
  {with(SLURM, {SLURM_STEP_TASKS_PER_NODE = '1'}), "SLURM_STEP_TASKS_PER_NODE = '1': it has no number for node 1 of 2"},
  {with(SLURM, {SLURM_STEP_TASKS_PER_NODE = 'x'}), "SLURM_STEP_TASKS_PER_NODE = 'x': expected numbers of processes"},
  {with(SLURM, {SLURM_RESTART_COUNT = 'once'}), "SLURM_RESTART_COUNT = 'once'"},
  {with(OPENMPI, {OMPI_COMM_WORLD_RANK = '2'}), 'OMPI_COMM_WORLD_RANK = 2: with OMPI_COMM_WORLD_SIZE = 2'},
  {with(OPENMPI, {OMPI_COMM_WORLD_SIZE = '3', OMPI_COMM_WORLD_LOCAL_SIZE = '2', OMPI_MCA_orte_num_nodes = false}),
    "OMPI_COMM_WORLD_SIZE = '3': 2 of the processes are on this node: start as many on each, or set RTRAIN_NNODES"},
  {with(MPICH, {RTRAIN_JOB_ID = false}), "PMI_SIZE = '2': MPICH gives its jobs no name"},
  {{PMI_RANK = '0', PMI_SIZE = '2'}, 'MPI_LOCALNRANKS or PMI_LOCAL_SIZE is not set'},
  {{PMIX_RANK = '0'}, 'set RTRAIN_NNODES'},
  {with(KUBERNETES, {RTRAIN_NNODES = 'three'}), "RTRAIN_NNODES = 'three'"},
  {with(KUBERNETES, {RTRAIN_MASTER_ADDR = false}), 'launcher kubernetes: RTRAIN_MASTER_ADDR is not set'},
  {with(SKYPILOT, {SKYPILOT_NUM_NODES = '3'}), 'names 2 nodes, SKYPILOT_NUM_NODES = 3'},
  {with(FLUX, {FLUX_JOB_SIZE = '5'}), "FLUX_JOB_SIZE = '5': on FLUX_JOB_NNODES = 2 nodes"},
  {with(RAY, {RTRAIN_JOB_ID = false}), 'launcher ray: RTRAIN_JOB_ID is not set'},
}

function TestRefusals.test_values_that_make_no_sense()
  for _, case in ipairs(WRONG) do
    local text, err = message_of(find, case[1])
    lu.assertStrContains(text, case[2])
    lu.assertEquals(err.code, 'config', case[2])
  end
end

TestNamed = {}

function TestNamed.test_a_name_comes_before_all_variables()
  check(find(SLURM, {launcher = 'local'}), {engine = 'local', num_nodes = 1, rule = '--launcher local'}, 'local')
  check(find(with(SLURM, OPENMPI), {launcher = 'slurm'}), {engine = 'slurm', rank = 1}, 'slurm')
  check(find(with(SLURM, {RTRAIN_LAUNCHER = 'local'})), {engine = 'local', rule = 'RTRAIN_LAUNCHER=local'}, 'variable')
  check(find(with(SLURM, {RTRAIN_LAUNCHER = 'local'}), {launcher = 'slurm'}), {engine = 'slurm'},
    'flag before variable')
end

function TestNamed.test_a_name_without_its_variables()
  for name, variable in next, {torchrun = 'WORLD_SIZE', kubeflow = 'PET_NNODES', slurm = 'SLURM_NNODES',
    pmix = 'PMIX_RANK',
    openmpi = 'OMPI_COMM_WORLD_SIZE', mpich = 'PMI_SIZE', kubernetes = 'RTRAIN_NNODES', skypilot = 'SKYPILOT_NODE_RANK',
    flux = 'FLUX_TASK_RANK', ray = 'RTRAIN_NNODES'} do
    local text, err = message_of(find, {}, {launcher = name})
    lu.assertStrContains(text, ('launcher %s: '):format(name))
    lu.assertStrContains(text, variable)
    lu.assertEquals(err.code, 'config')
  end
end

function TestNamed.test_an_unknown_name()
  local text, err = message_of(find, {}, {launcher = 'slrum'})
  lu.assertStrContains(text, "there is no launcher 'slrum': did you mean 'slurm'?")
  lu.assertEquals(err.code, 'config')
end

-- A process that a process of the job starts (os.execute) inherits the job's variables.
TestTask = {}

function TestTask.test_what_a_process_of_the_job_starts_trains_alone()
  local function started_with(task, options)
    options = options or {}
    options.parent = function() return 4711, 12 end
    return find(with(RAY, {RTRAIN_TASK = task}), options).engine
  end
  lu.assertEquals(started_with '11 r1 1', 'local')
  lu.assertEquals(started_with '12 r1 1', 'ray', 'it is this process')
  lu.assertEquals(started_with '11 r1 0', 'ray', 'the launcher has started another task of that one')
  lu.assertEquals(started_with '11 r0 1', 'ray', 'it was of another job')
  lu.assertEquals(started_with('11 r1 1', {launcher = 'ray'}), 'ray', '--launcher')
  lu.assertEquals(started_with 'nonsense', 'ray')
end

TestSite = {}

local files = {}

local function site_file(text)
  local path = os.tmpname() .. '.lua'
  files[#files + 1] = path
  local file = assert(io.open(path, 'w'))
  file:write(text)
  file:close()
  return path
end

function TestSite.tearDown()
  for _, path in ipairs(files) do
    os.remove(path)
    os.remove((path:gsub('%.lua$', '')))
  end
  files = {}
end

local SITE = [[
return {
  name = 'lsf',
  detect = function(getenv) return getenv 'LSB_JOBID' ~= nil end,
  allocation = function(getenv, facts)
    facts:needed_integer('num_nodes', 'SITE_HOSTS', 1)
    facts:integer('node_rank', 'SITE_HOST', 0)
    facts:text('job_id', 'LSB_JOBID')
  end,
}
]]

function TestSite.test_a_file_is_asked_first()
  local path = site_file(SITE)
  local variables = with(SLURM, {LSB_JOBID = '5', SITE_HOSTS = '4', SITE_HOST = '3', RTRAIN_LAUNCHER = path})
  local found = find(variables)
  check(found, {engine = 'lsf', num_nodes = 4, node_rank = 3, job_id = '5', group = '5', is_rank = false}, 'site')
  lu.assertStrContains(found.rule, path)
  lu.assertEquals(found.origins.num_nodes, 'SITE_HOSTS=4')
  check(find(with(SLURM, {RTRAIN_LAUNCHER = path})), {engine = 'slurm'}, 'elsewhere')
  lu.assertStrContains(message_of(find, with(variables, {SITE_HOST = '4'})),
    'SITE_HOST = 4: with SITE_HOSTS = 4 the nodes are 0 to 3')
end

function TestSite.test_files_that_are_not_launchers()
  for text, expected in next, {
    ['return 7'] = 'the file returns number, expected a table',
    ['return {'] = 'unexpected symbol',
    ["error 'broken'"] = 'broken',
    ['return {name = "x"}'] = 'its detect is nil, expected a function',
    ['return {detect = print, allocation = print, submit = 1}'] = 'its submit is number, expected a function',
    ['return {detect = function() return true end, allocation = function(_, facts) facts:set("num_node", 1, "") end}'] =
      "an allocation has no 'num_node': did you mean 'num_nodes'?",
  } do
    local path = site_file(text)
    local message, err = message_of(find, {}, {launcher = path})
    lu.assertStrContains(message, expected)
    lu.assertTrue(err.code == 'config' or err.code == 'argument', err.code)
  end
  lu.assertStrContains(message_of(find, {}, {launcher = '/nowhere/x.lua'}), 'launcher /nowhere/x.lua: ')
end

os.exit(lu.LuaUnit.run(), true)
