"""The variables that launchers set in the processes that they start."""


class Task:
    """A process that a launcher starts. `counts` holds the number of processes on each node."""

    def __init__(self, node, local_rank, counts):
        self.node, self.local_rank, self.counts = node, local_rank, counts
        self.rank, self.size = sum(counts[:node]) + local_rank, sum(counts)


def slurm(task, job_id):
    """A task of a job step."""
    count = len(task.counts)
    return {
        "SLURM_JOB_ID": job_id,
        "SLURM_STEP_ID": 0,
        "SLURM_JOB_NAME": "test",
        "SLURM_NNODES": count,
        "SLURM_NTASKS": task.size,
        "SLURM_STEP_NODELIST": f"n[0-{count - 1}]",
        "SLURM_STEP_TASKS_PER_NODE": ",".join(map(str, task.counts)),
        "SLURM_NODEID": task.node,
        "SLURM_PROCID": task.rank,
        "SLURM_LOCALID": task.local_rank,
    }


def torchrun(task, job_id):
    """`torchrun --nnodes 2 --nproc-per-node 2`."""
    return {
        "RANK": task.rank,
        "LOCAL_RANK": task.local_rank,
        "WORLD_SIZE": task.size,
        "LOCAL_WORLD_SIZE": task.counts[task.node],
        "GROUP_RANK": task.node,
        "GROUP_WORLD_SIZE": len(task.counts),
        "MASTER_ADDR": "n0",
        "MASTER_PORT": 29500,
        "TORCHELASTIC_RUN_ID": job_id,
        "TORCHELASTIC_RESTART_COUNT": 0,
    }


def openmpi(task, job_id):
    """`mpirun -N 2` of version 4: a process does not get its node's number."""
    return {
        "OMPI_COMM_WORLD_SIZE": task.size,
        "OMPI_COMM_WORLD_RANK": task.rank,
        "OMPI_COMM_WORLD_LOCAL_RANK": task.local_rank,
        "OMPI_COMM_WORLD_LOCAL_SIZE": task.counts[task.node],
        "OMPI_MCA_orte_num_nodes": len(task.counts),
        "OMPI_MCA_ess_base_jobid": job_id,
    }


def openmpi_by_node(task, job_id):
    """`mpirun -N 2 --map-by node`: assigns the ranks to the nodes in turn."""
    return {**openmpi(task, job_id), "OMPI_COMM_WORLD_RANK": task.local_rank * len(task.counts) + task.node}
