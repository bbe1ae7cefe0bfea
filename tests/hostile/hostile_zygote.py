"""A process that has imported the verifier and runs its command line in forked children, limited in time and memory.

One request a line on stdin (JSON: args, folder, seconds, megabytes), one answer a line on stdout: how the child ended,
how long it took, how much of that on a processor, and the largest resident memory of it and of the processes it
started. Time in which it waited for a processor that others had is not counted against it. Each child is a session of
its own, of which nothing is left afterwards. Started by `hostile_runner`.
"""

import json
import os
import resource
import signal
import sys
import time

import h5py  # noqa: F401
import highspy  # noqa: F401
import onnx  # noqa: F401

from tests.clock import waited
from venmas.cli.main import main


def data_bytes() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))


def child(args: list[str], folder: str, megabytes: int) -> None:
    os.setsid()
    os.chdir(folder)
    for number, name in ((0, os.devnull), (1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
    limit = data_bytes() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    status = 99
    try:
        main(args)
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            status = 120  # as the interpreter does
        os._exit(status)


def run(args: list[str], folder: str, seconds: float, megabytes: int) -> dict[str, object]:
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        child(args, folder, megabytes)
    late = False
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            break
        if not late and (took := time.monotonic() - begin) > seconds and took - waited(pid) > seconds:
            late = True
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.005)
    took = time.monotonic() - begin
    try:
        os.killpg(pid, signal.SIGKILL)
        left = True
    except ProcessLookupError:
        left = False
    return {
        "status": os.waitstatus_to_exitcode(status),
        "late": late,
        "left": left,
        "seconds": took,
        "cpu": used.ru_utime + used.ru_stime,
        "megabytes": used.ru_maxrss / 1024,
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(**json.loads(line))), flush=True)
