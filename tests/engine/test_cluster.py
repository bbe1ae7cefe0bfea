"""The mapper on a Dask cluster: one of this process (`local:2`), and one that somebody else has started."""

from __future__ import annotations

from tests.needs import needs

needs("distributed", "psutil")

import itertools
import json
import logging
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client
from odd_programs import Broken, Hungry
from test_pool import answers, answers_lazily, easy, hard, jobs, reason, wait_for

import venmas
from tests.corpus.check import available
from tests.corpus.entries_more import CORPUS
from tests.slow import some_slow
from venmas import verify
from venmas.engine.report import Report, Verdict
from venmas.errors import Reason, UsageError
from venmas.solvers.cluster import link as cluster_link
from venmas.solvers.cluster import mapper as cluster_module
from venmas.solvers.cluster import node
from venmas.solvers.cluster.local import LocalCluster
from venmas.solvers.cluster.mapper import Cluster, check_address
from venmas.solvers.milp.program import Feasible, Infeasible, Unknown
from venmas.solvers.workers.mapper import Done, Job, MemoryLimitError, Serial
from venmas.solvers.workers.process import WorkerError

SOLVERS = ("highs",)


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalCluster]:
    """A cluster that outlives its clients, as one on other machines does."""
    cluster = LocalCluster(2)
    yield cluster
    cluster.close()


@contextmanager
def own(workers: int = 2) -> Iterator[LocalCluster]:
    """A cluster for one test, to be broken."""
    cluster = LocalCluster(workers)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    before = {child.pid for child in psutil.Process().children()}
    yield
    assert not [c for c in psutil.Process().children() if c.pid not in before and _is_left(c)]


def _is_left(process: psutil.Process) -> bool:
    try:
        return not any("cluster_local" in part for part in process.cmdline())
    except psutil.NoSuchProcess:  # it has ended meanwhile
        return False


def solver_processes(*workers: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return [child for worker in workers for child in psutil.Process(worker.pid).children()]


def at_work(cluster: LocalCluster) -> set[int]:
    """Solver processes that use a core now, be it for a moment on a busy machine; those without work use none."""
    before = {p: sum(p.cpu_times()[:2]) for p in solver_processes(*cluster.workers)}
    time.sleep(0.3)
    return {p.pid for p, used in before.items() if p.is_running() and sum(p.cpu_times()[:2]) > used}


def run_until(results: Iterator[Done | None], condition: Callable[[], bool], seconds: float = 90) -> None:
    """Let the mapper run until the condition holds; no answer may come before."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        assert next(results) is None


def test_answers_equal_those_of_serial_and_no_more_is_sent_than_is_worked_at(shared: LocalCluster) -> None:
    programs = [easy(seed) for seed in range(24)]
    with Serial(SOLVERS) as serial:
        kinds = {done.job.number: type(done.outcome) for done in answers(serial.map(jobs(*programs)))}
    assert {Feasible, Infeasible} == set(kinds.values())
    taken = answered = most = 0

    def counted() -> Iterator[Job | None]:
        nonlocal taken
        for job in jobs(*programs):
            taken += 1
            yield job
            yield None

    with Cluster(SOLVERS, address=shared.address, ahead=1) as mapper:
        found = []
        for done in mapper.map(counted()):
            most = max(most, taken - answered)
            assert len(mapper._running) <= 2 and mapper.in_flight <= 3
            if done is not None:
                answered += 1
                found.append(done)
        assert {done.job.number: type(done.outcome) for done in found} == kinds and len(found) == 24
        assert all(done.job.attempt == f"a{done.job.number}" and done.solver == "highs" for done in found)
        assert most <= 4  # two at work, one ahead, and the answer that is just being handed over
        assert (mapper.in_flight, mapper.threads) == (0, 2)
        assert mapper.peak_rss_mb > 200  # two workers, two solver processes and this one
        again = answers(mapper.map(jobs(*programs[:4])))  # the workers serve a second stream
        assert {done.job.number: type(done.outcome) for done in again} == {i: kinds[i] for i in range(4)}


def test_one_at_a_time_and_what_is_put_first(shared: LocalCluster) -> None:
    with Cluster(SOLVERS, address=shared.address, ahead=0, at_once=1) as mapper:
        order = []
        for done in answers_lazily(mapper.map(jobs(easy(0), easy(1), easy(2)))):
            order.append((done.job.number, done.job.attempt))
            if done.job.number == 0 and done.job.attempt == "a0":
                mapper.put_first(Job(0, easy(0), "again"))
            assert len(mapper._running) <= 1
        assert order == [(0, "a0"), (0, "again"), (1, "a1"), (2, "a2")]


def test_of_what_came_together_the_lowest_number_goes_first(
    shared: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cluster(SOLVERS, address=shared.address) as mapper:
        answers(mapper.map(jobs(easy(0), easy(1))))
        poll = mapper._poll

        def both(timeout: float) -> None:
            """Take the two answers together, the second one first."""
            if mapper._events.qsize() < 2:
                time.sleep(0.01)
                return
            for event in sorted((mapper._events.get(), mapper._events.get()), key=lambda e: -number(e)):
                mapper._events.put(event)
            poll(0)

        def number(event: object) -> int:
            assert isinstance(event, cluster_link.Ended)
            return mapper._running[event.attempt].job.number

        monkeypatch.setattr(mapper, "_poll", both)
        assert [done.job.number for done in answers(mapper.map(jobs(easy(2), easy(3))))] == [0, 1]


def test_an_early_end_stops_what_is_running_and_leaves_the_cluster_usable(shared: LocalCluster) -> None:
    endless = (Job(number, easy(0) if number == 2 else hard(number)) for number in itertools.count())
    with Cluster(SOLVERS, address=shared.address) as mapper:
        results = mapper.map(itertools.islice(endless, 2))
        run_until(results, lambda: len(at_work(shared)) == 2)
        busy = {p.pid for p in solver_processes(*shared.workers)}
        results.close()  # type: ignore[attr-defined]
        wait_for(lambda: not busy & {p.pid for p in solver_processes(*shared.workers)})
        assert len(answers(mapper.map(jobs(easy(0), easy(1))))) == 2


def test_a_client_that_is_killed_leaves_no_work_behind(shared: LocalCluster) -> None:
    code = f"""
import sys
sys.path[:0] = {[os.path.dirname(__file__), os.getcwd()]!r}
from test_pool import hard, jobs
from venmas.solvers.cluster.mapper import Cluster
for _ in Cluster(("highs",), address={shared.address!r}).map(jobs(hard(0), hard(1), hard(2))):
    pass
"""
    with subprocess.Popen([sys.executable, "-c", code]) as client:
        try:
            wait_for(lambda: len(at_work(shared)) == 2, 60)
        finally:
            client.kill()
    wait_for(lambda: not at_work(shared))


def test_a_worker_killed_in_mid_run_costs_time_only() -> None:
    killed: list[int] = []  # the job that is made next when both workers were there, and one is killed

    def until_50_after_it() -> Iterator[Job]:
        for number in itertools.count():
            if killed and number >= killed[0] + 50:
                return
            yield Job(number, easy(number % 60))

    with own() as cluster, Cluster(SOLVERS, address=cluster.address) as mapper:
        found = []
        for done in mapper.map(until_50_after_it()):
            found += [done] if done is not None else []
            if len(found) >= 10 and mapper.threads == 2 and not killed:
                cluster.workers[0].kill()
                killed.append(len(found))
        assert killed and len(found) >= 60
        assert sorted(done.job.number for done in found) == list(range(len(found)))
        assert not any(isinstance(done.outcome, Unknown) for done in found)
        assert [w.address for w in mapper._workers] and mapper.threads == 2


@pytest.mark.slow
def test_a_job_whose_worker_is_lost_twice_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    with Cluster(SOLVERS, address="local:1", ahead=0) as mapper:
        assert mapper._local is not None
        results = mapper.map(jobs(hard(0)))
        for loss in (1, 2):
            run_until(results, lambda: bool(mapper._running))
            run_until(results, lambda: bool(mapper._local and at_work(mapper._local)))
            mapper._local.workers[0].kill()
            if loss == 1:
                run_until(results, lambda: not mapper._running)
        (done,) = answers(results)
        assert reason(done) == Reason.FAILURE and "two workers were lost" in done.outcome.message
        assert sum("was lost with subproblem 0" in record.getMessage() for record in caplog.records) == 2
        assert [type(done.outcome) for done in answers(mapper.map(jobs(easy(0))))] == [Feasible]  # by the third worker


def test_faults_of_programs_are_told_with_what_the_worker_logged(
    shared: LocalCluster, caplog: pytest.LogCaptureFixture
) -> None:
    with Cluster(SOLVERS, address=shared.address) as mapper:
        (done,) = answers(mapper.map(jobs(Broken())))
        assert reason(done) == Reason.FAILURE
        (record,) = [record for record in caplog.records if record.name == "venmas.solvers.workers.worker"]
        assert record.process != os.getpid() and "AttributeError" in (record.exc_text or "")


def test_memory_limits_hold_for_each_worker_and_for_this_process(
    shared: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_mb = int(psutil.Process().memory_info().rss / 2**20)
    # what this process holds after other tests is not what is asked here
    with monkeypatch.context() as patch, Cluster(SOLVERS, None, 500, address=shared.address) as mapper:
        patch.setattr(cluster_module, "own_resident_mb", lambda: 0.0)
        outcomes = {done.job.number: done for done in answers(mapper.map(jobs(Hungry(), easy(0), easy(1))))}
        assert reason(outcomes[0]) == Reason.MEMORY
        assert not any(isinstance(outcomes[i].outcome, Unknown) for i in (1, 2))
    with (
        Cluster(SOLVERS, None, own_mb - 5, address=shared.address) as mapper,
        pytest.raises(MemoryLimitError, match="main process alone"),
    ):
        answers(mapper.map(jobs(easy(0), easy(1))))


def test_the_deadline_ends_hard_programs(shared: LocalCluster) -> None:
    with Cluster(SOLVERS, address=shared.address) as mapper:
        answers(mapper.map(jobs(easy(0), easy(1))))
        deadline = mapper._deadline = time.monotonic() + 1.5
        found = answers(mapper.map(jobs(*(hard(seed) for seed in range(6)))))
        assert {done.job.number for done in found} == set(range(6)) and {reason(done) for done in found} == {
            Reason.TIME
        }
        assert 0 <= time.monotonic() - deadline < 5
    wait_for(lambda: not at_work(shared))


@pytest.mark.slow
def test_workers_that_do_not_answer_are_given_up_at_the_deadline() -> None:
    with own(1) as cluster, Cluster(SOLVERS, address=cluster.address) as mapper:
        answers(mapper.map(jobs(easy(0))))
        os.kill(cluster.workers[0].pid, signal.SIGSTOP)
        mapper._deadline = time.monotonic() + 0.5
        (done,) = answers(mapper.map(jobs(easy(0))))
        assert reason(done) == Reason.TIME and "did not answer" in done.outcome.message
        os.kill(cluster.workers[0].pid, signal.SIGKILL)


def test_a_scheduler_that_goes_away_ends_the_stream(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster_link, "CONNECT", 1.5)
    with own(1) as cluster, Cluster(SOLVERS, address=cluster.address) as mapper:
        results = mapper.map(jobs(hard(0), hard(1)))
        run_until(results, lambda: len(mapper._running) == 1)
        cluster.scheduler.kill()
        with pytest.raises(WorkerError, match="did not come back"):
            answers(results)
    noise = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("warning: ")]
    assert noise == []  # our own warnings are shown where an earlier test set logging up


def test_an_answer_of_the_scheduler_that_cannot_be_read_ends_the_stream(
    shared: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(_: cluster_link.Link) -> cluster_link.Workers:
        raise KeyError("workers")

    with Cluster(SOLVERS, address=shared.address) as mapper:
        results = mapper.map(jobs(hard(0)))
        run_until(results, lambda: bool(mapper._running))
        monkeypatch.setattr(cluster_link.Link, "_look", look)
        with pytest.raises(WorkerError, match=r"can not be watched any more \(KeyError: 'workers'"):
            answers(results)


def test_a_connection_that_breaks_costs_time_only(shared: LocalCluster) -> None:
    with Cluster(SOLVERS, address=shared.address) as mapper:
        found, cuts = [], 0
        for done in mapper.map(jobs(*(easy(seed) for seed in range(30)))):
            found += [done] if done is not None else []
            if len(found) >= 10 * (cuts + 1) and cuts < 2 and mapper._running:
                client = mapper._link._client
                assert client is not None
                mapper._link._loop.call_soon_threadsafe(client.scheduler_comm.comm.abort)
                cuts += 1
        assert cuts == 2 and sorted(done.job.number for done in found) == list(range(30))
        assert not any(isinstance(done.outcome, Unknown) for done in found)


def test_a_scheduler_that_hears_late_of_a_broken_connection(shared: LocalCluster) -> None:
    """It forgets the client that it knew by that connection: what was asked since by the one after it must stay."""

    def forget(name: str, dask_scheduler: Any) -> int:
        dask_scheduler.remove_client(name)
        return sum(task.state == "processing" for task in dask_scheduler.tasks.values())

    with Cluster(SOLVERS, address=shared.address) as mapper:
        results = mapper.map(jobs(hard(0), hard(1)))
        run_until(results, lambda: len(mapper._running) == 2)
        first, before = mapper._link._client, set(mapper._running)
        assert first is not None
        mapper._link._loop.call_soon_threadsafe(first.scheduler_comm.comm.abort)
        run_until(results, lambda: len(set(mapper._running) - before) == 2)
        with Client(shared.address, set_as_default=False) as other:
            wait_for(lambda: other.run_on_scheduler(forget, first.id) == 2)


@pytest.mark.slow
def test_one_at_a_time_waits_for_the_first_worker_without_spinning() -> None:
    with own(0) as cluster, Cluster(SOLVERS, address=cluster.address, ahead=0, at_once=1) as mapper:
        results = mapper.map(jobs(easy(0), easy(1)))
        begun = time.monotonic()
        assert [next(results) for _ in range(3)] == [None] * 3 and time.monotonic() - begun > 0.2
        cluster._add()
        assert len(answers(results)) == 2


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_link, "CONNECT", 0.5)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'.*dask scheduler"):
        Cluster(SOLVERS, address="tcp://127.0.0.1:9")
    with pytest.raises(UsageError, match="no Dask scheduler answers at 'smoke://here:1'"):
        Cluster(SOLVERS, address="smoke://here:1")


@pytest.mark.parametrize("address", ["local:0", "local:", "local:two", "local:-1", "local:5000", "machine", ""])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(UsageError, match=r"local:N"):
        check_address(address)


def test_without_dask_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "find_spec", lambda _: None)
    system = CORPUS[0].system()
    with pytest.raises(UsageError, match=r'pip install "\.\[cluster\]"'):
        verify(system, CORPUS[0].formula, cluster="local:2")


@pytest.mark.parametrize(
    ("options", "message"),
    [({"mode": "mono"}, "comp-par"), ({"mode": "invariant"}, "comp-par"), ({"workers": 2}, "local:N")],
)
def test_options_that_do_not_go_with_a_cluster(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        verify(CORPUS[0].system(), CORPUS[0].formula, cluster="local:2", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [None, "adaptive", "linear"])
def test_ltl_is_decided_on_one_machine_whatever_the_mode(mode: str | None) -> None:
    system = CORPUS[0].system()
    letter = next(iter(system.variables))
    with pytest.raises(UsageError, match=r"^[^:]*: leave the (cluster|mode) out") as refused:
        verify(system, f"G F {letter} >= 0", cluster="local:2", mode=mode)
    assert "choose" not in str(refused.value) and "linear" not in str(refused.value).partition(": ")[2]


def test_no_worker_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE", 1.0)
    with (
        own(0) as cluster,
        Cluster(SOLVERS, address=cluster.address) as mapper,
        pytest.raises(WorkerError, match=f"dask worker {cluster.address}"),
    ):
        answers(mapper.map(jobs(easy(0))))


@pytest.mark.slow
def test_workers_of_another_version_get_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(Path(venmas.__file__).parent, tmp_path / "venmas", ignore=shutil.ignore_patterns("__pycache__"))
    version = tmp_path / "venmas" / "_version.py"
    version.write_text(version.read_text().replace('"0.', '"9.'))
    monkeypatch.setattr(cluster_module, "PATIENCE", 8.0)
    with own(0) as cluster:
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(tmp_path))  # what is started from here on finds the other version first
            cluster._add()
            with own(0) as other, pytest.raises(UsageError, match=r"scheduler at .* venmas is 9\..* here; install"):
                Cluster(SOLVERS, address=other.address)
        with Cluster(SOLVERS, address=cluster.address) as mapper:
            with pytest.raises(WorkerError, match=r"do not fit .*venmas is 9\..*install the same"):
                answers(mapper.map(jobs(easy(0))))
            cluster._add()
            assert [type(done.outcome) for done in answers(mapper.map(jobs(easy(0), easy(1))))] != []
            assert mapper.threads == 1
    assert sum("gets no subproblems" in record.getMessage() for record in caplog.records) == 1


def test_the_identity_follows_the_source_text() -> None:
    here = node.versions(("highs",))
    assert set(here) == {"venmas", "python", "highs"} and "source" in here["venmas"]
    assert node.differences(here, dict(here)) == []
    assert node.differences(here, here | {"venmas": "0"}) == [f"venmas is 0 there and {here['venmas']} here"]


def test_orders_for_another_process_are_not_solved() -> None:
    order = pickle.dumps(node.Order(easy(0), SOLVERS, None, None, logging.WARNING))
    assert node.solve_order("another", order) is None


# whole verifications

PARALLEL = ("kripke-14", "line-8", "shapes-2", "routes-6", "union-4", "climber-3")


@pytest.mark.parametrize(
    "entry", some_slow((e for e in CORPUS if e.name in PARALLEL), range(0, 6, 3)), ids=lambda e: e.name
)
def test_verdicts_equal_those_of_the_pool(shared: LocalCluster, entry) -> None:  # type: ignore[no-untyped-def]
    def ask(**options: object) -> Report:
        return verify(entry.system(), entry.formula, solver="highs", trust="solver", **options)  # type: ignore[arg-type]

    pooled, sent = ask(mode="comp-par", workers=2), ask(mode="comp-par", cluster=shared.address)
    assert pooled.verdict is sent.verdict is entry.verdict
    assert (sent.mode, pooled.reason, pooled.basis) == ("comp-par", sent.reason, sent.basis)
    assert any("cluster" in note for note in sent.notes)
    assert sent.replay is None or sent.replay.confirmed
    one = ask(cluster=shared.address, mode="comp-seq")
    assert (one.verdict, one.subproblems.solved) == (
        sent.verdict,
        one.subproblems.solved if sent.violated else sent.subproblems.solved,
    )


@pytest.mark.slow
def test_a_lost_scheduler_is_an_unknown_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_link, "CONNECT", 1.0)
    from venmas import load_scenario

    system = load_scenario("vcas").system(climb0="-45..45", h_min="-400", h_max="400")
    with own(1) as cluster:
        killed = False

        def kill(progress: object) -> None:
            nonlocal killed
            if not killed and at_work(cluster):
                cluster.scheduler.kill()
                killed = True

        options = {"mode": "comp-par", "solver": "highs", "cluster": cluster.address, "timeout": 200}
        report = verify(system, "AX^2 (h > -489)", progress=kill, **options)  # type: ignore[arg-type]
    assert killed and (report.verdict, report.reason) == (Verdict.UNKNOWN, "failure")
    assert "did not come back" in report.message and report.subproblems.cancelled > 0


LONG = [
    "--scenario",
    "vcas",
    "--mode",
    "comp-par",
    "--solver",
    "highs",
    "--set",
    "climb0=-45..45",
    "--set",
    "h_min=-400",
    "--set",
]
LONG += ["h_max=400", "--formula", "AX^2 (h > -489)", "--cluster", "local:2", "--json", "-"]


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_an_end_by_a_signal_leaves_no_process(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "venmas", *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        family: set[psutil.Process] = set()

        def five() -> bool:
            nonlocal family
            family = set(psutil.Process(process.pid).children(recursive=True))
            return len(family) == 5  # a scheduler, two workers, and a solver process each

        try:
            wait_for(five, 90)
        finally:
            process.send_signal(how)
        out, err = process.communicate(timeout=60)
    assert not psutil.wait_procs(family, timeout=8)[1]
    if how == signal.SIGINT:
        result = json.loads(out)
        assert (process.returncode, result["verdict"], result["reason"]) == (20, "unknown", "interrupted")
        theirs = ("distributed", "RuntimeWarning", "  self.close()")  # of Dask, where a stream closes as we end
        assert [line for line in err.splitlines() if not any(word in line for word in theirs)] == []


@pytest.mark.slow
def test_available_solvers_run_on_the_cluster(shared: LocalCluster) -> None:
    for solver in available():
        with Cluster((solver,), address=shared.address) as mapper:
            assert {done.solver for done in answers(mapper.map(jobs(easy(0), easy(1))))} == {solver}
