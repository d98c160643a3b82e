"""How hard a model should think, as a level that every provider can be asked for.

Levels are whole numbers so that they compare; each wire turns a level into its own word or
budget by the rules of the model's family.
"""

__all__ = ["EFFORT_NAMES", "HIGH", "LOW", "MEDIUM", "OFF", "ULTRA", "UNSAID", "effort_name", "parse_effort"]

OFF = -1  # switch thinking off where the model allows it
UNSAID = 0  # leave the parameter out
LOW, MEDIUM, HIGH, ULTRA = 1, 2, 3, 4

EFFORT_NAMES = ("low", "medium", "high", "ultra")

_LEVELS = {"none": OFF, "low": LOW, "med": MEDIUM, "medium": MEDIUM, "high": HIGH, "ultra": ULTRA}
_NAMES = {level: name for name, level in _LEVELS.items()}


def parse_effort(name: str) -> int:
    """The level of a name, or 0 (leave it out) for a name that is not one.

    >>> parse_effort("high"), parse_effort("med"), parse_effort("nonsense")
    (3, 2, 0)
    """
    return _LEVELS.get(name.strip().lower(), UNSAID)


def effort_name(level: int) -> str:
    """The name of a level; the middle one for a level that is none.

    >>> effort_name(1), effort_name(99)
    ('low', 'medium')
    """
    return _NAMES.get(level, "medium")
