"""What the tangent predicts of an encoder and its head, f = h·φ(θ), where both move (LFT)."""
from jaxtyping import Float
from torch import Tensor


def linearised(h_0: Float[Tensor, "classes width"], h: Float[Tensor, "classes width"],
               phi_0: Float[Tensor, "sentences width"],
               moved: Float[Tensor, "sentences width"]) -> Float[Tensor, "sentences classes"]:
    """The tangent of f = h·φ(θ) at (h₀, θ₀): f₀ + Δh·φ₀ + h₀·Dφ[Δθ] = h·φ₀ + h₀·Dφ[Δθ].

    The encoder's move is seen through the head of the start. Where h₀ is near 0, as a new head's is, the tangent does
    not see it. What is left out is the product Δh·Dφ[Δθ] and the features' curvature.

    Args:
        h_0, h: the head's weights before and after.
        phi_0: features at θ₀.
        moved: Dφ[θ − θ₀], how the features move to first order.
    """
    return phi_0 @ h.T + moved @ h_0.T
