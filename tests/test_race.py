"""Train on and look, against loops written out."""
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from toy_models import MLP, abreast, race


def test_looks_are_taken_after_so_many_steps_and_nobody_trains_after_the_last():
    taken = []
    found = race.looks(lambda: taken.append(1), (0, 2, 5), lambda: {"steps": len(taken), "pair": [len(taken), -1.0]})
    assert found["steps"].tolist() == [0, 2, 5] and len(taken) == 5
    assert found["pair"].tolist() == [[0, -1], [2, -1], [5, -1]]
    assert race.looks(lambda: taken.append(1), (0,), lambda: {"steps": len(taken)})["steps"].tolist() == [5]


def test_what_is_looked_at_keeps_its_type():
    found = race.looks(lambda: None, (1, 2), lambda: {"share": np.ones(3, np.float32), "loss": torch.zeros(2).double()})
    assert found["share"].dtype == np.float32 and found["share"].shape == (2, 3)
    assert found["loss"].dtype == np.float64 and found["loss"].shape == (2, 2)


@pytest.mark.parametrize("steps", [(), (2, 1), (1, 1), (-1, 2)])
def test_looks_in_no_order_are_refused(steps):
    with pytest.raises(ValueError, match="steps must be whole numbers from 0 on, in ascending order"):
        race.looks(lambda: None, steps, dict)


@pytest.mark.parametrize("optimiser, rule", [("sgd", torch.optim.SGD), ("adam", torch.optim.Adam)])
def test_mlps_that_are_trained_abreast_fare_as_each_does_alone(optimiser, rule):
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, 6, generator=generator), torch.randint(3, (40,), generator=generator)
    held = torch.randn(25, 6, generator=generator).double(), torch.randint(3, (25,), generator=generator)
    states = [MLP((6, 5, 3)).state_dict() for _ in range(3)]
    rates, steps = torch.tensor([0.05, 0.1, 0.2]), (0, 3, 4)
    batches = abreast.batches(x, y, 5, 16, seed=1)
    found = race.of_mlps(states, batches, steps, {"": (x, y), "held_": held}, rates, optimiser)
    assert set(found) == {"loss", "accuracy", "held_loss", "held_accuracy"}
    for row, (state, lr) in enumerate(zip(states, rates.double().tolist())):
        network = MLP.from_state(state).double().requires_grad_(True)
        stepping = rule(network.parameters(), lr=lr)
        for number, batch in enumerate(batches):
            if number in steps:
                logits = network(held[0])
                place = steps.index(number)
                assert found["held_loss"][row, place] == pytest.approx(F.cross_entropy(logits, held[1]).item())
                assert found["held_accuracy"][row, place] == (logits.argmax(1) == held[1]).double().mean().item()
            stepping.zero_grad()
            F.cross_entropy(network(batch[0].double()), batch[1]).backward()
            stepping.step()
    alone = race.of_mlps(states[1:2], batches, steps, {"": (x, y)}, 0.1, optimiser)
    assert np.allclose(alone["loss"][0], found["loss"][1])
