"""The HTTP paper's equations once more: slow, scalar, in mpmath, in microseconds, as printed."""

import mpmath

H, SLOT, SIFS, DIFS = 192, 20, 10, 50
CW_MIN, GAMMA, M = 32, 5, 7
L = 8000


def mean_backoff(p: mpmath.mpf) -> mpmath.mpf:
    """The closed form of Eq. (1)."""
    first = (1 - p) * CW_MIN / 2 * (1 - (2 * p) ** GAMMA) / (1 - 2 * p)
    return first - (1 - p**GAMMA) / 2 + mpmath.mpf(2**GAMMA * CW_MIN - 1) / 2 * (p**GAMMA - p**M)


def collision_probability(n_b: float) -> mpmath.mpf:
    """Eq. (2) by bisection below one half and above, where the closed form is not 0/0."""
    exponent = mpmath.mpf(n_b) - 1

    def surplus(p: mpmath.mpf) -> mpmath.mpf:
        return p - 1 + (1 - 1 / mean_backoff(p)) ** exponent

    below = mpmath.mpf("0.49999")
    ends = (mpmath.mpf("1e-12"), below) if surplus(below) > 0 else (mpmath.mpf("0.50001"), 0.85)
    return mpmath.findroot(surplus, ends, "anderson", tol=1e-25)


def exchange(payload: int) -> mpmath.mpf:
    frames = [mpmath.mpf(180) / 2, mpmath.mpf(112) / 2, mpmath.mpf(272 + 320 + payload) / 11]
    frames.append(mpmath.mpf(112) / 2)
    return DIFS + 3 * SIFS + sum((H + frame for frame in frames), mpmath.mpf(0))


def contention_us(n_b: float, slot: int = SLOT) -> mpmath.mpf:
    """T_tbo + T_W of Eqs (3)-(5)."""
    p = collision_probability(n_b)
    backoff = mean_backoff(p) * slot
    lost = DIFS + backoff + H + mpmath.mpf(180) / 2 + SIFS
    return backoff / (n_b * (1 - p)) + lost * p / (1 - p)


def single_station_mbps(d: int, slot: int = SLOT) -> float:
    """Eq. (8); slot 1 is the print, which leaves T_slot out."""
    with mpmath.workdps(30):
        ack = (exchange(0) + 2 * contention_us(2, slot)) / d
        alone = mpmath.mpf(d - 1) / d * mpmath.mpf(CW_MIN - 1) / 2 * slot
        return float(L / (exchange(L) + ack + alone))


def collision_mbps(n_c: int, d: int) -> float:
    """n_c times Eq. (12)."""
    with mpmath.workdps(30):
        contended = mpmath.mpf(d + 1) / d * contention_us(1 + mpmath.mpf(n_c) / (2 * d))
        return float(L / (exchange(L) + exchange(0) / d + contended))
