"""CLIP in plain torch: towers, tokenizer, heads and images; beside transformers where that is installed."""
import json
import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import data.vision  # noqa: F401  transformers imports torchvision
from lessons.checkpoints import folders, heads, images, naming, tokens, towers
from lessons.checkpoints.towers import Tower

SMALL = Tower(width=32, layers=2, heads=4, mlp=48, tokens=5, patch=4)
WORDS = Tower(width=32, layers=2, heads=2, mlp=48, tokens=12, vocabulary=40)


def random_tower(tower, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {key: 0.3 * torch.randn(shape, generator=generator) for key, shape in tower.shapes().items()}


# -- towers --------------------------------------------------------------------------------------------------------

def naive_block(state, number, x, tower, causal):
    """One sample (tokens, width), head by head and token by token."""
    def linear(name, x):
        return x @ state[f"encoder.layers.{number}.{name}.weight"].T + state[f"encoder.layers.{number}.{name}.bias"]

    def norm(name, x):
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        return scaled * state[f"encoder.layers.{number}.{name}.weight"] + state[f"encoder.layers.{number}.{name}.bias"]

    width = tower.width // tower.heads
    inner = norm("layer_norm1", x)
    q, k, v = (linear(f"self_attn.{letter}_proj", inner) for letter in "qkv")
    mixed = torch.zeros_like(x)
    for head in range(tower.heads):
        own = slice(head * width, (head + 1) * width)
        for token in range(len(x)):
            seen = token + 1 if causal else len(x)
            weights = (k[:seen, own] @ q[token, own] / width ** 0.5).softmax(0)
            mixed[token, own] = weights @ v[:seen, own]
    x = x + linear("self_attn.out_proj", mixed)
    hidden = linear("mlp.fc1", norm("layer_norm2", x))
    return x + linear("mlp.fc2", hidden * torch.sigmoid(1.702 * hidden))


@pytest.mark.parametrize("causal", [False, True])
def test_a_block_is_attention_and_mlp_written_out(causal):
    state = random_tower(SMALL)
    x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(1))
    expected = torch.stack([naive_block(state, 1, sample, SMALL, causal) for sample in x])
    torch.testing.assert_close(towers.block(state, 1, x, SMALL, causal), expected, rtol=1e-5, atol=1e-5)


def test_features_are_named_by_block_and_end_in_the_pooled_class_token():
    state = random_tower(SMALL)
    x = torch.randn(3, 3, 8, 8)
    found = towers.features(state, x, SMALL)
    assert list(found) == ["block 0", "block 1", "pooled"]
    assert found["block 0"].shape == (3, 5, 32) and found["pooled"].shape == (3, 32)
    assert torch.equal(found["pooled"], towers.pooled(state, x, SMALL))


def test_patches_are_read_row_by_row_and_the_class_token_comes_first():
    state = random_tower(SMALL)
    x = torch.randn(1, 3, 8, 8)
    weight = state["embeddings.patch_embedding.weight"].flatten(1)
    by_hand = [x[0, :, 4 * row:4 * row + 4, 4 * column:4 * column + 4].flatten() for row in (0, 1) for column in (0, 1)]
    plain = torch.cat([state["embeddings.class_embedding"][None], torch.stack(by_hand) @ weight.T])
    plain = plain + state["embeddings.position_embedding.weight"]
    expected = F.layer_norm(plain, (32,), state["pre_layrnorm.weight"], state["pre_layrnorm.bias"])
    torch.testing.assert_close(towers.embedded(state, x, SMALL)[0], expected)


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match="images must be 8×8 pixels for this tower, not 4×4"):
        towers.features(random_tower(SMALL), torch.zeros(1, 3, 4, 4), SMALL)


def test_a_tower_must_make_sense():
    with pytest.raises(ValueError, match="5 heads do not divide a width of 32"):
        Tower(width=32, layers=2, heads=5, mlp=48, tokens=5, patch=4)
    with pytest.raises(ValueError, match="unknown activation 'relu'"):
        Tower(width=32, layers=2, heads=4, mlp=48, tokens=5, patch=4, activation="relu")


def test_a_texts_answer_does_not_depend_on_what_fills_it_up():
    state = random_tower(WORDS)
    short = torch.tensor([[38, 3, 4, 39]])
    filled = torch.tensor([[38, 3, 4, 39, 39, 39], [38, 3, 4, 39, 7, 0]])
    answers = towers.text_pooled(state, filled, WORDS)
    torch.testing.assert_close(answers, towers.text_pooled(state, short, WORDS).expand(2, -1))


def test_both_towers_equal_those_of_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    shared = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
              "projection_dim": 16}
    torch.manual_seed(0)
    theirs = transformers.CLIPModel(transformers.CLIPConfig(
        vision_config=shared | {"image_size": 32, "patch_size": 8},
        text_config=shared | {"vocab_size": 50, "max_position_embeddings": 9, "bos_token_id": 48, "eos_token_id": 49},
        projection_dim=16)).eval()
    for parameter in theirs.parameters():
        parameter.data.add_(0.05 * torch.randn_like(parameter))
    theirs.save_pretrained(tmp_path)
    checkpoint = folders.opened(tmp_path)
    vision, text = naming.vision_tower(checkpoint), naming.text_tower(checkpoint)
    x = torch.randn(4, 3, 32, 32)
    written = torch.tensor([[48, 3, 4, 49, 49], [48, 5, 6, 7, 49]])
    with torch.no_grad():
        found = towers.features(vision, x, vision.tower)
        answer = theirs.vision_model(x, output_hidden_states=True)
        for number, expected in enumerate(answer.hidden_states[1:]):
            torch.testing.assert_close(found[f"block {number}"], expected, rtol=0, atol=1e-5)
        torch.testing.assert_close(found["pooled"], answer.pooler_output, rtol=0, atol=1e-5)
        theirs_text = theirs.text_model(written).pooler_output
        torch.testing.assert_close(towers.text_pooled(text, written, text.tower), theirs_text, rtol=0, atol=1e-5)


# -- tokens --------------------------------------------------------------------------------------------------------

def small_tokenizer(folder):
    """A tokenizer of every byte and a few merges, as CLIP's files are written."""
    letters = list(tokens.bytes_as_letters().values())
    merges = [("p", "h"), ("o", "t"), ("ph", "ot"), ("phot", "o</w>"), ("a", "t"), ("c", "at</w>"), ("t", "h"),
              ("th", "e</w>"), ("a", "t</w>"), ("'", "s</w>"), ("o", "f</w>"), ("l", "l"), ("ll", "o</w>")]
    joined = list(dict.fromkeys("".join(pair) for pair in merges))
    listed = [*letters, *(letter + "</w>" for letter in letters), *joined, tokens.START, tokens.END]
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(listed)}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(map(" ".join, merges)) + "\n")
    return tokens.Words.read(folder)


AWKWARD = ["a photo of the cat.", "  Two   spaces\tand a tab ", "it's the CATS' o'clock 'll 're", "1984 and 3½, x²",
           "T - shirt / top", "お き を", "É e\u0301 ﬁ", "tail...'s", "a_b-c/d", "naïve café", "🙂 ok", "don't",
           'the number: "7".', "ǅ ǈ ǋ", "ß ẞ", "\u00a0x\u2003y"]


def test_words_are_cut_as_clip_cuts_them():
    assert list(tokens.words("It's 1984, o'clock...'s")) == ["it", "'s", "1", "9", "8", "4", ",", "o", "'", "clock",
                                                             "...'", "s"]
    assert list(tokens.words("T - shirt/Top")) == ["t", "-", "shirt", "/", "top"]


def test_pairs_are_joined_in_the_order_of_the_merges(tmp_path):
    tokenize = small_tokenizer(tmp_path)
    names = {number: token for token, number in tokenize.vocabulary.items()}
    written = [names[number] for number in tokenize.encoded("photo of the catt")]
    assert written == ["photo</w>", "of</w>", "the</w>", "c", "at", "t</w>"]  # “cat” is joined at a word's end alone
    row = tokenize(["cat"], 6)[0].tolist()
    assert row[0] == tokenize.start and row[3:] == [tokenize.end] * 3


def test_a_text_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has 92 tokens, and the text tower takes 77"):
        small_tokenizer(tmp_path)(["x " * 90])


@pytest.mark.parametrize("name, text, says", [
    ("vocab.json", None, "no tokenizer in .*vocab.json"), ("vocab.json", "{", "no tokenizer in "),
    ("vocab.json", "{}", "holds another tokenizer"), ("merges.txt", "a b c\n", "two tokens a line")])
def test_a_tokenizers_files_must_be_there_and_sound(tmp_path, name, text, says):
    small_tokenizer(tmp_path)
    (tmp_path / name).unlink() if text is None else (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=says):
        tokens.Words.read(tmp_path)


def test_a_token_that_the_vocabulary_lacks_is_named(tmp_path):
    tokenize = small_tokenizer(tmp_path)
    del tokenize.vocabulary["the</w>"]
    with pytest.raises(ValueError, match="does not know 'the</w>', of 'the cat'"):
        tokenize(["the cat"])


def test_the_tokenizer_agrees_with_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    ours = small_tokenizer(tmp_path)
    theirs = transformers.CLIPTokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    generator = random.Random(0)
    texts = [*AWKWARD, *("".join(generator.choices("photo cat'slld 12.-éお ", k=30)) for _ in range(50))]
    for text in texts:
        assert [ours.start, *ours.encoded(text), ours.end] == theirs(text)["input_ids"], text


# -- heads ---------------------------------------------------------------------------------------------------------

def test_a_class_is_the_mean_direction_of_its_sentences():
    vectors = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    torch.testing.assert_close(heads.class_vector(vectors), torch.tensor([0.5, 0.5]) * 2 ** 0.5)


def test_the_published_class_names_are_used():
    assert {task: len(labels.templates) for task, labels in heads.LABELS.items()} == {
        "mnist": 1, "svhn": 1, "fashion_mnist": 2, "kmnist": 1, "cifar10": 18, "cifar100": 18}
    assert heads.sentences("7", heads.LABELS["mnist"].templates) == ['a photo of the number: "7".']
    assert "a photo of the small cat." in heads.sentences("cat", heads.LABELS["cifar10"].templates)
    assert all(len(set(labels.templates)) == len(labels.templates) for labels in heads.LABELS.values())
    assert heads.class_names("cifar100", ["crab", "aquarium fish"]) == ("cra", "aquarium_fish")
    with pytest.raises(ValueError, match="no class names for 'dtd'; there are for mnist"):
        heads.class_names("dtd")


def test_a_head_has_a_direction_a_class_and_logits_are_scaled_cosines(tmp_path):
    tokenize = small_tokenizer(tmp_path)
    tower = Tower(width=32, layers=2, heads=2, mlp=48, tokens=77, vocabulary=len(tokenize.vocabulary))
    state, projection = random_tower(tower), torch.randn(16, 32)
    found = heads.head(state, projection, tower, tokenize, ("cat", "the"), ("a photo of {}.", "the {}"))
    assert found.shape == (2, 16)
    by_hand = towers.text_pooled(state, tokenize(["a photo of cat.", "the cat"]), tower) @ projection.T
    torch.testing.assert_close(found[0], heads.class_vector(by_hand))
    pooled, to_space = torch.randn(5, 32), torch.randn(16, 32)
    answers = heads.logits(pooled, to_space, found, 4.6)
    cosines = F.cosine_similarity((pooled @ to_space.T)[:, None], found[None], dim=2)
    torch.testing.assert_close(answers, np.exp(4.6) * cosines, rtol=1e-4, atol=1e-3)


# -- images --------------------------------------------------------------------------------------------------------

def test_grey_and_colour_images_become_what_a_tower_takes():
    grey = torch.randint(0, 256, (2, 28, 28), dtype=torch.uint8)
    found = images.prepared(grey)
    assert found.shape == (2, 3, 224, 224) and found.dtype == torch.float32
    torch.testing.assert_close(found, images.prepared(grey[:, None].expand(-1, 3, -1, -1)))
    torch.testing.assert_close(found, images.prepared(grey / 255))


def test_one_grey_value_stays_one_value_and_is_normalised_per_channel():
    found = images.prepared(torch.full((1, 28, 28), 255, dtype=torch.uint8), 16)
    expected = [(1 - mean) / deviation for mean, deviation in zip(images.MEAN, images.DEVIATION)]
    torch.testing.assert_close(found[0, :, 0, 0], torch.tensor(expected))
    assert (found[0].flatten(1).std(1) == 0).all()


def test_an_oblong_image_loses_its_ends():
    image = torch.zeros(1, 8, 24, dtype=torch.uint8)
    image[:, :, 8:16] = 255
    found = images.prepared(image, 8)
    assert found[0, 0, :, 2:6].min() > 1.5  # the middle third, bright


@pytest.mark.parametrize("wrong, says", [(torch.zeros(2, 1, 8, 8), "must have the shape"),
                                         (torch.randn(2, 8, 8), "must lie in 0 … 1")])
def test_images_that_cannot_be_prepared_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        images.prepared(wrong)


def test_images_are_prepared_as_transformers_prepares_them():
    transformers = pytest.importorskip("transformers")
    colour = torch.randint(0, 256, (3, 3, 32, 40), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    theirs = transformers.CLIPImageProcessorPil(size={"shortest_edge": 224}, crop_size=224)(
        [image.permute(1, 2, 0).numpy() for image in colour], return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(images.prepared(colour), theirs, rtol=0, atol=1e-5)
