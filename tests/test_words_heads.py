"""λ, heads and LoRA on text encoders, on encoders small enough for a test."""
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import data
from lessons.linearization.algorithms.tangent import tangent
from lessons.words import minilm
from lessons.words.algorithms import bert, tuning
from lessons.words.algorithms.pieces import Pieces
from lessons.words.algorithms.tuning import WHOLE, Encoder, Tuned
from lessons.words.experiment import heads
from lessons.words.experiment.heads import LONG, NEW, PROBE, PULLED, SCALED
from toy_models import TextEncoder

TINY = heads.Settings(("film", "question"), (WHOLE, 2), (NEW, PROBE, LONG), (0.0, 20.0, 100.0), size=48, passes=2,
                      rates=(1e-2, 1e-2), moments=(0.5,), sentences=30)


def tiny_encoder():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return tuning.of_network(TextEncoder(words=8000, width=8, blocks=1))


def tiny_bert(vocabulary=30):
    generator = torch.Generator().manual_seed(0)
    shapes = dict(bert.shapes(width=8, mlp=16, layers=2))
    tables = {bert.PIECES: vocabulary, bert.PLACES: 32, bert.TYPES: 2}
    return {key: 0.3 * torch.randn(*[tables[key] if side == bert.ANY else side for side in shape], generator=generator)
            for key, shape in shapes.items()}


def linear_encoder(tuned=True):
    """Vectors W·x, or x itself where W is not read."""
    weights = {"W": torch.eye(3, dtype=torch.float64)}
    return Encoder(weights, lambda state, x: x.double() @ state["W"].T if tuned else x.double(), ("W",), ("W",))


def random_task(classes=2):
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(60, 3, generator=generator), torch.randint(classes, (60,), generator=generator)
    return heads.Task(x[:40], y[:40], x[40:], y[40:], classes)


@pytest.fixture(scope="module")
def sweep(session_sweep):
    with session_sweep():
        yield heads.measured(tiny_encoder(), {task: heads.own_task(task, TINY) for task in TINY.tasks}, TINY)


def of_texts(rank, head):
    """What is tuned, at θ₀ and away from it, and sentences."""
    encoder = tiny_encoder()
    net = Tuned(encoder, head, rank)
    generator = torch.Generator().manual_seed(2)
    away = net.start + 0.05 * torch.randn(len(net.start), generator=generator, dtype=torch.float64)
    return net, away, data.sentences.numbers(["A fine film!", "No.", "who wrote it and why"]).float()


@pytest.mark.parametrize("rank", [WHOLE, 2])
def test_the_tangent_is_that_of_the_whole_function(rank):
    head = tuning.new_head(3, 8)
    net, away, x = of_texts(rank, head)

    def f(theta):
        return tuning.under(net.head(theta), net.features(theta, x))

    with torch.no_grad():
        h_0, f_0 = net.features(net.start, x), f(net.start)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            expected = tangent(f, net.start)(away)
        at_start, linear = (tuning.linear_answers(head, net.head(theta), h_0, net.linear_features(theta, x) - h_0)
                            for theta in (net.start, away))
    assert torch.allclose(at_start, f_0, atol=1e-12)
    assert torch.allclose(linear, expected, atol=1e-12) and not torch.allclose(linear, f_0, atol=1e-3)


@pytest.mark.parametrize("rank", [WHOLE, 2])
def test_the_gradient_is_that_of_the_loss(rank):
    net, away, x = of_texts(rank, tuning.new_head(3, 8))
    y = torch.tensor([0, 2, 1])
    theta = away.clone().requires_grad_()
    F.cross_entropy(tuning.under(net.head(theta), net.features(theta, x)), y).backward()
    trace = net.trace(away, x)
    gradient = trace.back((trace.outputs.softmax(-1) - F.one_hot(y, 3)) / 3)
    assert torch.allclose(gradient, theta.grad, atol=1e-12) and gradient.abs().max() > 0


def test_lora_begins_at_the_encoder_and_changes_queries_and_values_alone():
    net, away, x = of_texts(2, tuning.new_head(3, 8))
    assert torch.allclose(net.features(net.start, x), net.encoder.features(net.encoder.weights, x))
    assert set(net.changed(away)) == {"blocks.0.attention.q.weight", "blocks.0.attention.v.weight"}
    assert len(net.start) == 2 * (2 * 8 + 8 * 2) + 3 * 8 + 3
    for key, changed in net.changed(away).items():
        assert torch.linalg.matrix_rank(changed - net.encoder.weights[key]) == 2


def test_all_weights_are_tuned_but_the_bias_of_guesses_and_the_embeddings_of_a_bert():
    net, _, _ = of_texts(WHOLE, tuning.new_head(3, 8))
    network = TextEncoder(words=8000, width=8, blocks=1)
    numbers = {key: tensor.numel() for key, tensor in network.named_parameters()}
    of_head = numbers["head.weight"] + numbers["head.bias"]
    assert len(net.start) == sum(numbers.values()) - numbers["guess"] - of_head + 3 * 8 + 3
    encoder = tuning.of_bert(tiny_bert(), heads=2)
    assert not any("embedding" in key for key in encoder.tuned) and len(encoder.matrices) == 4


def test_the_vectors_of_a_bert_do_not_depend_on_padding():
    encoder = tuning.of_bert(tiny_bert(), heads=2)
    x = torch.tensor([[3.0, 7, 9, 0, 0]])
    assert torch.allclose(encoder.features(encoder.weights, x), encoder.features(encoder.weights, x[:, :3]))
    with pytest.raises(ValueError, match="is missing"):
        tuning.of_bert({"a": torch.zeros(1)}, heads=2)


def test_where_the_head_alone_is_tuned_there_is_no_gap():
    seen = heads.measured(linear_encoder(tuned=False), {"a": random_task()}, TINY)
    one = seen.sel(rank=WHOLE, path=PULLED, head=[NEW, PROBE], lam=[0.0, 20.0])
    assert float(one.move.min()) > 1e-3 and float(one.gap.max()) < 1e-12 and float(one.kl.max()) < 1e-12


def test_a_linear_encoder_under_a_tuned_head_is_bent_by_the_product_alone():
    seen = heads.measured(linear_encoder(), {"a": random_task()}, TINY)
    one = seen.sel(rank=WHOLE, path=PULLED, head=[NEW, PROBE], lam=[0.0, 20.0])
    assert float(one.gap.min()) > 1e-5 and float(one.product_gap.max()) < 1e-12


def test_with_a_pull_of_one_over_eta_nothing_moves():
    settings = replace(TINY, lams=(0.0, 100.0), moments=())  # η is 0.01
    seen = heads.measured(linear_encoder(), {"a": random_task()}, settings)
    still = seen.sel(lam=100.0, head=[NEW, PROBE])
    assert float(still.distance.max()) < 1e-12 and float(still.gap.max()) < 1e-12
    assert float(seen.sel(lam=0.0).distance.min()) > 0.01
    assert "early_gap" not in seen


@pytest.mark.parametrize("lams, message", [((0.0, 200.0), "λη"), ((0.0, -1.0), "λη"), ((1.0, 2.0), "begin with 0"),
                                           ((), "begin with 0")])
def test_a_pull_that_makes_no_sense_is_refused(lams, message):
    with pytest.raises(ValueError, match=message):
        heads.measured(linear_encoder(), {"a": random_task()}, replace(TINY, lams=lams))


def test_a_rank_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="rank"):
        Tuned(linear_encoder(), tuning.new_head(2, 3), rank=-1)


def test_a_probe_has_the_least_loss_and_refuses_labels_of_other_classes():
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(200, 4, generator=generator, dtype=torch.float64)
    y = (h[:, 0] - h[:, 2] > 0).long()
    weight, bias = tuning.probe(h, y, 2)
    assert (tuning.under((weight, bias), h).argmax(1) == y).double().mean() > 0.97

    def loss(weight):
        return F.cross_entropy(tuning.under((weight, bias), h), y) + tuning.DECAY * weight.square().sum()

    assert torch.func.grad(loss)(weight).norm() < 1e-4
    with pytest.raises(ValueError, match="labels"):
        tuning.probe(h, y + 1, 2)


def test_a_new_head_is_short_and_can_be_made_as_long_as_another():
    head, other = tuning.new_head(50, 40, seed=3), tuning.new_head(50, 40, seed=4)
    assert head[0].std().item() == pytest.approx(tuning.DRAWN, rel=0.1) and not head[1].any()
    long = tuning.lengthened(head, (7 * other[0], other[1]))
    assert long[0].norm().item() == pytest.approx(7 * other[0].norm().item())
    assert torch.cosine_similarity(long[0].flatten(), head[0].flatten(), 0).item() == pytest.approx(1)


def test_a_pull_shortens_the_way_and_the_other_path_is_as_short(sweep):
    sweep = sweep.sel(head=[NEW, PROBE])
    pulled, scaled = sweep.sel(path=PULLED), sweep.sel(path=SCALED)
    assert (pulled.distance.diff("lam") < 0).all()
    assert np.allclose(pulled.distance, scaled.distance, atol=1e-10)
    for name in heads.NUMBERS:
        assert np.array_equal(pulled[name].sel(lam=0.0), scaled[name].sel(lam=0.0))
    assert (sweep.kl > -1e-12).all() and float(sweep.moved.max()) < float(sweep.distance.max())


def test_a_long_head_is_measured_without_a_pull_alone(sweep):
    long = sweep.sel(head=LONG)
    assert long.gap.sel(lam=0.0).notnull().all() and long.gap.sel(lam=20.0).isnull().all()
    assert np.allclose(sweep.head_length.sel(head=LONG), sweep.head_length.sel(head=PROBE))


def test_stopping_early_is_read_between_the_moments(sweep):
    where = {"task": "film", "rank": 2, "head": NEW}
    relative = heads.relative(sweep).sel(path=PULLED, **where)
    assert heads.stopped_early(sweep, 0.0, **where) == pytest.approx(float(relative.sel(lam=0.0)))
    early = sweep.sel(moment=0.5, **where)
    at_moment = sweep.copy(deep=True)
    at_moment.distance.loc[{"path": PULLED, "lam": 20.0, **where}] = early.early_distance
    assert heads.stopped_early(at_moment, 20.0, **where) == pytest.approx(float(early.early_gap / early.early_move))
    at_moment.distance.loc[{"path": PULLED, "lam": 20.0, **where}] = early.early_distance / 2
    assert np.isnan(heads.stopped_early(at_moment, 20.0, **where))
    assert 0 < float(early.early_distance) < float(sweep.distance.sel(path=PULLED, lam=0.0, **where))


def test_the_error_of_a_ratio_is_that_of_draws():
    generator = torch.Generator().manual_seed(0)
    draws = torch.randn(2000, 100, 2, 3, generator=generator, dtype=torch.float64)
    above, below = 0.5 * draws[..., 0, :] + 0.3 * draws[..., 1, :], draws[..., 0, :]
    ratios = (above.square().sum((1, 2)) / below.square().sum((1, 2))).sqrt()
    errors = [heads.error_of_ratio(a, b) for a, b in zip(above[:50], below[:50])]
    assert np.mean(errors) == pytest.approx(ratios.std().item(), rel=0.1)


def test_minilm_reads_pieces_and_its_sentences_are_those_of_the_half_for_reports(session_sweep, monkeypatch):
    pieces = Pieces({piece: number for number, piece in enumerate(
        ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz"))})
    monkeypatch.setattr(minilm, "load", lambda: (tiny_bert(len(pieces)), pieces))
    monkeypatch.setattr(minilm, "HEADS", 2)
    settings = replace(TINY, tasks=("film",), ranks=(2,), moments=(), size=16, passes=1, sentences=10)
    with session_sweep():
        seen = heads.measure_minilm(settings)
        reported = data.sentences.texts("test", "film")[1:20:2]
        task = heads.task_of_pieces("film", pieces, settings)
    assert seen.gap.sel(head=NEW).notnull().all() and seen.sizes["lam"] == 3
    answers = [data.sentences.CLASSES["film"].index(label) for _, label in sorted(reported, key=lambda r: len(r[0]))]
    assert task.y_test.tolist() == answers and len(task.x) == 16
