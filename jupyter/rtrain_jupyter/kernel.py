"""LuaKernel: Jupyter's protocol on one side, a Repl on the other."""

import re
import signal
from typing import ClassVar

from ipykernel.kernelbase import Kernel

from .repl import Ended, Repl

_NAME_AT_END = re.compile(r"^[\w.:]*")


class LuaKernel(Kernel):
    implementation = "rtrain"
    implementation_version = "1"
    banner = "rtrain: cells are Lua; torch, nn, F, optim and train are there"
    language_info: ClassVar = {
        "name": "lua",
        "version": "5.1",
        "mimetype": "text/x-lua",
        "file_extension": ".lua",
        "pygments_lexer": "lua",
        "codemirror_mode": "lua",
    }

    def __init__(self, **values):
        super().__init__(**values)
        self._repl = None
        self._is_silent = False
        self._cell = None  # the request whose output is shown

    @property
    def kernel_info(self):
        """Without what ipykernel can do for Python alone: debug, run cells at the same time."""
        return {**super().kernel_info, "supported_features": []}

    def _process(self):
        if self._repl is None:
            self._repl = Repl(self._show_output, self._show_message)
        return self._repl

    def _forget(self):
        """Ends the process, if there is one: the next request starts another one. Any thread may call it."""
        repl, self._repl = self._repl, None
        if repl is not None:
            repl.close()

    def _publish(self, kind, content):
        self.session.send(self.iopub_socket, kind, content, self._cell, ident=self._topic(kind))

    def _show_output(self, name, text):
        if not self._is_silent and self._cell is not None:
            self._publish("stream", {"name": name, "text": text})

    def _show_message(self, message):
        if self._is_silent:
            return
        content = {"data": message["data"], "metadata": {}}
        if message["type"] == "result":
            self._publish("execute_result", {**content, "execution_count": self.execution_count})
            return
        if message.get("display_id"):
            content["transient"] = {"display_id": message["display_id"]}
        self._publish("update_display_data" if message["type"] == "update" else "display_data", content)

    def pre_handler_hook(self):
        """Jupyter interrupts with SIGINT, which is the cell's."""
        self.saved_sigint_handler = signal.signal(signal.SIGINT, self._on_interrupt)

    def _on_interrupt(self, *_):
        if self._repl is not None:
            self._repl.interrupt()

    async def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_):
        count = {"execution_count": self.execution_count}
        self._is_silent, self._cell = silent, self.get_parent("shell")
        if not code.strip():
            return {"status": "ok", **count, "payload": [], "user_expressions": {}}
        try:
            answer = self._process().ask("execute", code=code, number=self.execution_count, silent=silent)
        except Ended as end:
            self._forget()
            text = f"{end}: its variables are lost, the next cell starts it again"
            return self._failed({"code": "worker_lost", "message": text}, count)
        except OSError as error:
            return self._failed({"code": "environment", "message": str(error)}, count)
        if "error" in answer:
            return self._failed(answer["error"], count)
        return {"status": "ok", **count, "payload": [], "user_expressions": {}}

    def _failed(self, error, count):
        lines = error.get("text", error["message"]).split("\n")
        content = {"ename": error["code"], "evalue": error["message"], "traceback": lines}
        if not self._is_silent:
            self._publish("error", content)
        return {"status": "error", **count, **content}

    def _ask(self, what, **values):
        """The answer to a question about code; {} if there is none."""
        try:
            answer = self._process().ask(what, **values)
        except Ended:
            self._forget()
            return {}
        except OSError:
            return {}
        return {} if "error" in answer else answer

    async def do_complete(self, code, cursor_pos):
        answer = self._ask("complete", text=code[:cursor_pos])
        start = cursor_pos - len(answer.get("typed", ""))
        matches = answer.get("choices", [])
        return {"status": "ok", "matches": matches, "cursor_start": start, "cursor_end": cursor_pos, "metadata": {}}

    async def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        end = cursor_pos + len(_NAME_AT_END.match(code[cursor_pos:])[0])
        data = self._ask("inspect", text=code[:end]).get("data") or {}
        return {"status": "ok", "found": bool(data), "data": data, "metadata": {}}

    async def do_is_complete(self, code):
        state = self._ask("is_complete", code=code).get("state", "unknown")
        return {"status": state, "indent": ""} if state == "incomplete" else {"status": state}

    async def do_shutdown(self, restart):
        self._forget()
        return {"status": "ok", "restart": restart}
