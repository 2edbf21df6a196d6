"""hvd.elastic: a state that returns to its last commit. rtrain restarts all programs if one is lost (--max-failures), and they
go on from the last commit, which rank 0 keeps in the run's folder.
"""

import copy
import functools

from horovod.torch.elastic import committed
from horovod.torch.objects import broadcast_object, broadcast_optimizer_state, broadcast_parameters


class State:
    """Fields that all ranks share."""

    def __init__(self, **kwargs):
        self._reset_callbacks, self._saved, self._names = [], {}, list(kwargs)
        for name, value in kwargs.items():
            setattr(self, name, value)
        self.save()

    def register_reset_callbacks(self, callbacks):
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp, update_res):
        pass

    def check_host_updates(self):
        """Does nothing: the group has one size while the programs run."""

    def commit(self):
        self.save()
        committed.write(self._content())

    def _content(self):
        return {"values": self._saved}

    def _set_content(self, content):
        self._saved = content["values"]

    def save(self):
        self._saved = {name: copy.deepcopy(getattr(self, name)) for name in self._names}

    def restore(self):
        for name, value in self._saved.items():
            setattr(self, name, copy.deepcopy(value))

    def sync(self):
        """Broadcasts rank 0's values to all ranks."""
        values = broadcast_object({name: getattr(self, name) for name in self._names})
        for name, value in values.items():
            setattr(self, name, value)
        self.save()


class ObjectState(State):
    """A State under the name that scripts use."""


class TorchState(State):
    """A state with a model and an optimizer."""

    def __init__(self, model=None, optimizer=None, **kwargs):
        self.model, self.optimizer = model, optimizer
        super().__init__(**kwargs)

    def save(self):
        super().save()
        self._model = copy.deepcopy(self.model.state_dict()) if self.model is not None else None
        self._optimizer = copy.deepcopy(self.optimizer.state_dict()) if self.optimizer is not None else None

    def _content(self):
        return {**super()._content(), "model": self._model, "optimizer": self._optimizer}

    def _set_content(self, content):
        super()._set_content(content)
        self._model, self._optimizer = content["model"], content["optimizer"]

    def restore(self):
        super().restore()
        if self.model is not None:
            self.model.load_state_dict(self._model)
        if self.optimizer is not None:
            self.optimizer.load_state_dict(self._optimizer)

    def sync(self):
        if self.model is not None:
            broadcast_parameters(self.model.state_dict(), 0)
        if self.optimizer is not None:
            broadcast_optimizer_state(self.optimizer, 0)
        super().sync()


def run(func):
    """Calls func(state, …) with rank 0's state on all ranks: that of its last commit, after which come the functions of
    register_reset_callbacks, if programs of this run were there before.
    """

    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        content = committed.read()
        if content is not None:
            state._set_content(content)
            state.restore()
        state.sync()
        if broadcast_object(content is not None):
            state.on_reset()
        result = func(state, *args, **kwargs)
        committed.forget()
        return result

    return wrapper
