"""The inverse of the noncentral t distribution: the true effects that are compatible with an observed t."""

from __future__ import annotations

import numpy as np

from cranfield.types import Array

_STEPS = 100
_CLOSE = 1e-9


def noncentrality(t: Array | float, df: Array | float, probability: float) -> Array:
    r"""The λ for which :math:`\Pr(T_{df}(\lambda) \le t)` is `probability`, for many t at once.

    The probit of the distribution function is nearly linear in λ, so the secant method converges in a few steps;
    bounds found on the way keep it from diverging.

    >>> noncentrality(2.0, 19, 0.025).round(4).item()
    4.0355
    """
    from scipy.special import ndtri

    t, df = (np.array(values, dtype=np.float64) for values in np.broadcast_arrays(t, df))
    out = t.ravel().copy()  # λ is infinite or undefined where t is
    todo = np.flatnonzero(np.isfinite(out))
    target = float(ndtri(probability))
    flat_t, flat_df = t.ravel()[todo], df.ravel()[todo]
    slope = 1 / np.sqrt(1 + flat_t**2 / (2 * flat_df))
    now = flat_t * (1 - 1 / (4 * flat_df)) - target / slope  # the normal approximation to the noncentral t
    low, high = np.full_like(now, -np.inf), np.full_like(now, np.inf)
    missed = _probit(flat_t, flat_df, now) - target
    for _ in range(_STEPS):
        out[todo] = now
        going = np.abs(missed) > _CLOSE
        if not going.any():
            break
        todo, now, missed, slope = todo[going], now[going], missed[going], slope[going]
        flat_t, flat_df = flat_t[going], flat_df[going]
        low, high = np.where(missed > 0, now, low[going]), np.where(missed < 0, now, high[going])
        ahead = now + missed / slope
        astray = (ahead <= low) | (ahead >= high)  # with few degrees of freedom it is not linear: bisect
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, ahead)
        ahead = np.where(astray, middle, ahead)
        missed_ahead = _probit(flat_t, flat_df, ahead) - target
        fall = (missed - missed_ahead) / np.where(ahead == now, 1.0, ahead - now)
        slope = np.where(fall > 0, fall, slope)
        now, missed = ahead, missed_ahead
    return out.reshape(t.shape)


def _probit(t: Array, df: Array, centre: Array) -> Array:
    """The probit of the distribution function of the noncentral t, finite even where scipy returns NaN."""
    from scipy.special import nctdtr, ndtri

    t = np.where(np.abs(t) < 1e-20, 0.0, t)  # scipy returns NaN for some of these, too
    below = nctdtr(df, centre, t)
    below = np.where(np.isnan(below), np.where(centre > t, 0.0, 1.0), below)
    return np.asarray(ndtri(np.clip(below, 1e-300, 1 - 1e-16)))
