"""Folders of language models, as transformers writes them, through the cells of chapter 13: RoBERTa, GPT-2 and T5, tiny
and random. Skipped where transformers is not installed."""
import pytest
import torch

from data import vision  # noqa: F401  makes torchvision importable, which transformers imports
from lessons import checkpoints
from lessons.checkpoints import looking, naming
from toy_models import weights

transformers = pytest.importorskip("transformers")


def roberta():
    config = transformers.RobertaConfig(vocab_size=40, hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
                                        intermediate_size=16, max_position_embeddings=20)
    return transformers.RobertaModel(config)


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=40, n_positions=16, n_embd=8, n_layer=2,
                                                                n_head=2))


def t5():
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=40, d_model=8, d_kv=4, d_ff=16, num_layers=2, num_heads=2, decoder_start_token_id=0))


NETWORKS = {"RoBERTa": roberta, "GPT-2": gpt2, "T5": t5}


@pytest.fixture(params=NETWORKS)
def written(request, tmp_path):
    """A model, and folders of it and of two that are a little away from it."""
    torch.manual_seed(0)
    model = NETWORKS[request.param]()
    start = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    model.save_pretrained(tmp_path / "base")
    for name in ("first", "second"):
        with torch.no_grad():
            for key, tensor in model.state_dict().items():
                if tensor.is_floating_point():
                    tensor.copy_(start[key] + 0.002 * torch.randn_like(tensor))
        model.save_pretrained(tmp_path / name)
    return type(model), tmp_path


def test_a_folder_opens_and_holds_the_weights_once(written):
    kind, folder = written
    base = checkpoints.opened(folder / "base")
    there = {key: parameter for key, parameter in kind.from_pretrained(folder / "base").named_parameters()}
    assert naming.parameters(base) == sum(parameter.numel() for parameter in there.values())
    assert set(there) <= set(base)


@pytest.mark.parametrize("method, options", [("average", {}), ("task_arithmetic", {"scale": 0.4}),
                                             ("ties", {"density": 0.2}), ("cart", {"rank_ratio": 0.25})])
def test_a_merged_folder_opens_in_transformers_again(written, method, options):
    kind, folder = written
    base, first, second = (checkpoints.opened(folder / name) for name in ("base", "first", "second"))
    merged = checkpoints.merge(folder / "merged", method, base, [first, second], ["first", "second"], **options)
    network = kind.from_pretrained(merged)
    state = network.state_dict()
    if method == "average":
        for key, tensor in weights.average([dict(first), dict(second)]).items():
            torch.testing.assert_close(state[key], tensor, rtol=0, atol=1e-6)
    assert all(torch.isfinite(tensor).all() for tensor in state.values())
    assert any(not torch.equal(state[key], base[key]) for key in base)


def test_a_look_names_every_matrix(written):
    _, folder = written
    base, first, second = (checkpoints.opened(folder / name) for name in ("base", "first", "second"))
    looked = looking.look(base, [first, second], ["first", "second"], progress=False)
    assert {key for key, tensor in base.items() if tensor.ndim == 2} <= set(looked.layer.values)
    assert (looked.norm > 0).all() and (looked.parent > 0.9).all()
