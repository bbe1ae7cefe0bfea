"""The table of Keras layers in docs/own-network.md as the reader has it: ``python -m tests.nn.layer_table``."""

from venmas.nn.keras_known import LAYERS, RECURRENT

HEAD = ("| layer | its configuration |", "|---|---|")
SHORT = {  # the page says what they stand for
    "two positive whole numbers": "two counts",
    "a positive whole number": "count",
    "true or false": "bool",
}
RECURRENT_HEAD = ("| layer with a memory | its configuration |", "|---|---|")


def rows(layers=LAYERS):
    """Lines of the table; layers of the same keys share one, and keys that all of them have stand first."""
    alike = {
        key: known
        for key, known in next(iter(layers.values())).items()
        if all(keys.get(key) == known for keys in layers.values())
    }
    told = {_said(alike): [f"`{kind}`" for kind in layers]} if alike else {}
    for kind, keys in layers.items():
        more = {key: known for key, known in keys.items() if key not in alike}
        if more or not alike:
            told.setdefault(_said(more), []).append(f"`{kind}`")
    return [f"| {', '.join(kinds)} | {said} |" for said, kinds in told.items()]


def _said(keys):
    """The keys, those that have to be alike together."""
    named = {}
    for key, known in keys.items():
        if known.expected:
            named.setdefault(known.expected, []).append(f"`{key}`")
    said = "; ".join(f"{', '.join(alike)}: {SHORT.get(expected, expected)}" for expected, alike in named.items())
    return said.replace("'", '"') or "-"


if __name__ == "__main__":
    print("\n".join([*HEAD, *rows(), "", *RECURRENT_HEAD, *rows(RECURRENT)]))
