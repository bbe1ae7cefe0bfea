"""The compiled sweep is compiled by a process of its own, which ends later than the one that asked."""

from time import monotonic, sleep

from venmas.bounds.compiled.apart import _folder, cached, compile_apart, fill


def test_the_process_compiles_and_leaves_the_result_in_the_cache() -> None:
    fill()
    assert cached()
    lock = _folder() / "crown_kernel.lock"
    lock.unlink()
    compile_apart()
    limit = monotonic() + 60
    while not lock.exists() and monotonic() < limit:
        sleep(0.05)
    assert lock.exists()  # it has come to its call


def test_an_empty_cache_has_no_sweep(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("venmas.bounds.compiled.apart._folder", lambda: tmp_path)
    assert not cached()
    (tmp_path / "crown_kernel.sweep_boxes-24.py30.nbi").touch()  # of another version of Python
    assert not cached()
