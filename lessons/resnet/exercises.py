"""The exercises of chapter 2."""
import math

import torch
from torch import nn

from lessons.kit.exercise import Exercise, Wrong
from lessons.resnet import algorithms
from lessons.resnet.experiment import pairs

# -- the solutions, in the few lines that a learner writes ------------------------------------------------

def channel_statistics(h):
    return h.mean((0, 2, 3)), h.var((0, 2, 3), unbiased=False)


def mixed_variance(var_i, var_j, correlation, alpha):
    covariance = correlation * (var_i * var_j) ** 0.5
    return alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j + 2 * alpha * (1 - alpha) * covariance


def paired(right_a, right_b):
    apart = right_a.double() - right_b.double()
    return apart.mean(), apart.std() / len(apart) ** 0.5


def last_batch(images, batch_size):
    return images % batch_size or batch_size


# -- 2.1 ---------------------------------------------------------------------------------------------

def _features():
    generator = torch.Generator().manual_seed(2)
    scale = torch.tensor([0.5, 2.0, 7.0])[:, None, None]
    return 1.5 + scale * torch.randn(4, 3, 5, 6, generator=generator)


def _few_features():
    """Two samples, two channels, two pixels: means 4 and 3, variances 5 and 9."""
    return torch.tensor([[[[1.0, 3.0]], [[0.0, 2.0]]], [[[5.0, 7.0]], [[2.0, 8.0]]]])


def _statistics_cases():
    h = _features()
    return [(_few_features(),), (h,), (h[:1],), (h[..., :1, :1],)]


_ALL = (0, 2, 3)  # every dimension but the channels'


def _with_mean(var):
    """A wrong answer to 2.1 whose mean is right."""
    return lambda h: (h.mean(_ALL), var(h))


def _deviations(h):
    return h - h.mean(_ALL, keepdim=True)


def _rows(h):
    rows = h.reshape(h.shape[1], -1)
    return rows.mean(1), rows.var(1, unbiased=False)


def _samples_counted(h):
    """Sums that are divided by how many samples there are."""
    mean = h.sum(_ALL) / len(h)
    return mean, ((h - mean[:, None, None]) ** 2).sum(_ALL) / len(h)


def _columns(h):
    columns = h.reshape(-1, h.shape[1])
    return columns.mean(0), columns.var(0, unbiased=False)


def _running(h):
    """What a new BatchNorm layer has collected after one batch."""
    layer = nn.BatchNorm2d(h.shape[1])
    layer(h)
    return layer.running_mean, layer.running_var


_STATISTICS = [
    Wrong(lambda h: (h.mean(0), h.var(0, unbiased=False)),
          "You averaged over the samples only, so every pixel keeps statistics of its own. BatchNorm has "
          "one mean and one variance a channel: average over samples and pixels."),
    Wrong(lambda h: (h.mean((2, 3)), h.var((2, 3), unbiased=False)),
          "These are statistics of every sample on its own (as in InstanceNorm). Average over "
          "the samples, too."),
    Wrong(lambda h: (h.mean((1, 2, 3)), h.var((1, 2, 3), unbiased=False)),
          "You averaged the channels away: one number a sample, as LayerNorm has it. The channels are dimension 1, "
          "and they stay."),
    Wrong(lambda h: (h.mean((0, 1, 2)), h.var((0, 1, 2), unbiased=False)),
          "You kept the last dimension, the width. The channels are dimension 1: average over the three others."),
    Wrong(_with_mean(lambda h: h.var(_ALL)),
          "Nearly: torch's var divides by the count minus 1 unless told otherwise. BatchNorm normalises "
          "with the biased variance, unbiased=False."),
    Wrong(_with_mean(lambda h: h.std(_ALL, unbiased=False)),
          "The second is the standard deviation. Square it, and you have the variance."),
    Wrong(_with_mean(lambda h: h.std(_ALL)),
          "The second is the standard deviation, and with the count minus 1. Asked for is the biased variance."),
    Wrong(lambda h: torch.var_mean(h, _ALL, unbiased=False),
          "Right numbers, wrong order: torch.var_mean gives the variance first. Return (mean, var)."),
    Wrong(lambda h: torch.var_mean(h, _ALL),
          "torch.var_mean gives the variance first, and divides it by the count minus 1. Return (mean, var), with "
          "the biased variance."),
    Wrong(lambda h: torch.std_mean(h, _ALL),
          "torch.std_mean gives the standard deviation, and gives it first. Return (mean, var)."),
    Wrong(lambda h: (h.sum(_ALL), h.var(_ALL, unbiased=False)),
          "The variance is right. The first is the sum of each channel: divide by how many numbers it has."),
    Wrong(_with_mean(lambda h: h.var((2, 3), unbiased=False).mean(0)),
          "You averaged the variances of the single samples. How far the samples' means lie apart is then missing: "
          "take one variance over samples and pixels together."),
    Wrong(_with_mean(lambda h: h.var(0, unbiased=False).mean((1, 2))),
          "You averaged the variances of the single pixels. How far the pixels' means lie apart is then missing: "
          "take one variance over samples and pixels together."),
    Wrong(_with_mean(lambda h: h.mean((2, 3)).var(0, unbiased=False)),
          "That is the variance of the samples' means alone. Within a sample the pixels vary too: take one variance "
          "over samples and pixels together."),
    Wrong(_with_mean(lambda h: (h ** 2).mean(_ALL)),
          "That is the mean square. A variance is measured from the mean: subtract it first."),
    Wrong(_with_mean(lambda h: h.mean(_ALL) ** 2 - (h ** 2).mean(_ALL)),
          "A variance is never negative: it is the mean of the squares minus the square of the mean."),
    Wrong(lambda h: (h.mean(_ALL, keepdim=True), h.var(_ALL, unbiased=False, keepdim=True)),
          "The right numbers, but keepdim left dimensions of length 1. Each should be (channels,)."),
    Wrong(_rows,
          "reshape takes the numbers as they lie, sample after sample, so each row holds parts of several channels. "
          "Bring the channels to the front first, or average over the other dimensions directly."),
    Wrong(_running,
          "These are a layer's running averages, which move a tenth of the way a batch. Asked is what it normalises "
          "this batch with."),
    Wrong(_with_mean(lambda h: _deviations(h).abs().mean(_ALL)),
          "That is the mean absolute deviation. A variance averages the squares of the deviations."),
    Wrong(_with_mean(lambda h: (_deviations(h) ** 2).sum(_ALL)),
          "You summed the squared deviations: divide by how many there are."),
    Wrong(_with_mean(lambda h: h.var(_ALL, unbiased=False) + 1e-5),
          "You added eps. It belongs to the normalising, and here the variance itself is asked."),
    Wrong(lambda h: h.mean(_ALL), "That is the mean alone. Return two tensors, (mean, var)."),
    Wrong(lambda h: (h.mean(1), h.var(1, unbiased=False)),
          "You averaged over the channels. They are dimension 1, and they stay: average over all the others."),
    Wrong(lambda h: (h.mean(), h.var()),
          "One number for all channels together, with the variance divided by the count minus 1. Each channel has its "
          "own, and the biased variance."),
    Wrong(_samples_counted,
          "You divided by the number of samples. Each sample has many pixels: count all numbers of a channel."),
    Wrong(_with_mean(lambda h: ((h - h.mean()) ** 2).mean(_ALL)),
          "You measured the deviations from the mean of all channels together. Each channel has its own mean."),
    Wrong(_columns,
          "reshape to (…, channels) takes the numbers as they lie, and neighbouring pixels of one channel land in "
          "different columns. Move the channels to the end first, or average over the other dimensions directly."),
    Wrong(_with_mean(lambda h: (h ** 2).mean(_ALL) - h.mean(_ALL)),
          "You subtracted the mean from the mean square. It has to be the square of the mean."),
    Wrong(lambda h: (0.1 * h.mean(_ALL), 0.9 + 0.1 * h.var(_ALL, unbiased=False)),
          "That is where running statistics stand after one batch, a tenth of the way. Asked is what the batch itself "
          "is normalised with."),
    Wrong(lambda h: (h[0].mean((1, 2)), h[0].var((1, 2), unbiased=False)),
          "These are the statistics of the first sample alone. BatchNorm takes them over the whole batch."),
    Wrong(lambda h: (h.mean(), h.var(unbiased=False)),
          "One number for all channels together. Each channel has its own."),
]


# -- 2.2 ---------------------------------------------------------------------------------------------

def _variances():
    return [(4.0, 9.0, 0.5, 0.25), (1.0, 1.0, 0.2, 0.5), (2.0, 0.5, 0.9, 0.25), (1.0, 3.0, -0.3, 0.75),
            (2.0, 4.0, 0.5, 1.0)]


def _with_cross(cross):
    """A wrong answer to 2.2: the squares are right, the cross term is cross(correlation, var_i, var_j, alpha)."""
    return lambda var_i, var_j, correlation, alpha: (
        alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j + cross(correlation, var_i, var_j, alpha))


def _crossed(covariance):
    """A wrong answer to 2.2 that gets all right but the covariance."""
    return _with_cross(lambda r, p, q, alpha: 2 * alpha * (1 - alpha) * covariance(r, p, q))


_VARIANCE = [
    Wrong(lambda var_i, var_j, correlation, alpha: alpha * var_i + (1 - alpha) * var_j,
          "This is the mix of the variances, exactly what interpolating the running statistics does. The "
          "variance of the mix is another thing: expand the square of α·a + (1 − α)·b."),
    Wrong(_with_cross(lambda r, p, q, alpha: 0),
          "Right if the two were uncorrelated. Expanding the square leaves a cross term, 2·α·(1 − α) "
          "times the covariance."),
    Wrong(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * (p * q) ** 0.5,
          "That is the cross term alone. The squares α²·var_i and (1 − α)²·var_j come to it."),
    Wrong(lambda p, q, r, alpha: r * (alpha * p + (1 - alpha) * q),
          "The correlation belongs to the cross term alone: uncorrelated channels would have no variance here."),
    Wrong(_crossed(lambda r, p, q: r),
          "The cross term needs the covariance; a correlation is the covariance divided by both standard "
          "deviations."),
    Wrong(_with_cross(lambda r, p, q, alpha: alpha * (1 - alpha) * r * (p * q) ** 0.5),
          "The cross term appears twice when the square is expanded: a·b and b·a."),
    Wrong(_crossed(lambda r, p, q: r * p * q),
          "A covariance is the correlation times both standard deviations; you multiplied by both variances."),
    Wrong(_crossed(lambda r, p, q: -r * (p * q) ** 0.5),
          "The cross term has the wrong sign: that is the variance of α·a − (1 − α)·b. What agrees adds up."),
    Wrong(_crossed(lambda r, p, q: r * p ** 0.5 * q),
          "In the cross term only one of the two variances has its root."),
    Wrong(_crossed(lambda r, p, q: r * (p + q) / 2),
          "For the covariance you took the mean of the two variances: it is the correlation times the product of both "
          "standard deviations."),
    Wrong(_crossed(lambda r, p, q: r ** 2 * (p * q) ** 0.5),
          "You squared the correlation. It enters the covariance as it is, with its sign."),
    Wrong(_with_cross(lambda r, p, q, alpha: 2 * r * (p * q) ** 0.5),
          "The cross term lacks the shares: a comes with α and b with 1 − α, so their product with both."),
    Wrong(_with_cross(lambda r, p, q, alpha: 2 * alpha * r * (p * q) ** 0.5),
          "The cross term has a's share but not b's: (1 − α) is missing."),
    Wrong(lambda p, q, r, alpha: algorithms.mixed_variance(p, q, r, 1 - alpha),
          "The ends are swapped: a, with variance var_i, gets the share α, and b the rest."),
    Wrong(lambda p, q, r, alpha: algorithms.mixed_variance(p, q, r, 0.5),
          "This is the midpoint, α = ½, whatever α is given: use alpha."),
    Wrong(lambda p, q, r, alpha: algorithms.mixed_variance(p ** 2, q ** 2, r, alpha),
          "You squared the variances, as if they were standard deviations. var_i and var_j are squares already."),
    Wrong(lambda p, q, r, alpha: algorithms.mixed_variance(p, q, r, alpha) ** 0.5,
          "That is the standard deviation of the mix. Return its square, the variance."),
    Wrong(lambda p, q, r, alpha: algorithms.mixed_variance(p, q, 1, alpha),
          "Right if the two were perfectly correlated: then standard deviations mix like the features. Use the "
          "correlation that is given."),
    Wrong(lambda p, q, r, alpha: alpha * p + (1 - alpha) * q + 2 * alpha * (1 - alpha) * r * (p * q) ** 0.5,
          "The cross term is right. The shares of the two variances are squared too: α² and (1 − α)²."),
    Wrong(lambda p, q, r, alpha: (
        alpha ** 2 * p + (1 - alpha ** 2) * q + 2 * alpha * (1 - alpha) * r * (p * q) ** 0.5),
          "1 - alpha ** 2 squares α alone. b's share is squared as a whole: (1 - alpha) ** 2."),
    Wrong(lambda p, q, r, alpha: (1 + r) / 2 * (alpha * p + (1 - alpha) * q),
          "(1 + correlation)/2 holds for equal variances half-way. Expand the square for any α and any variances."),
    Wrong(_with_cross(lambda r, p, q, alpha: 2 * (alpha * (1 - alpha)) ** 2 * r * (p * q) ** 0.5),
          "You squared the shares in the cross term too. Each of the two occurs in it once."),
    Wrong(lambda p, q, r, alpha: r * (alpha * p ** 0.5 + (1 - alpha) * q ** 0.5) ** 2,
          "You multiplied the whole square by the correlation. It belongs to the cross term alone."),
    Wrong(_crossed(lambda r, p, q: r * torch.sqrt(p * q)),
          "torch.sqrt takes tensors only, and here are plain numbers: write ** 0.5."),
    Wrong(lambda p, q, r, alpha: alpha ^ 2 * p,
          "In Python ^ is no power: write alpha ** 2."),
]


# -- 2.4 and 2.6 ---------------------------------------------------------------------------------------

_IMAGES = [
    Wrong(20_000,
          "That is what the source prints, and it is right for Rotated MNIST: two tasks with 10,000 test "
          "images each. CIFAR-100 has 10,000 test images in all, and a split is a twentieth of them."),
    Wrong(10_000, "That is the whole test part, all 100 classes. A pair of splits has ten classes."),
    Wrong(500, "That is one split. A pair is evaluated on the union of its two tasks."),
    Wrong(5_000,
          "Those are the training images of a pair: 500 of each class. Of test images there are 100 a "
          "class."),
    Wrong(2_500, "Those are the training images of one split. Asked are test images, 100 a class, of two splits."),
    Wrong(6_000, "You counted training images too: 500 + 100 of each class. Only the 100 test images count."),
    Wrong(2_000, "That is all four tasks. A pair has two."),
    Wrong(100, "That is one class of test images. How many classes has a split, and how many splits a pair?"),
    Wrong(10, "That is how many classes a pair has. Each has 100 test images."),
    Wrong(200, "Two times 100 would be two classes. A split has five, and a pair two splits."),
    Wrong(4_000,
          "You took 20,000 for training images, which would be 40 classes. A pair has far fewer: how many tasks was "
          "CIFAR-100 split into?"),
    Wrong(40,
          "That is 20,000 divided by 500, a number of classes. Start from how many classes a split has, and count test "
          "images."),
    Wrong(8_000,
          "That would be 80 classes of 100 test images. CIFAR-100 has 100 classes in all, and a pair has only two of "
          "its many splits."),
    Wrong(24_000,
          "You added training and test images of 40 classes. Asked are test images, and a pair has fewer classes."),
    Wrong(16_000,
          "You subtracted test images from 20,000. Do not start from that number: count the classes of two splits."),
    Wrong(400, "Four times 100 would be four classes. A pair has two splits of five classes."),
]


def _sizes():
    """Batches that leave a few images, none, and more than there are; a small one first, and not only 64."""
    return [(7, 3), (6, 3), (8, 3), (2, 5), (2500, 64), (2496, 64), (60_000, 64), (10, 64), (1000, 48), (5, 1)]


def _subtracted(images, batch_size):
    while images > 0:
        images -= batch_size
    return images


_LAST_BATCH = [
    Wrong(lambda images, batch_size: images % batch_size,
          "Right until the images fit exactly: then the remainder is 0, but the last batch is a full one."),
    Wrong(lambda images, batch_size: images // batch_size,
          "This counts the full batches. How many images are left after them?"),
    Wrong(lambda images, batch_size: math.ceil(images / batch_size),
          "This counts the batches, the last one too. How many images does that one hold?"),
    Wrong(lambda images, batch_size: batch_size - images % batch_size,
          "This is what is missing to a full batch, not what is in it."),
    Wrong(lambda images, batch_size: -images % batch_size,
          "This is what is missing to a full batch, not what is in it; at least it is 0 where nothing is missing."),
    Wrong(lambda images, batch_size: images - images // batch_size,
          "images // batch_size counts batches, not images: multiply by batch_size before you subtract."),
    Wrong(lambda images, batch_size: batch_size,
          "Only if the images fit exactly. A data loader hands out what is left as a smaller batch, "
          "unless told to drop it."),
    Wrong(lambda images, batch_size: min(images, batch_size),
          "That is the first batch: full, unless there are too few images. The last one holds what is left over."),
    Wrong(lambda images, batch_size: images % 64 or 64,
          "Right for batches of 64. The function is asked for others too: use batch_size."),
    Wrong(lambda images, batch_size: images % batch_size or images,
          "Where nothing is left over you give back all images. The last batch is a full one then."),
    Wrong(lambda images, batch_size: max(1, images % batch_size),
          "Where nothing is left over you say 1. The last batch is a full one then."),
    Wrong(lambda images, batch_size: (images - 1) % batch_size,
          "That is the last image's place in its batch, counted from 0. So many images and one more are in it."),
    Wrong(lambda images, batch_size: batch_size if images % batch_size else images % batch_size,
          "The two branches are exchanged: where something is left over, that is the last batch."),
    Wrong(lambda images, batch_size: images % batch_size + 1,
          "That is one too many. The remainder is the last batch already, unless it is 0."),
    Wrong(_subtracted,
          "You take away one batch too many, the last one itself. Stop while there is still something left."),
    Wrong(lambda images, batch_size: images - batch_size * round(images / batch_size),
          "round() goes up where more than half a batch is left, and then you subtract more images than there are."),
    Wrong(lambda images, batch_size: images / batch_size - images // batch_size,
          "That is the last batch as a share of a full one. Asked is a number of images."),
    Wrong(lambda images, batch_size: abs(images - batch_size * round(images / batch_size)),
          "That is how far the number of images is from the nearest multiple of the batch size. round() may go up, and "
          "where the images fit exactly you say 0."),
    Wrong(lambda images, batch_size: images // math.ceil(images / batch_size),
          "You shared the images out evenly among all batches. A data loader fills every batch but the last."),
    Wrong(lambda images, batch_size: images - (images // batch_size - 1) * batch_size,
          "You took away one full batch too few, so that a full batch is still among what is left."),
    Wrong(lambda images, batch_size: images % batch_size or images // batch_size,
          "Where nothing is left over you give the number of batches. Asked are the images in the last one."),
    Wrong(divmod, "divmod gives two numbers, the full batches and what is left. Asked is one, a number of images."),
]


# -- 2.5 ---------------------------------------------------------------------------------------------

def _pairs_of_networks():
    """What two networks say of the same images: alike, one much better, and one a little worse."""
    generator = torch.Generator().manual_seed(4)
    cases = []
    for images, share, changed, gained in ((1000, 0.5, 0.1, 0.7), (2000, 0.3, 0.4, 0.9), (1500, 0.8, 0.2, 0.1)):
        right_b = torch.rand(images, generator=generator) < share
        other = torch.rand(images, generator=generator) < changed
        right_a = torch.where(other, torch.rand(images, generator=generator) < gained, right_b)
        cases.append((right_a, right_b))
    return cases


def _counted(function):
    """A wrong answer to 2.5 that makes numbers of true and false."""
    return lambda right_a, right_b: function(right_a.double(), right_b.double())


def _with_error(error):
    """A wrong answer to 2.5 whose difference is right."""
    return _counted(lambda a, b: ((a - b).mean(), error(a, b)))


def _error(a, b):
    return (a - b).std() / len(a) ** 0.5


def _apart(a, b):
    return (a - b).mean()


def _of_proportion(a):
    return (a.mean() * (1 - a.mean()) / len(a)) ** 0.5


def _of_disagreements(a, b):
    return _error(a[a != b], b[a != b])


def _in_bytes(right_a, right_b):
    difference = (right_a.byte() - right_b.byte()).double()
    return difference.mean(), _error(difference, 0 * difference)


_PAIRED = [
    Wrong(lambda a, b: ((a - b).mean(), (a - b).std() / len(a) ** 0.5),
          "In PyTorch true and false cannot be subtracted: make numbers of them first, right_a.double()."),
    Wrong(lambda a, b: (a.mean() - b.mean(), 0.0),
          "In PyTorch true and false have no mean: make numbers of them first, right_a.double()."),
    Wrong(_with_error(lambda a, b: (_of_proportion(a) ** 2 + _of_proportion(b) ** 2) ** 0.5),
          "That would be the error as if the two had seen different images. They mostly fail on the same ones: take "
          "the standard deviation of the difference, image by image."),
    Wrong(_with_error(lambda a, b: (a - b).std()),
          "That is how far the difference of a single image lies from the mean. The mean of n images is surer by √n."),
    Wrong(_with_error(lambda a, b: (a - b).var() / len(a)),
          "That is the error squared: take its root."),
    Wrong(_with_error(lambda a, b: (a - b).std() / len(a)),
          "Divide the standard deviation by the root of the number of images, not by the number."),
    Wrong(_with_error(lambda a, b: _of_proportion(a)),
          "That is the error of the first network's accuracy. Asked is the error of the difference of the two."),
    Wrong(_with_error(lambda a, b: _of_proportion(b)),
          "That is the error of the second network's accuracy. Asked is the error of the difference of the two."),
    Wrong(_counted(lambda a, b: (_apart(b, a), _error(a, b))),
          "The error is right. The difference is the other way round: by how much the first is better."),
    Wrong(_counted(lambda a, b: (_error(a, b), _apart(a, b))),
          "The other order: the difference first, then its error."),
    Wrong(_with_error(lambda a, b: 2 * _error(a, b)),
          "That is twice the standard error. Two standard errors are what one compares with; return one."),
    Wrong(_counted(_apart),
          "That is the difference alone. Return two numbers, the difference and its standard error."),
    Wrong(_counted(lambda a, b: ((a - b).abs().mean(), _error(a, b))),
          "The first number says on how many images the two disagree. What one wins, the other may lose: keep the "
          "sign."),
    Wrong(_counted(lambda a, b: (_apart(a, b).abs(), _error(a, b))),
          "That is the difference without its sign: where the first network is worse it should be negative."),
    Wrong(_with_error(lambda a, b: _error(abs(a - b), 0 * b)),
          "In the error, too, keep the sign of the differences: you took the deviation of their absolute values."),
    Wrong(_counted(lambda a, b: bool(abs(_apart(a, b)) > 2 * _error(a, b))),
          "That is the verdict. Return the two numbers that it rests on, the difference and its standard error."),
    Wrong(_counted(lambda a, b: ((a - b).sum(), _error(a, b) * len(a))),
          "These are numbers of images. Asked are shares of all images: divide both by how many there are."),
    Wrong(_counted(lambda a, b: ((a - b)[a != b].mean(), _error(a[a != b], b[a != b]))),
          "You left out the images on which the two agree. They add nothing to the difference, but all images count."),
    Wrong(_counted(lambda a, b: (100 * _apart(a, b), 100 * _error(a, b))),
          "These are per cent. Asked are shares of 1."),
    Wrong(_counted(lambda a, b: ((a - b).abs().mean(), _error(abs(a - b), 0 * b))),
          "You look at where the two differ, whoever is right. Keep the sign, in the difference and in its error: what "
          "one network wins, the other may lose."),
    Wrong(_with_error(lambda a, b: (a - b).var() / len(a) ** 0.5),
          "The variance stands where the standard deviation belongs."),
    Wrong(_counted(lambda a, b: ((a - b).sum(), _error(a, b))),
          "The error is right. The first number counts images: asked is a share of all images."),
    Wrong(_with_error(lambda a, b: (a.std() - b.std()) / len(a) ** 0.5),
          "You subtracted two standard deviations. Take one, that of the differences, image by image."),
    Wrong(_with_error(lambda a, b: (a.std() + b.std()) / len(a) ** 0.5),
          "You added the errors of both networks, as if they always failed on different images. Take one error, that "
          "of the differences, image by image."),
    Wrong(_counted(lambda a, b: (_apart(a, b) / b.mean(), _error(a, b))),
          "You divided the difference by the second network's accuracy. Asked is the difference itself."),
    Wrong(_with_error(_of_disagreements),
          "In the error you left out the images on which the two agree. Their difference is 0, and they count too."),
    Wrong(_with_error(lambda a, b: ((a - b) ** 2).mean() ** 0.5 / len(a) ** 0.5),
          "You took the root of the mean square. A standard deviation is measured from the mean, which is not 0."),
    Wrong(_with_error(lambda a, b: 1.96 * _error(a, b)),
          "That is half the width of a 95 % interval. Asked is the standard error itself."),
    Wrong(_in_bytes,
          "A byte cannot be negative: 0 − 1 becomes 255. Make numbers with a sign of true and false."),
    Wrong(_counted(lambda a, b: ((a * (1 - b)).mean(), _error(a * (1 - b), 0 * b))),
          "You counted only the images that the first network alone gets right. Those that the second alone gets right "
          "count as well, against the first."),
    Wrong(_with_error(lambda a, b: _apart(a, b) / _error(a, b)),
          "The second number says how many standard errors the difference is. Asked is the standard error."),
    Wrong(_with_error(lambda a, b: 0.5 / len(a) ** 0.5),
          "That is the largest error that one accuracy can have, whatever the two say. Take the deviation of their "
          "differences."),
]


EXERCISES = [
    Exercise(
        "2.1", "mean and variance of a channel", 5, algorithms.channel_statistics,
        teaching=channel_statistics,
        cases=_statistics_cases,
        wrong=_STATISTICS,
        hints=[
            "The channels are dimension 1; all others go.",
            "h.mean((0, 2, 3)) averages over several dimensions at once.",
            "The variance is the biased one.",
        ],
        praise="In training these come from the batch; for evaluation the layer keeps running averages of them.",
        tolerance=2e-6),

    Exercise(
        "2.2", "the variance of a mix", 7, algorithms.mixed_variance,
        teaching=mixed_variance,
        cases=_variances,
        wrong=_VARIANCE,
        hints=[
            "Var(α·a + (1 − α)·b) = α²·Var(a) + (1 − α)²·Var(b) + 2·α·(1 − α)·Cov(a, b).",
            "Cov(a, b) = correlation · √(var_i · var_j).",
        ],
        praise="With equal variances and α = ½ this is (1 + correlation)/2 of them. Of channels with equal "
               "variances, only perfectly correlated ones keep theirs.",
        tolerance=1e-5),

    Exercise(
        "2.3", "when does the choice matter?", 4, "c",
        wrong=[
            Wrong("a",
                  "Look at the left-hand picture: in the first blocks the curves lie on each other, and in "
                  "the last ones the gap is away from 0 under all three."),
            Wrong("b",
                  "Look at the middle picture: under which treatment does coef fall from block to block, and "
                  "under which does it stay near 1 up to block 8?"),
            Wrong("d",
                  "Batch statistics and re-estimated ones give nearly the same curves: both describe the network "
                  "that is really there."),
        ],
        hints=[
            "Compare the curves in the left-hand picture, then in the middle one.",
            "Direction and length are two questions.",
        ],
        praise="So a claim about the length of features must say which statistics were used."),

    Exercise(
        "2.4", "how many test images does a pair have?", 2, 1000,
        wrong=_IMAGES,
        hints=[
            "CIFAR-100 has 100 classes with 500 training and 100 test images each.",
            "A split has five classes.",
            "The source evaluates a pair on both of its tasks together.",
        ],
        praise="The printed 20,000 cannot be met by any selection from the test part; it looks carried over from "
               "Rotated MNIST. With a thousand images an accuracy has a standard error of up to 1.6 points. Remember "
               "that when two of them are compared."),

    Exercise(
        "2.5", "is it more than chance?", 5, pairs.paired,
        teaching=paired,
        cases=_pairs_of_networks,
        wrong=_PAIRED,
        hints=[
            "Make numbers of true and false: right_a.double() holds 1 and 0.",
            "The difference image by image is 1, 0 or −1. Its mean is the difference of the two accuracies.",
            "The standard error of a mean is the standard deviation over the root of the number.",
        ],
        praise="Images on which both are right, or both wrong, add almost nothing to the error. That is why a paired "
               "comparison sees differences for which two separate accuracies are too rough.",
        tolerance=2e-5),

    Exercise(
        "2.6", "the last batch", 3, algorithms.last_batch,
        teaching=last_batch,
        cases=_sizes,
        wrong=_LAST_BATCH,
        hints=[
            "Full batches take away a multiple of batch_size.",
            "% gives the remainder.",
            "What if the remainder is 0?",
        ],
        praise="2,500 images in batches of 64 leave a batch of 4. Keep that number in mind."),
]
