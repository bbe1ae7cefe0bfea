"""Options of the command line before it was ordered, by command, and the place of each that is no longer there."""

from __future__ import annotations

from collections.abc import Mapping

_JANI = "--property --property-name --policy --inputs --outputs --with-initial --goal-terminal --leave-range --masking"
_SCENARIO = f"--verbose --scenario --set --networks {_JANI}"

BEFORE: Mapping[str, str] = {
    "verify": f"{_SCENARIO} --formula --mode --trust --semantics --invariant --cluster --timeout --memory --json "
    "--quiet --formulas --least --most --sweep --batch --csv --latex --junit --certificate --witness --journal "
    "--solver --encoding --bounds --workers --predicates --refine --split --guards --search --slice --reuse --tests "
    "--entailed --strengthen --starts --seed",
    "ltl": "--verbose --property --fair --automaton-only --design --btor2 --machine --scenario --certificate --timeout "
    "--json --witness --html --journal --quiet --init --justice --bad --from --trust --learner --network --show --top "
    "--set --networks --deadlock",
    "check": f"{_SCENARIO} --json --timeout --memory --quiet --btor2",
    "report": f"{_SCENARIO} --output --check --certificate --timeout --memory",
    "plot": f"{_SCENARIO} --output --show --variables",
    "reach": f"{_SCENARIO} --steps --direction --timeout --memory --runs --json --plot --quiet --seed --plane",
    "simulate": f"{_SCENARIO} --steps --seed --branch --branches --initial --runs --json",
    "abstract": f"{_SCENARIO} --predicates --formula --seed --relaxed --json --dot --html",
    "scenarios": f"--verbose --set --networks {_JANI}",
    "replay": f"{_SCENARIO} --quiet",
    "archive": f"{_SCENARIO} --output --certificate",
    "programs": f"{_SCENARIO} --formula --output --mode --encoding --bounds --format --limit",
    "formula": f"{_SCENARIO} --formula --negated --output",
    "witness": f"{_SCENARIO} --output",
    "vnnlib": "--verbose --timeout --workers --json --quiet",
    "solvers": "",
    "help": "",
}
"""Long names of the options of each command, those of `export` by its subcommands."""

_OF_JANI = {option: f"--set jani.{option[2:].replace('-', '_')}" for option in _JANI.split()}
_OF_PROGRAMS = {"--encoding": "--tune milp.encoding", "--bounds": "--tune milp.bounds"}
_REFINEMENT = "--refine --split --guards --search --slice --reuse --tests --entailed --strengthen --starts --seed"
_OF_PREDICATES = {option: f"--tune predicates.{option[2:]}" for option in _REFINEMENT.split()}
_SAME = (
    "--fair --scenario --certificate --timeout --json --witness --journal --quiet --trust --set --networks --deadlock"
)
_LOADING = "check report plot reach simulate abstract scenarios replay archive formula witness"

MOVED: Mapping[str, Mapping[str, str]] = {
    "verify": {**_OF_JANI, **_OF_PROGRAMS, **_OF_PREDICATES, "--predicates": "--tune predicates.first"},
    "programs": {**_OF_JANI, **_OF_PROGRAMS},
    **dict.fromkeys(_LOADING.split(), _OF_JANI),
    "ltl": {
        "--property": "verify --formula",
        "--init": "verify --initial",
        "--justice": "verify --formula",
        "--bad": "verify --formula",
        "--design": "verify --scenario",
        "--btor2": "verify --scenario",
        "--machine": "verify --scenario",
        "--top": "verify --set",
        "--from": "--tune ranking.from",
        "--learner": "--tune ranking.learner",
        "--html": "report --output",
        "--show": "verify --verbose",
        "--network": "ranks --output",
        "--automaton-only": "automaton --output",
        **{option: f"verify {option}" for option in f"{_SAME} --fair --verbose".split()},
    },
}
"""By command and option: an option of a command, a key of `--tune`, or a parameter of the model."""
