"""A backend without processes, for tests that are not about them; and a short scenario."""

from contextlib import contextmanager

from airqueue.runs import protocol

CELL = """
duration = "40 ms"
warm_up = "10 ms"
[phy]
standard = "802.11b"
[[stations]]
name = "ap"
[[stations]]
name = "sta"
count = 3
[[flows]]
name = "up"
from = "sta"
to = "ap"
"""


class Here:
    """Carries out one piece of work after the other, at most ``most`` of them."""

    def __init__(self, most=10**9):
        self.most = most
        self.done = []
        self.todo = []

    @contextmanager
    def opened(self):
        yield self

    def submit(self, work):
        self.todo.append(work)

    def in_progress(self):
        return 0.0

    def collect(self, timeout_s):
        if len(self.done) >= self.most:
            raise KeyboardInterrupt
        work = self.todo.pop(0)
        self.done.append(work)
        return [(work, protocol.answer(work, protocol.run_request(protocol.request(work)), "this"))]
