"""VerticalCAS: a collision avoidance system for two aircraft, its pilot and the geometry of the encounter.

State: h (altitude of the intruder relative to the ownship), climb (climb rate of the ownship), tau (time until the
aircraft are no longer horizontally separated) and adv (the advisory given last). Each second one of nine networks,
chosen by adv, scores nine advisories; the pilot follows the best one with one of three accelerations, or keeps the
climb rate where it complies already. A near mid-air collision is |h| <= 100 ft; `safe` says that there is none.

Sources: Akintunde et al., JAAMAS 2022, section 7.2 (closed loop); Julian and Kochenderfer, VerticalCAS (networks);
ARCH-COMP AINNCS "VCAS" (the pilots "middle" and "worst").

Two conventions are the paper's, and differ elsewhere. Network inputs are (h/16000, climb/5000, (tau-20)/40); the
headers of the published .nnet files divide climb by 200 instead, so that the normalisation in the header is ignored
here. The thresholds of compliance (1500 and 2500) are ft/min in aviation, but the paper compares them with the climb
rate in ft/s; compliance_unit=ft/min divides them by 60. The pilot "worst" (the weakest pull that an advisory allows)
keeps the climb rate under COC, where there is no pull.

tau falls by one each second and never below tau_min: looking further ahead than tau0 - tau_min steps is an error (the
state leaves its box), as the networks know nothing of that time. A lower tau_min allows it. Likewise |h| stays below
h_limit, which wide initial sets pass after 23 seconds and more; the networks were trained for 8000 ft.
"""

from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.model import NetworkFolder, Parameter, Range, System, apply_network, argmax, switch, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from venmas.plot import Trace

ADVISORIES = {
    1: "COC",
    2: "DNC",
    3: "DND",
    4: "DES1500",
    5: "CL1500",
    6: "SDES1500",
    7: "SCL1500",
    8: "SDES2500",
    9: "SCL2500",
}
G = Fraction(322, 10)
DOWN, UP = (-G / 3, -7 * G / 24, -G / 4), (G / 4, 7 * G / 24, G / 3)
STRONG_DOWN, STRONG_UP = (-G / 3,) * 3, (G / 3,) * 3
ACCELERATIONS = {
    1: (-G / 8, Fraction(0), G / 8),
    2: DOWN,
    3: UP,
    4: DOWN,
    5: UP,
    6: STRONG_DOWN,
    7: STRONG_UP,
    8: STRONG_DOWN,
    9: STRONG_UP,
}
WEAKEST = {1: 1, 2: 2, 3: 0, 4: 2, 5: 0, 6: 2, 7: 0, 8: 2, 9: 0}  # position in ACCELERATIONS

FILES = {
    "onnx": ("{0}.onnx", "*pra0{0}_*.onnx", "vcas_{0}.onnx"),
    "h5": ("vcas_{0}.h5", "{0}.h5", "*pra0{0}_*.h5"),
    "keras": ("{0}.keras", "vcas_{0}.keras", "*pra0{0}_*.keras"),
    "nnet": ("{0}.nnet", "*pra0{0}_*.nnet", "vcas_{0}.nnet"),
}

PARAMETERS = (
    Parameter("climb0", Range(-19.5, -19.5), "initial climb rate", "ft/s"),
    Parameter("h_min", -133.0, "least initial altitude of the intruder", "ft"),
    Parameter("h_max", -129.0, "greatest initial altitude of the intruder", "ft"),
    Parameter("tau0", Range(25, 25), "initial time to loss of horizontal separation", "s"),
    Parameter("tau_min", 0.0, "tau at which the model ends", "s"),
    Parameter("h_limit", 3000.0, "altitude difference, up or down, at which the model ends", "ft"),
    Parameter("sensor", 0.0, "largest error of the climb rate that the networks see, up or down", "ft/s"),
    Parameter("pilot", "all", "accelerations the pilot may choose", choices=("all", "middle", "worst")),
    Parameter("compliance_unit", "ft/s", "unit of the compliance thresholds", choices=("ft/s", "ft/min")),
    Parameter("weights", "auto", "format of the network files", choices=("auto", *FILES)),
)


def build(
    networks: NetworkFolder,
    climb0: Range,
    h_min: Fraction,
    h_max: Fraction,
    tau0: Range,
    tau_min: Fraction,
    h_limit: Fraction,
    sensor: Fraction,
    pilot: str,
    compliance_unit: str,
    weights: str,
) -> System:
    """The closed loop."""
    system = System("vcas", "VerticalCAS")
    h = system.real("h", -h_limit, h_limit, unit="ft")
    climb = system.real("climb", -2500, 2500, unit="ft/s")
    tau = system.real("tau", tau_min, 40, unit="s")
    adv = system.integer("adv", 1, 9, labels=ADVISORIES)

    seen = climb + system.disturbance("error", -sensor, sensor, unit="ft/s")
    inputs = h / 16000, seen / 5000, (tau - 20) / 40
    patterns = [p for kind, names in FILES.items() if weights in ("auto", kind) for p in names]
    scores = {
        i: apply_network(networks.load(*(p.format(i) for p in patterns), normalization="ignore"), inputs)
        for i in ADVISORIES
    }
    action = system.agent(1 + argmax(switch(adv, scores)), name="advisory", labels=ADVISORIES)

    per = 60 if compliance_unit == "ft/min" else 1
    complies = {
        2: climb <= 0,
        3: climb >= 0,
        4: climb <= Fraction(-1500, per),
        5: climb >= Fraction(1500, per),
        6: climb <= Fraction(-1500, per),
        7: climb >= Fraction(1500, per),
        8: climb <= Fraction(-2500, per),
        9: climb >= Fraction(2500, per),
    }
    keeps = {i: (adv == i) & condition for i, condition in complies.items()} | {1: False}
    choices = {
        "all": {f"a{i + 1}": {k: ACCELERATIONS[k][i] for k in ADVISORIES} for i in range(3)},
        "middle": {"a2": {k: ACCELERATIONS[k][1] for k in ADVISORIES}},
        "worst": {"weakest": {k: ACCELERATIONS[k][WEAKEST[k]] for k in ADVISORIES}},
    }
    for name, pulls in choices[pilot].items():
        a = switch(action, {k: where(keeps[k], 0, pulls[k]) for k in ADVISORIES})
        system.branch(name, h=h - climb - a / 2, climb=climb + a, tau=tau - 1, adv=action)

    system.initial(
        (h >= h_min) & (h <= h_max),
        (climb >= climb0.low) & (climb <= climb0.high),
        (tau >= tau0.low) & (tau <= tau0.high),
        adv == 1,
    )
    system.proposition("safe", (h > 100) | (h < -100))
    for k in range(1, 11):
        system.specify(f"safe{k}", f"AX^{k} safe")
    return system


def picture(figure: "Figure", trace: "Trace") -> str:
    """The encounter from the side, in front of 200 runs with initial states and pilots at random."""
    from venmas.plot.style import BLUE, FAINT, GREY, INK, RED

    axes = figure.subplots()
    axes.set_title("Vertical geometry")
    axes.set_xlabel("tau: time to loss of horizontal separation (s)")
    axes.set_ylabel("h: intruder above ownship (ft)")
    axes.axhspan(-100, 100, facecolor="#fbe3d6", edgecolor=RED, hatch="//", linewidth=0, alpha=0.5, zorder=0,
                 label="unsafe: |h| <= 100 ft")  # fmt: skip
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0.5)
    runs = trace.sample(200)
    axes.plot(runs["tau"], runs["h"], color=GREY, linewidth=0.5, alpha=0.2, zorder=1)
    axes.plot([], [], color=GREY, linewidth=0.8, label="200 sampled pilots")
    tau, h = trace.values("tau"), trace.values("h")
    axes.plot(*trace.lines("tau", "h"), color=BLUE, linewidth=1.8, label="the run" if trace.is_path else "the runs")
    axes.plot(tau, h, "o", markersize=3 if trace.steps > 12 else 4, color=BLUE)
    inside = [i for i in range(len(h)) if abs(h[i]) <= 100]
    axes.plot(tau[inside], h[inside], "D", markersize=5.5, color=RED, markeredgecolor="white", zorder=4,
              label=f"near mid-air collision ({len(inside)} states)")  # fmt: skip
    axes.margins(y=0.15)
    axes.invert_xaxis()
    if trace.is_path:
        said = ""
        for i, visit in enumerate(trace.visits):
            label = next((a.label for a in visit.node.actions), "")
            if label and label != said:
                said, up = label, h[i] >= 0
                axes.annotate(label, (tau[i], h[i]), xytext=(0, 8 if up else -8), textcoords="offset points",
                              fontsize=7, color=INK, ha="left", va="bottom" if up else "top", annotation_clip=False,
                              rotation=45 if up else -45, rotation_mode="anchor")  # fmt: skip
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16), ncols=2, handlelength=1.2, columnspacing=1)
    return (
        f"Vertical geometry: h goes from {h[0]:.1f} ft at tau {tau[0]:g} s to {h[-1]:.1f} ft at tau {tau[-1]:g} s, in "
        f"front of 200 sampled pilots; {len(inside)} states lie in the unsafe band of 100 ft up and down."
    )
