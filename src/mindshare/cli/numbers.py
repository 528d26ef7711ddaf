"""Numbers become short text of a known width: 6 characters for a mass, 5 for a lift or a count."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 token`, `2 tokens`"""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def mass_text(mass: float) -> str:
    return f"{mass:.4f}"


def lift_text(lift: float | None) -> str:
    """Three digits behind ×, or a dash where there is no such number."""
    if lift is None:
        return "–"
    for limit, digits in ((9.995, 2), (99.95, 1), (9999.5, 0)):
        if lift < limit:
            return f"×{lift:.{digits}f}"
    return f"×{lift / 1000:.0f}k"


def count_text(count: float) -> str:
    """Whole numbers whole; fractions (averages, proportional tokens) with two digits."""
    if count >= 99999.5:
        return f"{count / 1000:.0f}k"
    if abs(count - round(count)) < 1e-4:
        return f"{count:.0f}"
    return (
        f"{count:.2f}" if count < 99.995 else f"{count:.1f}" if count < 999.95 else f"{count:.0f}"
    )
