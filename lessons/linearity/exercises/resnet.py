"""The exercises of chapter 2."""
import torch

from lessons.kit.exercise import Exercise, Wrong
from lessons.linearity import algorithms


def _features():
    generator = torch.Generator().manual_seed(2)
    scale = torch.tensor([0.5, 2.0, 7.0])[:, None, None]
    return 1.5 + scale * torch.randn(4, 3, 5, 5, generator=generator, dtype=torch.float64)


def _normalise_cases():
    h = _features()
    mean = torch.tensor([0.0, 1.0, 2.0]).double()
    var = torch.tensor([1.0, 4.0, 9.0]).double()
    return [(h, *algorithms.channel_statistics(h)), (h, mean, var)]


def _own_statistics(h, mean, var):
    """A wrong answer to 2.4."""
    own_mean = h.mean((0, 2, 3))
    own_var = h.var((0, 2, 3), unbiased=False)
    return (h - own_mean[:, None, None]) / (own_var[:, None, None] + 1e-5).sqrt()


def _crossed(cross):
    """A wrong answer to 2.5: with the cross term α·(1 − α)·cross(correlation, √(var_i · var_j))."""
    def mixed_variance(var_i, var_j, correlation, alpha):
        squares = alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j
        return squares + alpha * (1 - alpha) * cross(correlation, (var_i * var_j) ** 0.5)

    return mixed_variance


EXERCISES = [
    Exercise(
        "2.1", "how many test images has a pair?", 3, 1000,
        wrong=[
            Wrong(20_000,
                  "That is what the source prints, and it is right for Rotated MNIST: two tasks with 10,000 test "
                  "images each. CIFAR-100 has 10,000 test images in all, and a split is a twentieth of them."),
            Wrong(10_000, "That is the whole test part, all 100 classes. A pair of splits has ten classes."),
            Wrong(500, "That is one split. A pair is evaluated on the union of its two tasks."),
            Wrong(5_000,
                  "Those are the training images of a pair: 500 of each class. Of test images there are 100 a "
                  "class."),
            Wrong(200, "Two times 100 would be two classes. A split has five, and a pair two splits."),
        ],
        hints=[
            "CIFAR-100 has 100 classes with 500 training and 100 test images each.",
            "A split has five classes.",
            "The source evaluates a pair on both of its tasks together.",
        ],
        praise="The printed 20,000 cannot be met by any selection from the test part; it looks carried over from "
               "Rotated MNIST. It changes no conclusion, only how far the averages can be trusted."),

    Exercise(
        "2.2", "the last batch", 4, algorithms.last_batch,
        cases=lambda: [(2500, 64), (2496, 64), (60_000, 64), (10, 64)],
        wrong=[
            Wrong(lambda images, batch_size: images % batch_size,
                  "Right until the images fit exactly: then the remainder is 0, but the last batch is a full one."),
            Wrong(lambda images, batch_size: images // batch_size,
                  "This counts the full batches. How many images are left after them?"),
            Wrong(lambda images, batch_size: batch_size - images % batch_size,
                  "This is what is missing to a full batch, not what is in it."),
            Wrong(lambda images, batch_size: batch_size,
                  "Only if the images fit exactly. A data loader hands out what is left as a smaller batch, "
                  "unless told to drop it."),
        ],
        hints=[
            "Full batches take away a multiple of batch_size.",
            "% gives the remainder.",
            "What if the remainder is 0?",
        ],
        praise="2,500 images in batches of 64 leave a batch of 4. Keep that number in mind."),

    Exercise(
        "2.3", "mean and variance of a channel", 6, algorithms.channel_statistics,
        cases=lambda: [(_features(),), (_features()[:1],), (_features()[..., :1, :1],)],
        wrong=[
            Wrong(lambda h: (h.mean(0), h.var(0, unbiased=False)),
                  "You averaged over the samples only, so every pixel keeps statistics of its own. BatchNorm has "
                  "one mean and one variance a channel: average over samples and pixels."),
            Wrong(lambda h: (h.mean((2, 3)), h.var((2, 3), unbiased=False)),
                  "These are statistics of every sample on its own (that would be InstanceNorm). Average over "
                  "the samples too."),
            Wrong(lambda h: (h.mean((0, 2, 3)), h.var((0, 2, 3))),
                  "Nearly: torch's var divides by the count minus 1 unless told otherwise. BatchNorm normalises "
                  "with the biased variance, unbiased=False."),
            Wrong(lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3), unbiased=False)),
                  "The second is the standard deviation; asked for is the variance."),
            Wrong(lambda h: (h.mean(), h.var(unbiased=False)),
                  "One number for all channels together. Each channel has its own."),
        ],
        hints=[
            "The channels are dimension 1; all others go.",
            "h.mean((0, 2, 3)) averages over several dimensions at once.",
            "The variance is the biased one.",
        ],
        praise="In training these come from the batch; for evaluation the layer keeps running averages of them.",
        tolerance=1e-9),

    Exercise(
        "2.4", "normalise", 6, algorithms.normalise,
        cases=_normalise_cases,
        wrong=[
            Wrong(lambda h, mean, var: (h - mean[:, None, None]) / (var[:, None, None] + 1e-5),
                  "You divided by the variance. Divide by its square root, so that a channel comes out with "
                  "variance 1."),
            Wrong(lambda h, mean, var: h - mean[:, None, None],
                  "The mean is gone, the scale is not: divide by the standard deviation too."),
            Wrong(lambda h, mean, var: h / (var[:, None, None] + 1e-5).sqrt() - mean[:, None, None],
                  "Order matters: first subtract the mean, then divide."),
            Wrong(lambda h, mean, var: (h - mean) / (var + 1e-5).sqrt(),
                  "(channels,) meets the last dimension of h, the width. Give mean and var two more dimensions: "
                  "mean[:, None, None]."),
            Wrong(_own_statistics,
                  "You computed the statistics from h itself. Use those that are handed in: which ones to use is "
                  "the question of this section."),
        ],
        hints=[
            "mean[:, None, None] has shape (channels, 1, 1) and meets the right dimension.",
            "Add eps = 1e-5 to the variance before the square root.",
        ],
        praise="The whole difference between the three treatments is which mean and var go in here.",
        tolerance=1e-6),

    Exercise(
        "2.5", "the variance of a mix", 7, algorithms.mixed_variance,
        cases=lambda: [(1.0, 1.0, 0.2, 0.5), (2.0, 0.5, 0.9, 0.25), (1.0, 3.0, -0.3, 0.75), (2.0, 4.0, 0.5, 1.0)],
        wrong=[
            Wrong(lambda var_i, var_j, correlation, alpha: alpha * var_i + (1 - alpha) * var_j,
                  "This is the mix of the variances, exactly what interpolating the running statistics does. The "
                  "variance of the mix is another thing: expand the square of α·a + (1 − α)·b."),
            Wrong(lambda var_i, var_j, correlation, alpha: alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j,
                  "Right if the two were uncorrelated. Expanding the square leaves a cross term, 2·α·(1 − α) "
                  "times the covariance."),
            Wrong(_crossed(lambda correlation, deviations: 2 * correlation),
                  "The cross term needs the covariance; a correlation is the covariance divided by both standard "
                  "deviations."),
            Wrong(_crossed(lambda correlation, deviations: correlation * deviations),
                  "The cross term appears twice when the square is expanded: a·b and b·a."),
        ],
        hints=[
            "Var(α·a + (1 − α)·b) = α²·Var(a) + (1 − α)²·Var(b) + 2·α·(1 − α)·Cov(a, b).",
            "Cov(a, b) = correlation · √(var_i · var_j).",
        ],
        praise="With equal variances and α = ½ this is (1 + correlation)/2 of them. Only perfectly correlated "
               "channels keep their variance."),

    Exercise(
        "2.6", "when does the choice matter?", 5, "c",
        wrong=[
            Wrong("a",
                  "Look at the left-hand picture: in the first blocks the three curves lie on each other, and in "
                  "the last ones the gap is away from 0 under all three."),
            Wrong("b",
                  "Look at the middle picture: under which treatment does coef fall from block to block, and "
                  "under which does it stay near 1?"),
            Wrong("d",
                  "Batch statistics and re-estimated ones give nearly the same curves: both describe the network "
                  "that is really there."),
        ],
        hints=[
            "Compare the three curves in the left-hand picture, then in the middle one.",
            "Direction and length are two questions.",
        ],
        praise="Whether features point the right way is a question about the weights; how long they are is "
               "decided by the statistics. A claim about coef must say which ones were used."),
]
