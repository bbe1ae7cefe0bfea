"""A stored result, alone or in an archive with its certificate and networks: what commands read of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from venmas.cli.jani_models import is_jani
from venmas.cli.stored import named_elsewhere, read_stored
from venmas.errors import RefusedError, UsageError


@dataclass(frozen=True)
class Packed:
    """The result; of an archive also where its files are unpacked."""

    result: Mapping[str, Any]
    folder: Path | None = None

    @property
    def certificate(self) -> str | None:
        """The certificate of an archive."""
        from venmas.formats.archive import CERTIFICATE

        return None if self.folder is None else str(self.folder / CERTIFICATE)

    @property
    def networks(self) -> str | None:
        """The folder of the networks of an archive, if it holds any."""
        folder = None if self.folder is None else self.folder / "networks"
        return str(folder) if folder is not None and folder.is_dir() else None

    def networks_for(self, scenario: str | None, given: str | None, origin: object = None) -> str | None:
        """Those of the archive, but where options name others, or the scenario comes with its own.

        scenario, given: what options name. origin: what the certificate says, else that of the result.
        """
        if self.networks is None or given is not None or (scenario is not None and is_jani(scenario)):
            return given
        told = self.result.get("origin") if origin is None else origin
        if scenario is None and isinstance(told, dict) and told.get("networks") is None:
            return given
        if scenario is None and named_elsewhere(told, self.networks):
            return given
        return self.networks


NOT_PACKED = Packed({})
"""What is known of a certificate that is in no archive."""


@contextmanager
def packed(path: str) -> Iterator[Packed]:
    """What a file holds. Raises `UsageError`, and `RefusedError` for what is wrong with an archive."""
    from venmas.formats.archive import RESULT, is_archive, unpack

    if not is_archive(path):
        yield Packed(read_stored(path))
        return
    with TemporaryDirectory(prefix="venmas-") as made:
        folder = Path(made)
        unpack(path, folder)
        try:
            result = read_stored(str(folder / RESULT))
        except UsageError as error:
            raise RefusedError(f"the archive's result is none: {error}") from error
        yield Packed(result, folder)
