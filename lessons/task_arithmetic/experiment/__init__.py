"""The experiments: `mlp` on Rotated MNIST; `causes`, why its two equations miss; `forgetting`, what is left of a task
that was subtracted; and `resnet` on Split CIFAR-100, which trains for minutes and so is measured in profile "full"
alone."""
from lessons.kit import experiment
from lessons.task_arithmetic.experiment import causes, forgetting, mlp, resnet

LEDGER = (mlp.TASK_VECTORS, causes.CAUSES, forgetting.FORGETTING, resnet.RESNETS)


def announce(profile: str = "quick", seed: int = 0, *, resnets: bool = False) -> None:
    """Say which data there are, and what measuring will have to do; in "full" also for the ResNets, where a notebook
    shows them."""
    seconds = mlp.SECONDS[profile]
    sentences = [mlp.source(), experiment.estimate(mlp.recipes(seed).values(), seconds)]
    if resnets and profile == "full":
        sentences.append(resnet.estimate(seed))
    experiment.announce(*sentences)
