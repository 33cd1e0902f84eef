"""The equations of the cells as plain loops of NumPy, one step after the other, in float64."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from tagkit.nn.recurrence.cell import CellOptions

Array = npt.NDArray[np.float64]
Weights = Mapping[str, Array]
# Weights by name, options, and inputs (time, inputs) -> states (time, hidden)
Equations = Callable[[Weights, CellOptions, Array], list[Array]]


def sigmoid(scores: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-scores))
    return found


def activation(options: CellOptions, scores: Array) -> Array:
    found: Array = np.tanh(scores) if options.activation == "tanh" else np.maximum(scores, 0)
    return found


def elman(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    states = [np.zeros(p["weight_hh_l0"].shape[1])]
    for x in inputs:
        a = p["weight_ih_l0"] @ x + p["bias_ih_l0"] + p["weight_hh_l0"] @ states[-1]
        states.append(activation(options, a + p["bias_hh_l0"]))
    return states[1:]


def lstm(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    states, c = [np.zeros(p["weight_hh_l0"].shape[1])], np.zeros(p["weight_hh_l0"].shape[1])
    for x in inputs:
        a = p["weight_ih_l0"] @ x + p["bias_ih_l0"] + p["weight_hh_l0"] @ states[-1]
        i, f, g, o = np.split(a + p["bias_hh_l0"], 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        states.append(sigmoid(o) * np.tanh(c))
    return states[1:]


def gru(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    states = [np.zeros(p["weight_hh_l0"].shape[1])]
    for x in inputs:
        h = states[-1]
        of_x = np.split(p["weight_ih_l0"] @ x + p["bias_ih_l0"], 3)
        of_h = np.split(p["weight_hh_l0"] @ h + p["bias_hh_l0"], 3)
        r, z = (sigmoid(of_x[k] + of_h[k]) for k in (0, 1))
        n = np.tanh(of_x[2] + r * of_h[2])
        states.append((1 - z) * n + z * h)
    return states[1:]


def peephole_lstm(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    hidden = p["weight_hh"].shape[1]
    w_i, w_f, w_g, w_o = np.split(p["weight_ih"], 4)
    u_i, u_f, u_g, u_o = np.split(p["weight_hh"], 4)
    b_i, b_f, b_g, b_o = np.split(p["bias"], 4)
    p_i, p_f, p_o = p["peepholes"]
    states, c = [np.zeros(hidden)], np.zeros(hidden)
    for x in inputs:
        h = states[-1]
        i = sigmoid(w_i @ x + u_i @ h + p_i * c + b_i)
        f = sigmoid(w_f @ x + u_f @ h + p_f * c + b_f)
        g = np.tanh(w_g @ x + u_g @ h + b_g)
        c = f * c + i * g
        o = sigmoid(w_o @ x + u_o @ h + p_o * c + b_o)
        states.append(o * np.tanh(c))
    return states[1:]


def gru_reset_before(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    w_r, w_z, w_n = np.split(p["weight_ih"], 3)
    u_r, u_z, u_n = np.split(p["weight_hh"], 3)
    b_r, b_z, b_n = np.split(p["bias"], 3)
    states = [np.zeros(len(u_r))]
    for x in inputs:
        h = states[-1]
        r, z = sigmoid(w_r @ x + u_r @ h + b_r), sigmoid(w_z @ x + u_z @ h + b_z)
        n = np.tanh(w_n @ x + u_n @ (r * h) + b_n)
        states.append((1 - z) * n + z * h)
    return states[1:]


def leaky(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    hidden = len(p["bias"])
    if options.leak == "learned":
        leak = sigmoid(p["leak_logit"])
    elif options.leak == "spectrum":
        leak = np.array([1 / 32 ** ((unit + 0.5) / hidden) for unit in range(hidden)])
    else:
        rates = options.leak if isinstance(options.leak, tuple) else (options.leak,)
        leak = np.array([rates[unit * len(rates) // hidden] for unit in range(hidden)], float)
    a, states = 1 - leak, [np.zeros(hidden)]
    for x in inputs:
        new = activation(options, p["weight_ih"] @ x + p["weight_hh"] @ states[-1] + p["bias"])
        states.append(a * states[-1] + (1 - a) * new)
    return states[1:]


def _skip_sums(p: Weights, options: CellOptions, x: Array, states: list[Array]) -> Array:
    sums = p["weight_ih"] @ x + p["weight_hh"] @ states[-1] + p["bias"]
    matrices = np.split(p["weight_skip"], len(options.skip))
    for delay, matrix in zip(options.skip, matrices, strict=True):
        if delay <= len(states):
            sums = sums + matrix @ states[-delay]
    return sums


def skip(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    states = [np.zeros(len(p["bias"]))]
    for x in inputs:
        states.append(activation(options, _skip_sums(p, options, x, states)))
    return states[1:]


def skip_lstm(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    c = np.zeros(len(p["bias"]) // 4)
    states = [c]
    for x in inputs:
        i, f, g, o = np.split(_skip_sums(p, options, x, states), 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        states.append(sigmoid(o) * np.tanh(c))
    return states[1:]


def clockwork(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    hidden, groups = len(p["bias"]), len(options.periods)
    group_of = [unit * groups // hidden for unit in range(hidden)]
    states = [np.zeros(hidden)]
    for t, x in enumerate(inputs):
        state = states[-1].copy()
        for unit, group in enumerate(group_of):
            if t % options.periods[group] == 0:
                read = [other for other in range(hidden) if group_of[other] >= group]
                product = p["weight_hh"][unit, read] @ states[-1][read]
                state[unit] = activation(
                    options, p["weight_ih"][unit] @ x + product + p["bias"][unit]
                )
        states.append(state)
    return states[1:]


def output_feedback(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    outputs = [np.zeros(len(p["bias"]))]
    for x in inputs:
        h = activation(options, p["weight_ih"] @ x + p["weight_hh"] @ outputs[-1] + p["bias"])
        outputs.append(p["weight_out"] @ h + p["bias_out"])
    return outputs[1:]


def sru(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    hidden = p["peepholes"].shape[1]
    w_f, w_r, w, *w_s = np.split(p["weight_ih"], len(p["weight_ih"]) // hidden)
    (v_f, v_r), (b_f, b_r) = p["peepholes"], np.split(p["bias"], 2)
    states, c = [], np.zeros(hidden)
    for x in inputs:
        f, r = sigmoid(w_f @ x + v_f * c + b_f), sigmoid(w_r @ x + v_r * c + b_r)
        c = f * c + (1 - f) * (w @ x)
        states.append(r * c + (1 - r) * (w_s[0] @ x if w_s else 3**0.5 * x))
    return states


def deep_transition(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    first, *deeper = np.split(p["weight_hh"], options.transition_layers)
    states = [np.zeros(len(p["bias"]))]
    for x in inputs:
        a = activation(options, p["weight_ih"] @ x + first @ states[-1] + p["bias"])
        for k, u in enumerate(deeper, start=2):
            scores = u @ a + p["bias_deeper"][k - 2]
            if options.transition_skip and k == options.transition_layers:
                scores = scores + p["weight_skip"] @ states[-1]
            a = activation(options, scores)
        states.append(a)
    return states[1:]


def recurrent_highway(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    layers, states = options.transition_layers, [np.zeros(p["weight_hh"].shape[1])]
    matrices = np.split(p["weight_hh"], 2 * layers)  # n and g of each layer in turn
    for x in inputs:
        s = states[-1]
        for k in range(layers):
            given = p["weight_ih"] @ x + p["bias"] if k == 0 else p["bias_deeper"][k - 1]
            of_new, of_gate = np.split(given, 2)
            new = np.tanh(of_new + matrices[2 * k] @ s)
            gate = sigmoid(of_gate + matrices[2 * k + 1] @ s)
            s = gate * new + (1 - gate) * s
        states.append(s)
    return states[1:]


def ntm(p: Weights, options: CellOptions, inputs: Array) -> list[Array]:
    heads, (slots, width), hidden = options.heads, options.memory, p["weight_hh"].shape[1]
    kinds = (2 * heads * width, heads * width, 4 * heads, 2 * heads, heads * width, 6 * heads)
    places = np.cumsum(kinds)[:-1]
    h, c, reads, states = np.zeros(hidden), np.zeros(hidden), np.zeros(heads * width), []
    memory = np.tile(p["first"], (slots, 1))
    weights = [np.eye(slots)[0]] * 2 * heads
    for x in inputs:
        a = p["weight_ih"] @ x + p["weight_hh"] @ h + p["weight_reads"] @ reads + p["bias"]
        i, f, o, g = np.split(a, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        emitted = np.split(p["weight_heads"] @ h + p["bias_heads"], places)
        keys, added, scales, gates, erased, shifts = emitted
        for head in range(2 * heads):
            key = keys[head * width : (head + 1) * width]
            strength = np.log1p(np.exp(scales[head]))
            sharpness = 1 + np.log1p(np.exp(scales[2 * heads + head]))
            cosines = np.array([
                key @ slot / np.sqrt((key @ key + 1e-6) * (slot @ slot + 1e-6)) for slot in memory
            ])  # fmt: skip
            by_content = np.exp(strength * cosines) / np.exp(strength * cosines).sum()
            gate = sigmoid(gates[head])
            focus = gate * by_content + (1 - gate) * weights[head]
            s = np.exp(shifts[3 * head : 3 * head + 3])
            s = s / s.sum()  # of -1, 0 and 1
            moved = np.zeros(slots)
            for slot in range(slots):
                for shift in (-1, 0, 1):
                    moved[(slot + shift) % slots] += focus[slot] * s[shift + 1]
            weights[head] = moved**sharpness / (moved**sharpness).sum()
        kept = np.ones((slots, width))
        for w, e in zip(weights[heads:], np.split(sigmoid(erased), heads), strict=True):
            kept = kept * (1 - np.outer(w, e))
        memory = memory * kept
        for w, new in zip(weights[heads:], np.split(added, heads), strict=True):
            memory = memory + np.outer(w, new)
        reads = np.concatenate([w @ memory for w in weights[:heads]])
        states.append(p["weight_out"] @ np.concatenate((h, reads)) + p["bias_out"])
    return states


EQUATIONS: dict[str, Equations] = {
    "elman": elman,
    "lstm": lstm,
    "gru": gru,
    "lstm-peephole": peephole_lstm,
    "gru-reset-before": gru_reset_before,
    "leaky": leaky,
    "skip": skip,
    "skip-lstm": skip_lstm,
    "clockwork": clockwork,
    "output-feedback": output_feedback,
    "echo-state": leaky,
    "sru": sru,
    "deep-transition": deep_transition,
    "recurrent-highway": recurrent_highway,
    "ntm": ntm,
}
