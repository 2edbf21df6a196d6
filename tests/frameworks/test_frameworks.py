"""Programs of TensorFlow and JAX on two ranks: both see all data, and a rank's death changes nothing of the result."""

import pytest

np = pytest.importorskip("numpy", reason="no TensorFlow and JAX: scripts/test --frameworks installs them")

TENSORFLOW = """
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    first, start = resumed()
    with strategy.scope():
        weight = tf.Variable(start)

    @tf.function
    def learn(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weight - y) ** 2)
        gradient = tape.gradient(loss, weight)
        gradient, loss = tf.distribute.get_replica_context().all_reduce("mean", [gradient, loss])
        weight.assign_sub(0.1 * gradient)
        return loss

    for step in range(first, 20):
        x, y = batch(step)
        loss = strategy.run(learn, args=(tf.constant(x), tf.constant(y)))
        report(step, strategy.experimental_local_results(loss)[0], weight.numpy())
    assert strategy.num_replicas_in_sync == 2
"""

JAX = """
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec

    jax.distributed.initialize()
    assert jax.process_count() == 2 and jax.process_index() == RANK
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    split, whole = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())

    @jax.jit
    def learn(weight, x, y):
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(weight)
        return loss, jax.lax.with_sharding_constraint(weight - 0.1 * gradient, whole)

    first, start = resumed()
    weight = jax.device_put(start, whole)
    for step in range(first, 20):
        x, y = (jax.make_array_from_process_local_data(split, each) for each in batch(step))
        loss, weight = learn(weight, x, y)
        report(step, loss, np.asarray(weight.addressable_data(0)))
    jax.distributed.shutdown()
"""


def of_both_ranks():
    """The same training, on one rank that sees the batches of both."""
    truth = np.array([[1.0], [-2.0], [0.5], [3.0]], np.float32)
    weight = np.zeros((4, 1), np.float32)
    losses = []
    for step in range(20):
        x = np.concatenate(
            [np.random.default_rng(2 * step + rank).normal(size=(16, 4)).astype(np.float32) for rank in (0, 1)]
        )
        error = x @ weight - x @ truth
        losses.append(float((error**2).mean()))
        weight = weight - 0.1 * (2 * x.T @ error / len(x))
    return losses


# fault: SIGKILL of a program of TensorFlow, of JAX
@pytest.mark.parametrize("backend, program", [("tensorflow", TENSORFLOW), ("jax", JAX)])
def test_two_ranks_train_and_survive_a_kill(trained, backend, program):
    calm, killed = trained(program, backend)
    assert [row["loss"] for row in calm] == pytest.approx(of_both_ranks(), rel=1e-4)
    assert [row["step"] for row in killed] == list(range(20))
    assert killed[-1] == calm[-1]
