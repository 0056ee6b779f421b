"""What a layer that is tuned as well does to the kernel: K becomes K + S, and its eigenvalues and the risk change (LFT
§5, Theorems 6 and 7)."""
import torch

from lessons.linearization.algorithms.kernel import Kernel, Vector, checked, condition


def relative_size(kernel: Kernel, added: Kernel, sigma: float = 0.0) -> float:
    """η_σ = ‖(K + σI)^(−1/2)·S·(K + σI)^(−1/2)‖, the largest generalised eigenvalue; at σ = 0 the slides' η.

    Always finite for σ > 0, and at most λ_max(S)/σ. For σ = 0 it is infinite where K has no inverse: a layer with fewer
    weights than samples has none.

    Raises:
        ValueError: σ < 0, or one of the two is not symmetric.
    """
    checked(kernel, sigma)
    checked(added)
    kappa, directions = torch.linalg.eigh(kernel)
    shifted = kappa + sigma
    if shifted.min() <= 1e-12 * shifted.max():
        return float("inf")
    half = directions / shifted.sqrt()
    return torch.linalg.eigvalsh(half.mT @ added @ half).max().item()


def eigenvalues_between(kernel: Kernel, added: Kernel, sigma: float = 0.0) -> tuple[Vector, Vector, Vector, Vector]:
    """The eigenvalues of K + S + σI, ascending, and what bounds them: (1 − η)λ_i and (1 + η)λ_i as printed (LFT,
    Theorem 6), and (1 + λ_min((K+σI)^(−1/2)S(K+σI)^(−1/2)))·λ_i below, which needs no η < 1 (Ostrowski).

    Returns:
        (below as printed, below, the eigenvalues, above).
    """
    eye = sigma * torch.eye(len(kernel), dtype=kernel.dtype)
    kappa, directions = torch.linalg.eigh(kernel + eye)
    half = directions / kappa.sqrt()
    relative = torch.linalg.eigvalsh(half.mT @ added @ half)
    eigenvalues = torch.linalg.eigvalsh(kernel + eye + added)
    return (1 - relative.max()) * kappa, (1 + relative.min()) * kappa, eigenvalues, (1 + relative.max()) * kappa


def ratio(kernel: Kernel, added: Kernel, residual: Vector, sigma: float) -> float:
    """√(R̃₊/R̃): the training error's root after layers are added, over that before."""
    eye = torch.eye(len(kernel), dtype=kernel.dtype)
    before = torch.linalg.solve(kernel + sigma * eye, residual).norm()
    after = torch.linalg.solve(kernel + added + sigma * eye, residual).norm()
    return (after / before).item()


def ratio_printed(kernel: Kernel, added: Kernel, sigma: float) -> tuple[float, float]:
    """(q/a, q·a) with q = λ_max(K+S+σI)/λ_max(K+σI) and a = κ(K+σI)/(1 − η)²: what LFT, Theorem 7 prints as bounds of
    `ratio`. (NaN, NaN) where η ≥ 1, for which it has no proof."""
    eta = relative_size(kernel, added)
    if eta >= 1:
        return float("nan"), float("nan")
    before, after = (torch.linalg.eigvalsh(K).max().item() for K in (kernel, kernel + added))
    q = (after + sigma) / (before + sigma)
    a = condition(torch.linalg.eigvalsh(kernel), sigma).item() / (1 - eta) ** 2
    return q / a, q * a


def ratio_bounds(kappa: float, eta_sigma: float) -> tuple[float, float]:
    """2√κ/((κ + 1)(1 + η_σ)) ≤ √(R̃₊/R̃) ≤ (κ + 1)/(2√κ), κ = κ(K + σI).

    From A ⪰ B ⪰ 0 ⇒ (κ+1)²/(4κ)·A² ⪰ B², κ being the condition number of A (Fujii, Izumino, Nakamoto and Seo;
    Kantorovich's constant). The upper end is reached.
    """
    kantorovich = (kappa + 1) / (2 * kappa ** 0.5)
    return 1 / (kantorovich * (1 + eta_sigma)), kantorovich


def worst_case(kappa: float, addition: float = 1e9) -> tuple[Kernel, Kernel, Vector, float]:
    """A kernel K, an addition S ⪰ 0, a target ỹ and σ for which the training error *rises* by what `ratio_bounds`
    allows, √(R̃₊/R̃) → (κ + 1)/(2√κ).

    A = (K + σI)⁻¹ has the eigenvalues 1 and κ. S is a large multiple of wwᵀ, so that (K + S + σI)⁻¹ = P·A with the
    oblique projection P = I − Awwᵀ/(wᵀAw), whose norm ‖Aw‖‖w‖/(wᵀAw) is largest for w ∝ (√κ, 1). ỹ is the vector with
    Aỹ at right angles to what P maps to 0, to Aw.

    Args:
        kappa: condition number of K + σI, above 1.
        addition: λ_max(S).
    """
    sigma = 0.5 / kappa
    kernel = torch.diag(torch.tensor([1 - sigma, 1 / kappa - sigma], dtype=torch.float64))
    w = torch.tensor([(kappa / (kappa + 1)) ** 0.5, (1 / (kappa + 1)) ** 0.5], dtype=torch.float64)
    residual = torch.tensor([kappa, -kappa ** -0.5], dtype=torch.float64)
    return kernel, addition * torch.outer(w, w), residual, sigma
