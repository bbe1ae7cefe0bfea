"""The table of docs/onnx.md as the reader's own registry has it: ``python tests/nn/operator_table.py`` prints it."""

from venmas.nn.onnx_constants import CARRIED_OUT
from venmas.nn.onnx_operators import OF_SEVERAL, OPERATORS
from venmas.nn.onnx_table import FLOAT, FLOATS, INT, NEWEST, RECURRENT, STRING, TABLE

HEAD = ("| operator | forms since opset | attributes | over |", "|---|---|---|---|")
TRIED = {INT: (0, 1, 2), STRING: ("NOTSET", "SAME_LOWER", "SAME_UPPER", "VALID", "down", "up", "forward", "reverse")}


def rows():
    """Lines of the table; operators that are alike share one."""
    alike = {}
    for op in sorted(TABLE):
        alike.setdefault(_row(op), []).append(f"`{op}`")
    return [f"| {', '.join(ops)} | {row} |" for row, ops in alike.items()]


def _row(op):
    forms = TABLE[op]
    names = sorted({name for form in forms for name in form.attributes})
    attributes = "; ".join(_attribute(name, forms) for name in names) or "-"
    computed = "several, constants" if op in OF_SEVERAL else "computed"
    if op == "Concat":
        computed = "several"
    over = [computed] if op in OPERATORS else []
    over += ["constant"] if op in CARRIED_OUT else []
    over = ["shapes"] if op == "Shape" else over
    return f"{', '.join(str(form.since) for form in forms)} | {attributes} | {'; '.join(over)}"


RECURRENT_HEAD = ("| operator | forms since opset | attributes | activations |", "|---|---|---|---|")


def recurrent_rows():
    """Lines of the table of operators with a memory."""
    return [_recurrent(op, RECURRENT[op]) for op in sorted(RECURRENT)]


def _recurrent(op, forms):
    functions = forms[0].attributes["activations"].refusal.removeprefix("expected the activations ")
    read = sorted({n for form in forms for n, a in form.attributes.items() if a.kind not in (FLOAT, FLOATS)})
    attributes = "; ".join(_attribute(name, forms) for name in read if name != "activations")
    return f"| `{op}` | {', '.join(str(form.since) for form in forms)} | {attributes} | {functions} |"


def _attribute(name, forms):
    told = f"`{name}`"
    kept = [form.attributes[name] for form in forms if name in form.attributes]
    choices = {_understood(a) for a in kept}
    assert len(choices) <= 2
    if len(choices) == 1 and (values := choices.pop()):
        told += f" = {values}"
    having = [name in form.attributes for form in forms]
    if not all(having):
        first = forms[having.index(True)].since
        ends = [form.since for form, has in zip(forms, having, strict=True) if not has and form.since > first]
        last = ends[0] - 1 if ends else None
        told += f" (from {first})" if last is None else f" ({first})" if last == first else f" ({first} to {last})"
    return told


def _understood(attribute):
    """The values that are read, where they are some of those tried."""
    tried = TRIED.get(attribute.kind, ())
    if attribute.understood is None or not tried:
        return ""
    known = [str(v) for v in tried if attribute.understood(v)]
    return " or ".join(known) if len(known) < len(tried) else ""


if __name__ == "__main__":
    print("\n".join([*HEAD, *rows(), "", *RECURRENT_HEAD, *recurrent_rows()]), f"\n(opsets to {NEWEST})")
