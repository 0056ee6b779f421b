"""The experiments, a file a question: `near`, λ and the two gaps, with `causes` and `lengths`; `flow` and `rule`, the
theorems about gradient flow, with `batches`; `kernel`, ridge regression; `subsets`, what to tune, and `lora` with
`frozen`; `merging`, tangent task vectors. What they share is in `common`, the two tasks of `near` in `even_odd` and
`ten`.

All networks are trained in float64. Those of the zoo, and the starts of all others, are rounded to float32, so that
they are the same bit for bit on every processor; what is finetuned from there inside an experiment is not rounded, and
is judged by verdict and spread.
"""
from lessons.kit import experiment
from lessons.linearization.experiment import (
    batches,
    causes,
    common,
    flow,
    frozen,
    kernel,
    lengths,
    lora,
    merging,
    near,
    rule,
    subsets,
)

SECONDS = {"quick": 30, "full": 360}  # with nothing kept, on two cores


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Print which data the chapter works on, and how long that takes."""
    modules = (near, causes, lengths, flow, rule, batches, kernel, subsets, lora, frozen, merging)
    wanted = experiment.to_measure((module.EXPERIMENT for module in modules), profile, seed)
    experiment.announce(near.source(), f"Everything is trained in the experiments: at most {SECONDS[profile]} s on two "
                                       "cores, once." if wanted else experiment.ALL_THERE)


def claims(near_sweep, causes_sweep, lengths_sweep, flow_sweep, rule_sweep, kernel_sweep, subsets_sweep,
           lora_sweep) -> dict:
    """The numbers behind LFT-1 to LFT-14, in order: {claim: {number: value}}."""
    numbers = flow.claims(flow_sweep) | rule.claims(rule_sweep) | kernel.claims(kernel_sweep)
    numbers |= subsets.claims(subsets_sweep) | lora.claims(lora_sweep) | near.claims(near_sweep)
    for module, sweep in ((causes, causes_sweep), (lengths, lengths_sweep)):
        numbers["LFT-11"] = numbers["LFT-11"] | module.claims(sweep)["LFT-11"]
    return dict(sorted(numbers.items(), key=lambda item: int(item[0].partition("-")[2])))
