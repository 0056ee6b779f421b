"""Numbers that summarise a sweep over pairs, α and layers."""
import xarray

SHOWN_ALPHAS = (0.25, 0.5, 0.75)  # those of the source's figures


def gaps(sweep: xarray.Dataset) -> dict[str, float]:
    """The numbers of CTL-2 and CTL-3: the cosine gap at the source's three α, beside the ends' own distance."""
    inner = sweep[["gap_mean", "gap_low", "gap_high"]].sel(alpha=list(SHOWN_ALPHAS))
    share = inner.gap_mean / sweep.own_mean
    spread = (inner.gap_high - inner.gap_low) / inner.gap_mean
    return {"gap_mean": inner.gap_mean.mean().item(),
            "gap_most": inner.gap_mean.max().item(),
            "gap_third_quartile_most": inner.gap_high.max().item(),
            "own_least": sweep.own_mean.min().item(),
            "own_most": sweep.own_mean.max().item(),
            "gap_over_own_most": share.max().item(),
            "gap_spread": spread.median().item()}


def lengths(sweep: xarray.Dataset) -> dict[str, float]:
    """The numbers of CTL-4 and CTL-5: coef in the hidden layers at the source's three α."""
    inner = sweep[["coef_mean", "coef_count"]].sel(alpha=list(SHOWN_ALPHAS))
    hidden = inner.isel(layer=slice(None, -1))
    output = inner.isel(layer=-1)
    near = hidden.coef_count.sel(bin=slice(0.9, 1.1)).sum("bin") / hidden.coef_count.sum("bin")
    return {"coef_mean": hidden.coef_mean.mean().item(),
            "coef_least": hidden.coef_mean.min().item(),
            "coef_most": hidden.coef_mean.max().item(),
            "coef_output_least": output.coef_mean.min().item(),
            "share_within_10_percent": near.mean().item()}
