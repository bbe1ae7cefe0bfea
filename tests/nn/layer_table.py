"""The table of Keras layers in docs/own-network.md as the reader has it: ``python -m tests.nn.layer_table``."""

from venmas.nn.keras_known import LAYERS, RECURRENT

HEAD = ("| layer | its configuration |", "|---|---|")
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
    said = "; ".join(f"`{key}`: {known.expected}" for key, known in keys.items() if known.expected)
    return said.replace("'", '"') or "-"


if __name__ == "__main__":
    print("\n".join([*HEAD, *rows(), "", *RECURRENT_HEAD, *rows(RECURRENT)]))
