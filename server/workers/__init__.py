"""Several processes behind one port: a parent that takes connections, and workers that serve them.

The parent accepts every connection and hands it to the worker that has the fewest. Two other ways were turned
down. A listening socket that all workers accept from lets the system choose, which prefers whoever is awake:
with WebSockets, which stay for hours, a few workers end up with most of them. And with a listening socket for
each (SO_REUSEPORT) the kernel resets what waits at one that is closed, so that every restart loses
connections. Here nobody but the parent listens, and it does from the first worker to the last: while one is
replaced, and even while none is there, connections wait and none is refused.

A worker is a fresh interpreter (`patience worker`, a command that no help shows), so it runs the code that is
on disk when it starts. `crew.py` keeps all of them going and replaces them, `worker.py` is one as its parent
sees it, `duty.py` is the worker's own side, and `channel.py` is what the two say to each other.
"""

from server.workers.channel import Channel
from server.workers.crew import Crew
from server.workers.duty import serve_on_duty
from server.workers.pace import Pace
from server.workers.worker import worker_command

__all__ = ("Channel", "Crew", "Pace", "serve_on_duty", "worker_command")
