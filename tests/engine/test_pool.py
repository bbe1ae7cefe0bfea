from tests.needs import needs

needs("psutil")

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from odd_programs import Broken, Hungry, Noisy

from venmas.errors import Reason, UsageError
from venmas.solvers.milp.program import Feasible, Infeasible, Kind, Program, ProgramBuilder, Unknown
from venmas.solvers.workers.pool import Done, Job, MemoryLimitError, Pool, Serial, WorkerError
from venmas.solvers.workers.process import interrupts_held

SOLVERS = ("highs",)


def easy(seed: int) -> Program:
    """Few binaries that sum up to a weight: feasible or not, depending on the seed."""
    rng = np.random.default_rng(seed)
    builder = ProgramBuilder()
    columns = [builder.add_variable(0, 1, Kind.BINARY) for _ in range(6)]
    weights = rng.integers(3, 20, 6)
    target = float(weights[:3].sum() + seed % 2)
    builder.add_row(columns, weights.astype(float), target, target)
    return builder.build()


def hard(seed: int = 0) -> Program:
    """A market split of 6 x 50, far beyond what branch and bound can do in a test."""
    rng = np.random.default_rng(seed)
    builder = ProgramBuilder()
    columns = [builder.add_variable(0, 1, Kind.BINARY) for _ in range(50)]
    for _ in range(6):
        weights = rng.integers(0, 100, 50).astype(float)
        half = float(weights.sum() // 2)
        builder.add_row(columns, weights, half, half)
    return builder.build()


def jobs(*programs: Any) -> Iterator[Job]:
    return iter([Job(number, program, f"a{number}") for number, program in enumerate(programs)])


def answers(results: Iterator[Done | None]) -> list[Done]:
    return [done for done in results if done is not None]


def reason(done: Done) -> Reason:
    assert isinstance(done.outcome, Unknown)
    return done.outcome.reason


_OTHERS: set[int] = set()


def children() -> list[psutil.Process]:
    """Processes that this test has started, dead ones that nobody waited for included."""
    return [child for child in psutil.Process().children(recursive=True) if child.pid not in _OTHERS]


def gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def working(pool: Pool) -> list[int]:
    """Processes that have received a job."""
    return [w.process.pid for w in pool._workers if w.ready and w.task is not None]


def next_where(results: Iterator[Done | None], condition: Callable[[], bool]) -> None:
    """Let the mapper run until the condition holds; no answer may come before."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        assert next(results) is None


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    _OTHERS.clear()
    _OTHERS.update(child.pid for child in children())
    yield
    assert not children()


def test_answers_equal_those_of_serial() -> None:
    programs = [easy(seed) for seed in range(24)]
    with Serial(SOLVERS) as serial:
        expected = answers(serial.map(jobs(*programs)))
        assert [done.job.number for done in expected] == list(range(24))
        assert serial.peak_rss_mb > 10
    kinds = {done.job.number: type(done.outcome) for done in expected}
    assert {Feasible, Infeasible} == set(kinds.values())
    for workers, ahead in ((2, 1), (1, 0)):
        with Pool(SOLVERS, workers=workers, ahead=ahead) as pool:
            found = answers(pool.map(jobs(*programs)))
            assert {done.job.number: type(done.outcome) for done in found} == kinds
            assert all(done.job.attempt == f"a{done.job.number}" and done.solver == "highs" for done in found)
            assert all(
                programs[done.job.number].violation(done.outcome.point) <= 1e-5
                for done in found
                if isinstance(done.outcome, Feasible)
            )
            assert pool.in_flight == 0
            again = answers(pool.map(jobs(*programs[:4])))  # the workers serve a second stream
            assert {done.job.number: type(done.outcome) for done in again} == {i: kinds[i] for i in range(4)}
            assert pool.peak_rss_mb > serial.peak_rss_mb / 2


@pytest.mark.parametrize(("workers", "ahead"), [(2, 1), (2, 0), (1, 0)])
def test_endless_stream_is_taken_no_faster_than_answered(workers: int, ahead: int) -> None:
    taken = answered = 0

    def endless() -> Iterator[Job | None]:
        nonlocal taken
        for number in itertools.count():
            assert taken - answered < workers + ahead
            taken += 1
            yield Job(number, easy(number))
            yield None

    with Pool(SOLVERS, workers=workers, ahead=ahead) as pool:
        results = pool.map(endless())
        for done in results:
            answered += done is not None
            if answered == 60:
                break


def test_heartbeats_come_back_without_blocking() -> None:
    def stream() -> Iterator[Job | None]:
        yield Job(0, hard())
        for _ in range(50):
            yield None

    with Pool(SOLVERS, workers=1, ahead=1) as pool:
        results = pool.map(stream())
        begun = time.monotonic()
        assert [next(results) for _ in range(51)] == [None] * 51
        assert time.monotonic() - begun < 5
        next_where(results, lambda: bool(working(pool)))
        begun = time.monotonic()
        assert [next(results) for _ in range(5)] == [None] * 5  # and while there is nothing but to wait
        assert time.monotonic() - begun > 0.3


@pytest.mark.parametrize("make", [lambda: Serial(SOLVERS), lambda: Pool(SOLVERS, workers=1, ahead=0)])
def test_put_first_goes_before_the_stream(make: Callable[[], Serial | Pool]) -> None:
    with make() as mapper:
        order = []
        for done in answers_lazily(mapper.map(jobs(easy(0), easy(1), easy(2)))):
            order.append((done.job.number, done.job.attempt))
            if done.job.number == 0 and done.job.attempt == "a0":
                mapper.put_first(Job(0, easy(0), "again"))
                mapper.put_first(Job(0, easy(0), "and again"))
                assert mapper.in_flight >= 2
        assert order == [(0, "a0"), (0, "again"), (0, "and again"), (1, "a1"), (2, "a2")]


def answers_lazily(results: Iterator[Done | None]) -> Iterator[Done]:
    return (done for done in results if done is not None)


def test_close_after_the_first_feasible_leaves_nothing() -> None:
    endless = (Job(number, easy(0) if number == 3 else hard(number)) for number in itertools.count())
    pool = Pool(SOLVERS, workers=4)
    results = pool.map(endless)
    first = next(answers_lazily(results))
    assert isinstance(first.outcome, Feasible) and first.job.number == 3
    begun = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    pool.close()
    assert time.monotonic() - begun < 1
    assert not children()
    pool.close()
    with pytest.raises(ValueError, match="closed"):
        next(pool.map(jobs(easy(0))))


def test_killed_idle_worker_is_replaced() -> None:
    with Pool(SOLVERS, workers=2) as pool:
        assert len(answers(pool.map(jobs(easy(0), easy(1))))) == 2
        victims = children()
        for victim in victims:
            victim.kill()
        found = answers(pool.map(jobs(*(easy(seed) for seed in range(6)))))
        assert not any(isinstance(done.outcome, Unknown) for done in found) and len(found) == 6
        assert not {victim.pid for victim in victims} & {child.pid for child in children()}


def test_job_of_a_killed_worker_is_tried_again_then_fails() -> None:
    def stuck() -> list[int]:
        return [w.process.pid for w in pool._workers if w.ready and w.task is not None and w.task.job.number == 0]

    with Pool(SOLVERS, workers=2, ahead=0) as pool:
        found, pids = [], []
        signals = [signal.SIGKILL, signal.SIGSEGV]
        for done in pool.map(jobs(hard(), *(easy(seed) for seed in range(6)))):
            found += [done] if done is not None else []
            if signals and stuck() and stuck()[0] not in pids:
                pids += stuck()
                os.kill(pids[-1], signals.pop(0))
        assert len(set(pids)) == 2 and not signals
        outcomes = {done.job.number: done for done in found}
        assert len(outcomes) == len(found) == 7 and reason(outcomes[0]) == Reason.FAILURE
        assert isinstance(outcomes[0].outcome, Unknown) and "signal 11" in outcomes[0].outcome.message
        assert not any(isinstance(outcomes[i].outcome, Unknown) for i in range(1, 7))


def test_job_of_a_worker_killed_once_is_solved_on_another() -> None:
    with Pool(SOLVERS, workers=1, ahead=0) as pool:
        answers(pool.map(jobs(easy(0))))
        worker = pool._workers[0].process
        os.kill(worker.pid, signal.SIGSTOP)  # so that it has the job and does not answer
        results = pool.map(jobs(easy(0)))
        next_where(results, lambda: bool(working(pool)))
        worker.kill()
        assert [type(done.outcome) for done in answers(results)] == [Feasible]
        assert pool._workers[0].process.pid != worker.pid


def test_death_before_a_worker_was_ready_does_not_count_for_the_job() -> None:
    with Pool(SOLVERS, workers=1, ahead=0) as pool:
        worker = pool._workers[0].process
        os.kill(worker.pid, signal.SIGSTOP)
        results = pool.map(jobs(easy(0)))
        assert next(results) is None
        worker.kill()
        assert [type(done.outcome) for done in answers(results)] == [Feasible]


def test_workers_that_cannot_start_end_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Pool(SOLVERS, workers=2) as pool, pytest.raises(WorkerError, match="exit code 1"):
        answers(pool.map(jobs(easy(0))))
    monkeypatch.setattr(sys, "executable", "/no/such/interpreter")
    with pytest.raises(WorkerError, match="cannot start"):
        Pool(SOLVERS, workers=2)


def test_unknown_solver_and_wrong_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match="cplex"):
        Pool(("cplex",), workers=2)
    with pytest.raises(UsageError, match="cplex"):
        Serial(("cplex",))
    with pytest.raises(ValueError, match="workers >= 1"):
        Pool(SOLVERS, workers=0)


@pytest.mark.parametrize("stopped", [False, True])
def test_deadline_in_hard_programs(stopped: bool) -> None:
    with Pool(SOLVERS, workers=2) as pool:
        answers(pool.map(jobs(easy(0), easy(1))))
        deadline = pool._deadline = time.monotonic() + 2
        results = pool.map(jobs(*(hard(seed) for seed in range(8))))
        next_where(results, lambda: len(working(pool)) == 2)
        if stopped:  # workers that do not answer at all, as with a solver that ignores its time limit
            for pid in working(pool):
                os.kill(pid, signal.SIGSTOP)
        found = []
        for done in results:
            found += [done] if done is not None else []
            assert time.monotonic() - deadline < 10
        assert {done.job.number for done in found} == set(range(8))
        assert {reason(done) for done in found} == {Reason.TIME}
        assert 0 <= time.monotonic() - deadline < 1
    assert not children()
    with Serial(SOLVERS, deadline) as serial:
        assert [reason(done) for done in answers(serial.map(jobs(hard())))] == [Reason.TIME]


def test_memory_limit_kills_the_largest_worker() -> None:
    with Pool(SOLVERS, workers=2) as pool:
        assert answers(pool.map(jobs(easy(0), easy(1))))
        usual = int(pool.peak_rss_mb)
    with Pool(SOLVERS, None, usual + 250, workers=2) as pool:
        found = answers(pool.map(jobs(Hungry(), *(easy(seed) for seed in range(8)))))
        outcomes = {done.job.number: done for done in found}
        assert len(outcomes) == len(found) == 9 and reason(outcomes[0]) == Reason.MEMORY
        assert not any(isinstance(outcomes[i].outcome, Unknown) for i in range(1, 9))
        assert pool.peak_rss_mb > usual + 250


def test_memory_limit_below_what_it_takes_to_start() -> None:
    program = hard()  # made before: a worker that is ready when memory is looked at gets the job
    own = int(psutil.Process().memory_info().rss / 2**20)
    with Pool(SOLVERS, None, own - 5, workers=2) as pool, pytest.raises(MemoryLimitError, match="main process alone"):
        answers(pool.map(jobs(easy(0))))
    with Pool(SOLVERS, None, own + 15, workers=3) as pool, pytest.raises(MemoryLimitError, match="no room"):
        answers(pool.map(iter([Job(0, program)])))
    with Serial(SOLVERS, None, own - 5) as serial, pytest.raises(MemoryLimitError, match="main process alone"):
        answers(serial.map(jobs(easy(0))))


def test_pool_does_with_fewer_workers_when_the_room_for_them_is_gone() -> None:
    with Pool(SOLVERS, workers=2) as pool:
        answers(pool.map(jobs(*(easy(seed) for seed in range(8)))))
        own, sizes = pool._measure()
        pool.limit(None, int(own + 1.5 * max(sizes.values())))  # as if this process had grown
        found, end = [], time.monotonic() + 20
        for done in answers_lazily(pool.map(Job(number, easy(number)) for number in itertools.count())):
            found.append(done)
            assert time.monotonic() < end, "the pool keeps both workers"
            if pool._size == 1 and len(found) % 100 == 0:
                break
        assert len(children()) == 1
        assert sum(isinstance(done.outcome, Unknown) for done in found) <= 1


def test_log_records_arrive(caplog: pytest.LogCaptureFixture) -> None:
    with Pool(SOLVERS, workers=1) as pool:
        assert [reason(done) for done in answers(pool.map(jobs(Broken())))] == [Reason.FAILURE]
        (record,) = [record for record in caplog.records if record.name == "venmas.solvers.workers.worker"]
        assert record.levelno == logging.ERROR and record.process != os.getpid()
        assert "AttributeError" in (record.exc_text or "")
        caplog.clear()
        caplog.set_level(logging.CRITICAL, "venmas")
        assert len(answers(pool.map(jobs(Broken())))) == 1
        assert not caplog.records


def test_kill_in_the_middle_of_logging_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    with Pool(SOLVERS, workers=2, ahead=1) as pool:
        for _ in range(6):
            results = pool.map(jobs(Noisy(), *(easy(seed) for seed in range(4))))
            found, kills = [], 0
            for done in results:
                found += [done] if done is not None else []
                noisy = [w.process for w in pool._workers if w.ready and w.task and w.task.job.number == 0]
                if noisy and noisy[0].poll() is None and len([r for r in caplog.records if r.name == "venmas.noisy"]):
                    time.sleep(rng.random() * 0.01)
                    noisy[0].kill()
                    noisy[0].wait()
                    kills += 1
                    caplog.clear()
            outcomes = {done.job.number: done for done in found}
            assert kills == 2 and reason(outcomes[0]) == Reason.FAILURE
            assert not any(isinstance(outcomes[i].outcome, Unknown) for i in range(1, 5))


SCRIPT = """
import sys
sys.path[:0] = [{tests!r}, {root!r}]
from test_pool import *
pool = Pool(("highs",), workers=2)
results = pool.map(jobs(hard(0), hard(1), hard(2)))
try:
    next_where(results, lambda: len(working(pool)) == 2)
    print(json.dumps(working(pool)), flush=True)
    answers(results)
except KeyboardInterrupt:
    pool.close()
    print("interrupted", len(children()), flush=True)
"""


def run_script(folder: Path, text: str) -> subprocess.Popen[str]:
    script = folder / "script.py"  # no guard of __main__: nothing may import it again
    script.write_text(
        textwrap.dedent(text).format(tests=str(Path(__file__).parent), root=str(Path(__file__).parents[2]))
    )
    return subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_die_with_the_main_process(tmp_path: Path, how: signal.Signals) -> None:
    with run_script(tmp_path, SCRIPT) as main:
        assert main.stdout is not None
        pids = json.loads(main.stdout.readline())
        assert len(pids) == 2 and not any(gone(pid) for pid in pids)
        main.send_signal(how)
        main.wait(10)
        wait_for(lambda: all(gone(pid) for pid in pids))


def test_interrupt_of_the_group_reaches_the_consumer_only(tmp_path: Path) -> None:
    with run_script(tmp_path, SCRIPT) as main:
        assert main.stdout is not None
        pids = json.loads(main.stdout.readline())
        os.killpg(main.pid, signal.SIGINT)
        rest = main.stdout.read()
        assert rest == "interrupted 0\n" and main.wait(10) == 0
        assert all(gone(pid) for pid in pids)


def test_workers_do_not_hear_an_interrupt() -> None:
    with Pool(SOLVERS, workers=2) as pool:
        workers = children()
        for worker in workers:
            worker.send_signal(signal.SIGINT)  # at their start
        results = pool.map(jobs(hard(0), hard(1), hard(2)))
        next_where(results, lambda: len(working(pool)) == 2)
        for worker in workers:
            worker.send_signal(signal.SIGINT)
        next(results), next(results), next(results)
        assert sorted(working(pool)) == sorted(worker.pid for worker in workers)


def test_without_the_kernels_help_a_worker_watches_the_pipe() -> None:
    code = """
        import socket, sys, time
        from venmas.solvers.workers import worker
        sys.platform = "other"
        ours, theirs = socket.socketpair()
        worker._die_with_main_process(ours.fileno())
        theirs.close()
        time.sleep(20)
    """
    begun = time.monotonic()
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False).returncode == 1
    assert time.monotonic() - begun < 15


def test_an_interrupt_while_signals_are_being_blocked_leaves_none_of_them_blocked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What has come is handled once they are blocked, and may raise there."""
    real = signal.pthread_sigmask
    before = real(signal.SIG_BLOCK, ())

    def interrupted(how: int, mask: Any) -> Any:
        done = real(how, mask)
        if how == signal.SIG_BLOCK and mask:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(signal, "pthread_sigmask", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt), interrupts_held():
            pass
        assert real(signal.SIG_BLOCK, ()) == before
    finally:
        real(signal.SIG_SETMASK, before)
