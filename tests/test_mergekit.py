"""Methods that mergekit has too, against mergekit, where it is installed. The course does not ask for it, because it
pins versions of its own. Last run against version 0.1.5."""
import pytest
import torch

from lessons.merging import merge
from lessons.merging.sparse import drop_rates

methods = pytest.importorskip("mergekit.merge_methods")


def drawn(count, shape=(7, 5), seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [{"weight": torch.randn(shape, generator=generator)} for _ in range(count)]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
def test_slerp_is_mergekits(alpha):
    first, second = drawn(2)
    chosen = torch.tensor([alpha])
    for other in (second, {"weight": 1.5 * first["weight"]}, {"weight": -first["weight"]}):
        expected = methods.slerp.slerp(chosen, first["weight"][None], other["weight"][None])[0]
        torch.testing.assert_close(merge("slerp", first, [first, other], alpha=alpha)["weight"], expected)


def test_model_stock_is_mergekits_where_task_vectors_agree():
    base, common, *own = drawn(5)
    tuned = [{"weight": base["weight"] + common["weight"] + 0.7 * one["weight"]} for one in own]
    group = methods.base.TensorGroup.from_tensors([base["weight"], *(one["weight"] for one in tuned)], base_index=0)
    (expected,) = methods.model_stock.model_stock_merge_method([group])
    torch.testing.assert_close(merge("model_stock", base, tuned)["weight"], expected)


def test_della_drops_with_mergekits_probabilities(monkeypatch):
    sparsify = pytest.importorskip("mergekit.sparsify")
    monkeypatch.setattr(torch, "bernoulli", lambda chances, **_: chances)  # so that it multiplies by what it would draw
    vector = drawn(1, (3, 2000))[0]["weight"]
    kept = sparsify.della_magprune(vector, density=0.6, epsilon=0.15) / vector
    torch.testing.assert_close(1 - drop_rates(vector, drop_rate=0.4, spread=0.3), kept, atol=0.3 / 2000 + 1e-5, rtol=0)
