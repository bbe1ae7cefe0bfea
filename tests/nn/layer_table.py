"""The table of Keras layers in docs/own-network.md as the reader has it: ``python -m tests.nn.layer_table``."""

from venmas.nn.keras_known import LAYERS, RECURRENT

HEAD = ("| layer | its configuration |", "|---|---|")
RECURRENT_HEAD = ("| layer with a memory | its configuration |", "|---|---|")


def rows(layers=LAYERS):
    """Lines of the table; layers of the same keys share one."""
    told = {}
    for kind, keys in layers.items():
        said = "; ".join(f"`{key}`: {known.expected}" for key, known in keys.items() if known.expected)
        told.setdefault(said.replace("'", '"') or "-", []).append(f"`{kind}`")
    return [f"| {', '.join(kinds)} | {said} |" for said, kinds in told.items()]


if __name__ == "__main__":
    print("\n".join([*HEAD, *rows(), "", *RECURRENT_HEAD, *rows(RECURRENT)]))
