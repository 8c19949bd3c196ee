"""Why a question has no answer, as the sentence that a page shows in its place.

What damage took is listed once, in the bar at the top of the page: its places below say only that it is lost.
"""

from __future__ import annotations

from popvision.analysis.report.not_recorded import LostError

#: In the place of what damage took.
LOST = "Lost: the file is damaged. The bar at the top says what is lost."


def reason(problem: Exception) -> str:
    """The message of an error as a sentence, with a capital letter and one full stop; LOST of damage."""
    if isinstance(problem, LostError):
        return LOST
    text = str(problem)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
